// The operator's console: web pages below ISSUER/console, over the operations that the command line also uses.

import type { AuthorizationServer } from '@grantd/core';
import type { MiddlewareHandler } from 'hono';
import { Caller } from '../admin/caller.ts';
import { requireAdminGroup } from '../admin/groups.ts';
import type { OperationParts, SentTest } from '../admin/operation.ts';
import type { admissionByAddress } from '../config/client_address.ts';
import type { Configuration } from '../config/configuration.ts';
import type { ClockWatch } from '../data/clock_watch.ts';
import { actingAs, askedStorage } from '../data/tables.ts';
import type { Instance } from '../instance/instance.ts';
import { SealedValues } from '../pages/browser/cookies.ts';
import type { PageEnvironment } from '../pages/browser/request.ts';
import type { Flow } from '../pages/steps/routes.ts';
import { type ConsoleParts, type PagesOfConsole, page, type Visit } from './access.ts';
import { downloadAudit, showAudit } from './audit.ts';
import { showFigures, showLibrary } from './charts.ts';
import { showClients, submitClients } from './clients.ts';
import type { ConsolePageName } from './frame.ts';
import { showGroups, submitGroups } from './groups.ts';
import { showKeys, submitKeys } from './keys.ts';
import { showOverview } from './overview.ts';
import { showSearch, submitSearch } from './search.ts';
import { showTokens, submitTokens } from './tokens.ts';
import { showUsers, submitUsers } from './users.ts';

interface ConsolePage {
  readonly show: (visit: Visit) => Promise<Response>;
  /** Does what the forms of the page send. */
  readonly submit?: (visit: Visit) => Promise<Response>;
}

/** Every page. `NAVIGATION` has those of the navigation. */
const PAGES: Readonly<Record<ConsolePageName, ConsolePage>> = {
  overview: { show: showOverview },
  tokens: { show: showTokens, submit: submitTokens },
  users: { show: showUsers, submit: submitUsers },
  groups: { show: showGroups, submit: submitGroups },
  clients: { show: showClients, submit: submitClients },
  keys: { show: showKeys, submit: submitKeys },
  audit: { show: showAudit },
  search: { show: showSearch, submit: submitSearch },
};

interface Surroundings {
  readonly configuration: Configuration;
  readonly server: AuthorizationServer;
  readonly isReady: () => Promise<boolean>;
  /** Whether a request comes from an address in `adminFrom`. */
  readonly isAdmitted: ReturnType<typeof admissionByAddress>;
  readonly clock: Pick<ClockWatch, 'skewSeconds'>;
  readonly history: ConsoleParts['history'];
  readonly testMail: (
    parts: Pick<OperationParts, 'configuration' | 'issuer'>,
    address: string,
  ) => Promise<SentTest>;
}

/**
 * Opens the console over one database (ADR 99).
 * @returns the flow of its pages
 * @throws {Refused} the group of administrators does not exist
 */
export async function openConsole(
  instance: Instance,
  { configuration, server, isReady, isAdmitted, clock, history, testMail }: Surroundings,
): Promise<(pages: PagesOfConsole) => Flow> {
  await requireAdminGroup(instance, configuration);
  const { adminGroup = '' } = configuration.settings;
  const actorOf = (subject: string) => `console:${subject}` as const;

  return (pages) => {
    const parts: ConsoleParts = {
      ...{ pages, adminGroup, issuer: instance.issuer, clock, isReady, history },
      tokens: new SealedValues(instance.secret(), 'console_token'),
      partsOf(subject) {
        const acting = instance.actingAs(actorOf(subject));
        return {
          ...acting,
          storage: askedStorage(acting.storage),
          configuration,
          server: async () => actingAs(actorOf(subject), server),
          caller: Caller.ofConsole(subject, adminGroup),
          requireCaller: async () => {},
          ownServer: () => acting.server(),
          clientBuilder: async () => server,
          isReady,
          testMail: (address) => testMail({ configuration, issuer: instance.issuer }, address),
        };
      },
    };
    const admit: MiddlewareHandler<PageEnvironment> = async (c, next) =>
      isAdmitted(c.env.incoming) ? next() : pages.drawing.problem(c, { problem: 'not_found' }, 404);
    return {
      mount(routes) {
        for (const path of ['/console', '/console/*']) routes.before(path, admit);
        for (const [name, { show, submit }] of Object.entries(PAGES) as [ConsolePageName, ConsolePage][]) {
          const path = name === 'overview' ? '/console' : `/console/${name}`;
          if (submit === undefined) routes.page(path, page(parts, name, show));
          else routes.form(path, page(parts, name, show), page(parts, name, submit));
        }
        routes.page('/console/figures', page(parts, 'overview', showFigures));
        routes.page('/console/uplot.js', showLibrary);
        routes.page('/console/audit.jsonl', page(parts, 'audit', downloadAudit));
      },
    };
  };
}
