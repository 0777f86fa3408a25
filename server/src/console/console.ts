// The operator's console: web pages below ISSUER/console, over the operations that the command line also uses.

import type { AuthorizationServer } from '@grantd/core';
import type { MiddlewareHandler } from 'hono';
import { Caller } from '../admin/caller.ts';
import { requireAdminGroup } from '../admin/groups.ts';
import type { OperationParts, SentTest } from '../admin/operation.ts';
import type { OperationId, StreamId } from '../admin/table.ts';
import type { admissionByAddress } from '../config/client_address.ts';
import type { Configuration } from '../config/configuration.ts';
import { readTrustedIssuers } from '../config/trusted_issuers.ts';
import { AnsweredRequests } from '../data/answered_requests.ts';
import type { ClockWatch } from '../data/clock_watch.ts';
import { actingAs, askedStorage } from '../data/tables.ts';
import type { Instance } from '../instance/instance.ts';
import { Cookies, SealedValues } from '../pages/browser/cookies.ts';
import type { PageEnvironment } from '../pages/browser/request.ts';
import type { Flow } from '../pages/steps/routes.ts';
import {
  type ConsoleParts,
  framedProblem,
  isSignedIn,
  type PagesOfConsole,
  page,
  type Visit,
} from './access.ts';
import { type Acts, showAct, submitAct } from './acts.ts';
import { showApply, submitApply } from './apply.ts';
import { downloadAudit, showAudit } from './audit.ts';
import { askBulk, performBulk } from './bulk.ts';
import type { BulkList } from './bulk_acts.ts';
import { showFigures, showLibrary } from './charts.ts';
import { CLIENTS, showClients, submitClients } from './clients.ts';
import type { ConsolePageName } from './frame.ts';
import { GROUPS, showGroups } from './groups.ts';
import { showHelp } from './help.ts';
import { downloadReport, showImport, submitImport } from './import.ts';
import { showIssuers } from './issuers.ts';
import { ShownOnce } from './kept_secrets.ts';
import { showKeys, submitKeys } from './keys.ts';
import { MAILS, showMails } from './mails.ts';
import { OpenedForms } from './opened_forms.ts';
import { showOverview } from './overview.ts';
import { SCOPES, showScopes } from './scopes.ts';
import { showSearch, submitSearch } from './search.ts';
import { SECRETS, showSecrets, submitSecrets } from './secrets.ts';
import { showTokens, submitTokens } from './tokens.ts';
import { showTrial, submitTrial } from './try_here.ts';
import { AUDIT, TOKENS } from './upkeep_acts.ts';
import { receiveFile } from './uploads.ts';
import { showUsers, USERS } from './users.ts';

interface ConsolePage {
  readonly show: (visit: Visit) => Promise<Response>;
  readonly acts?: Acts;
  /** Does what the other forms of the page send. */
  readonly submit?: (visit: Visit) => Promise<Response>;
  /** Operations of the other forms. */
  readonly performs?: readonly (OperationId | StreamId)[];
  /** The list whose selected rows can be changed together. */
  readonly bulk?: BulkList;
}

/** Every page. */
export const PAGES: Readonly<Record<ConsolePageName, ConsolePage>> = {
  overview: { show: showOverview },
  tokens: {
    ...{ show: showTokens, acts: TOKENS, submit: submitTokens, bulk: 'tokens' },
    performs: ['explainToken', 'revokeToken'],
  },
  users: { show: showUsers, acts: USERS, bulk: 'users' },
  groups: { show: showGroups, acts: GROUPS, bulk: 'groups' },
  import: { show: showImport, submit: submitImport, performs: ['importUsers'] },
  clients: { show: showClients, acts: CLIENTS, submit: submitClients, bulk: 'clients' },
  scopes: { show: showScopes, acts: SCOPES },
  issuers: { show: showIssuers },
  apply: { show: showApply, submit: submitApply, performs: ['planState', 'applyState'] },
  keys: { show: showKeys, submit: submitKeys, performs: ['rotateKeys'] },
  secrets: { show: showSecrets, acts: SECRETS, submit: submitSecrets },
  mails: { show: showMails, acts: MAILS },
  audit: { show: showAudit, acts: AUDIT },
  help: { show: showHelp },
  search: { show: showSearch, submit: submitSearch },
};

