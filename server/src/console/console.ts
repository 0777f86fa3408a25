// The operator's console: web pages below ISSUER/console, over the operations that the command line also uses.

import type { AuthorizationServer } from '@grantd/core';
import type { Hono } from 'hono';
import { Caller } from '../admin/caller.ts';
import { requireAdminGroup } from '../admin/groups.ts';
import type { OperationParts, SentTest } from '../admin/operation.ts';
import type { Configuration } from '../config/configuration.ts';
import { networkCheck } from '../config/networks.ts';
import { actingAs } from '../data/acting.ts';
import type { ClockWatch } from '../data/clock_watch.ts';
import { askedStorage } from '../data/tables.ts';
import type { Instance } from '../instance/instance.ts';
import { SealedValues } from '../pages/browser_state.ts';
import { refuseMethod, renderProblem } from '../pages/error_page.ts';
import type { PageEnvironment, PageParts } from '../pages/page_parts.ts';
import { type ConsoleParts, page } from './access.ts';
import { downloadAudit, showAudit } from './audit.ts';
import { showFigures, showLibrary } from './charts.ts';
import { showClients, submitClients } from './clients.ts';
import { showGroups, submitGroups } from './groups.ts';
import { showKeys, submitKeys } from './keys.ts';
import { showOverview } from './overview.ts';
import { showTokens, submitTokens } from './tokens.ts';
import { showUsers, submitUsers } from './users.ts';

interface Surroundings {
  readonly configuration: Configuration;
  readonly server: AuthorizationServer;
  readonly isReady: () => Promise<boolean>;
  readonly clock: Pick<ClockWatch, 'skewSeconds'>;
  readonly history: ConsoleParts['history'];
  readonly testMail: (
    parts: Pick<OperationParts, 'configuration' | 'issuer'>,
    address: string,
  ) => Promise<SentTest>;
}

/**
 * Opens the console over one database.
 * @returns adds its pages to the others
 * @throws {Refused} the group of administrators does not exist
 */
export async function openConsole(
  instance: Instance,
  { configuration, server, isReady, clock, history, testMail }: Surroundings,
): Promise<(app: Hono<PageEnvironment>, pages: PageParts) => void> {
  await requireAdminGroup(instance, configuration);
  const { adminGroup = '', adminFrom } = configuration.settings;
  const isAdmitted = networkCheck(adminFrom);
  const actorOf = (subject: string) => `console:${subject}` as const;

  return (app, pages) => {
    const parts: ConsoleParts = {
      ...{ pages, adminGroup, isReady, clock, history },
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
    const at = (path: string) => `${pages.basePath}/console${path}`;
    const reading = refuseMethod(pages, 'GET, HEAD');
    const forms = refuseMethod(pages, 'GET, HEAD, POST');
    for (const path of [at(''), at('/*')])
      app.use(path, async (c, next) =>
        isAdmitted(pages.clientAddress(c.env.incoming))
          ? next()
          : renderProblem(c, pages, { problem: 'not_found' }, 404),
      );
    app.get(at(''), page(parts, 'overview', showOverview)).all(reading);
    app.get(at('/figures'), page(parts, 'overview', showFigures)).all(reading);
    app.get(at('/uplot.js'), showLibrary).all(reading);
    app
      .get(at('/tokens'), page(parts, 'tokens', showTokens))
      .post(page(parts, 'tokens', submitTokens))
      .all(forms);
    app
      .get(at('/users'), page(parts, 'users', showUsers))
      .post(page(parts, 'users', submitUsers))
      .all(forms);
    app
      .get(at('/groups'), page(parts, 'groups', showGroups))
      .post(page(parts, 'groups', submitGroups))
      .all(forms);
    app
      .get(at('/keys'), page(parts, 'keys', showKeys))
      .post(page(parts, 'keys', submitKeys))
      .all(forms);
    app
      .get(at('/clients'), page(parts, 'clients', showClients))
      .post(page(parts, 'clients', submitClients))
      .all(forms);
    app.get(at('/audit'), page(parts, 'audit', showAudit)).all(reading);
    app.get(at('/audit.jsonl'), page(parts, 'audit', downloadAudit)).all(reading);
  };
}
