import type { LinkBook, MailQueue } from '../../people/mailing.ts';
import type { OpenedLink } from '../browser/cookies.ts';
import type { Flow } from '../steps/routes.ts';
import { showApplications, submitApplications } from './applications.ts';
import { type DataNeeds, showData, submitData } from './data.ts';
import { showEmail, submitEmail } from './email.ts';
import { showFactors, submitFactors } from './factors.ts';
import { type OverviewNeeds, showAccount, submitAccount } from './overview.ts';
import { type SecurityNeeds, showSecurity, submitSecurity } from './security.ts';
import { showSessions, submitSessions } from './sessions.ts';
import { showTokens, submitTokens, type TokensNeeds } from './tokens.ts';

export interface AccountNeeds extends OverviewNeeds, SecurityNeeds, DataNeeds, TokensNeeds {
  readonly openedLink: OpenedLink;
  /** `undefined` if the server sends no emails. */
  readonly mail: { readonly queue: MailQueue; readonly links: LinkBook } | undefined;
}

/** `/account`: what signed-in users see and change of their account. Each page names what it needs. */
export function accountFlow(needs: AccountNeeds): Flow {
  const { mail } = needs;
  return {
    mount(routes) {
      routes.form('/account', showAccount(needs), submitAccount(needs));
      routes.form('/account/sessions', showSessions(needs), submitSessions(needs));
      routes.form('/account/applications', showApplications(needs), submitApplications(needs));
      routes.form('/account/security', showSecurity(needs), submitSecurity(needs));
      routes.form('/account/factors', showFactors(needs), submitFactors(needs));
      routes.form('/account/data', showData(needs), submitData(needs));
      const { ownTokens } = needs;
      if (ownTokens !== undefined)
        routes.form(
          '/account/tokens',
          showTokens({ ...needs, ownTokens }),
          submitTokens({ ...needs, ownTokens }),
        );
      if (mail === undefined) return;
      const email = { ...needs, ...mail };
      routes.form('/account/email', showEmail(email), submitEmail(email));
    },
  };
}