interface Surroundings {
  readonly configuration: Configuration;
  readonly server: AuthorizationServer;
  readonly whyNotReady: ConsoleParts['whyNotReady'];
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
  { configuration, server, whyNotReady, isAdmitted, clock, history, testMail }: Surroundings,
): Promise<(pages: PagesOfConsole) => Flow> {
  await requireAdminGroup(instance, configuration);
  const path = configuration.settings.trustedIssuers;
  const issuers = readTrustedIssuers(configuration, process.env)?.written;
  const trusted = path !== undefined && issuers !== undefined ? { path, issuers } : {};
  const { adminGroup = '' } = configuration.settings;
  const actorOf = (subject: string) => `console:${subject}` as const;

  return (pages) => {
    const tokens = new SealedValues(instance.secret(), 'console_token');
    const shownOnce = new ShownOnce(
      new AnsweredRequests({
        ...{ apiRequests: instance.apiRequests, secret: instance.secret(), clock: instance.clock },
        use: 'console_token',
      }),
    );
    const parts: ConsoleParts = {
      ...{
        pages,
        adminGroup,
        issuer: instance.issuer,
        server,
        cookies: new Cookies(instance.issuer),
        trusted,
        clock,
        whyNotReady,
        history,
        tokens,
        shownOnce,
      },
      openedForms: new OpenedForms(tokens, shownOnce),
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
          isReady: async () => (await whyNotReady()) === undefined,
          testMail: (address) => testMail({ configuration, issuer: instance.issuer }, address),
        };
      },
    };
    const admit: MiddlewareHandler<PageEnvironment> = async (c, next) =>
      isAdmitted(c.env.incoming) ? next() : pages.drawing.problem(c, { problem: 'not_found' }, 404);
    return {
      mountFirst(routes) {
        const receive = receiveFile(async (c) => isAdmitted(c.env.incoming) && isSignedIn(parts, c));
        for (const path of ['/console/import', '/console/apply']) routes.before(path, receive);
      },
      mount(routes) {
        pages.drawing.frameProblems('/console', async (c, problem, setting) =>
          isAdmitted(c.env.incoming) ? framedProblem(parts, c, problem, setting) : undefined,
        );
        for (const path of ['/console', '/console/*']) routes.before(path, admit);
        for (const [name, { show, acts, submit, bulk }] of Object.entries(PAGES) as [
          ConsolePageName,
          ConsolePage,
        ][]) {
          const path = name === 'overview' ? '/console' : `/console/${name}`;
          const shown = page(parts, name, async (visit) =>
            bulk !== undefined && visit.c.req.query('ask') === 'bulk'
              ? askBulk(visit, bulk)
              : ((acts && (await showAct(visit, acts))) ?? show(visit)),
          );
          const isAct = ({ form }: Visit) =>
            acts !== undefined && Object.hasOwn(acts.acts, form.get('do') ?? '');
          const submitted = (visit: Visit) =>
            bulk !== undefined && visit.form.get('do') === 'bulk'
              ? performBulk(visit, bulk)
              : acts !== undefined && (submit === undefined || isAct(visit))
                ? submitAct(visit, acts)
                : (submit ?? show)(visit);
          if (submit === undefined && acts === undefined) routes.page(path, shown);
          else routes.form(path, shown, page(parts, name, submitted));
        }
        routes.form('/console/try', page(parts, 'clients', showTrial), page(parts, 'clients', submitTrial));
        routes.page('/console/figures', page(parts, 'overview', showFigures));
        routes.page('/console/uplot.js', showLibrary);
        routes.page('/console/import.jsonl', page(parts, 'import', downloadReport));
        routes.page('/console/audit.jsonl', page(parts, 'audit', downloadAudit));
      },
    };
  };
}
