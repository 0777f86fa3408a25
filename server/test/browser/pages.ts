// Long: every page once, with the way to it.
import { join } from 'node:path';
import { cheapHash } from '../harness/cheap_hash.ts';
import { addClient } from '../harness/clients.ts';
import { grantdPrints } from '../harness/commands.ts';
import type { RunningServer } from '../harness/program.ts';
import { addPerson } from '../harness/program_data.ts';
import { withDatabaseOf } from '../harness/stored.ts';
import type { Visit } from './visit.ts';

/** Long words without a space, like some names of users and applications. */
const LONG_NAME = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
const LONG_SCOPE = 'https://api.example.com/scopes/warehouse.inventory.adjustments.of.the.past:read';

/** A type of authorization details with a text of the greatest length. */
const PAYMENT_TYPE = {
  schema: {
    properties: { amount: { type: 'string' }, creditor: { type: 'string' } },
    required: ['amount', 'creditor'],
    additionalProperties: { type: 'array', items: { type: 'string' } },
  },
  texts: { name: 'Pay {amount} to {creditor}', description: 'Once and for all. '.repeat(16).trim() },
};

/** Flags of a server that has all pages. */
export const PAGE_FLAGS: readonly string[] = [
  '--sign-up',
  'open',
  '--authorization-details',
  JSON.stringify({ payment: PAYMENT_TYPE }),
  '--providers',
  join(import.meta.dirname, 'providers.json'),
  ...['--email-code', 'also'],
  ...['--personal-tokens', '--personal-token-apis', 'http://localhost:4003'],
  ...['--console', '--admin-group', 'admins', '--console-sign-in-policy', 'password'],
];

/** A user with a passkey, an authenticator app and recovery codes. */
const CAUTIOUS = { username: LONG_NAME, password: 'correct horse' };

/** A page for users. */
interface PageCase {
  readonly name: string;
  readonly as: 'nobody' | 'alice';
  readonly open: (visit: Visit) => Promise<void>;
  /** A selector that matches on this page only. */
  readonly shows: string;
}

const BYE = 'https://stranger.example/bye';

/** A self-registered application. */
const STRANGER = {
  client_id: 'stranger',
  redirect_uri: 'https://stranger.example/callback',
  scope: 'openid',
};

/** Every page. `pages.test.ts` checks each line in each width and colour scheme. */
export const PAGES: readonly PageCase[] = [
  { name: 'home', as: 'nobody', open: (visit) => visit.open('/'), shows: 'a[href$=configuration]' },
  { name: 'sign-in', as: 'nobody', open: (visit) => visit.authorize(), shows: '#login-submit' },
  {
    name: 'sign-in with a known name',
    as: 'nobody',
    open: (visit) => visit.authorize({ login_hint: LONG_NAME }),
    shows: '#username:not([value=""])',
  },
  {
    name: 'sign-in refused',
    as: 'nobody',
    open: async (visit) => {
      await visit.authorize();
      await visit.signIn({ username: `nobody-${Math.random()}`, password: 'not hers' });
    },
    shows: '#problem',
  },
  {
    name: 'code by email, refused',
    as: 'nobody',
    open: async (visit) => {
      await visit.authorize({ login_hint: LONG_NAME });
      await visit.askForCode('000000');
    },
    shows: '#code[aria-invalid]',
  },
  {
    name: 'consent',
    as: 'alice',
    open: (visit) =>
      visit.authorize({ prompt: 'consent', scope: 'openid profile email address phone offline_access' }),
    shows: '#consent-allow',
  },
  {
    name: 'consent to long names',
    as: 'alice',
    open: (visit) =>
      visit.authorize({
        prompt: 'consent',
        client_id: 'long',
        redirect_uri: 'http://localhost:4001/callback',
        scope: `openid ${LONG_SCOPE}`,
      }),
    shows: '#consent-allow',
  },
  {
    name: 'consent to a payment',
    as: 'alice',
    open: (visit) =>
      visit.authorize({
        client_id: 'long',
        redirect_uri: 'http://localhost:4001/callback',
        scope: 'openid',
        authorization_details: JSON.stringify([
          {
            type: 'payment',
            amount: '9'.repeat(100),
            creditor: LONG_NAME,
            [LONG_NAME]: [LONG_SCOPE, LONG_NAME],
          },
          { type: 'payment', amount: '1.00', creditor: '\u202Eliw' },
        ]),
      }),
    shows: '#consent-allow',
  },
  {
    name: 'sign-in again',
    as: 'alice',
    open: (visit) => visit.authorize({ prompt: 'login' }),
    shows: '#username[readonly]',
  },
  {
    name: 'choice of an account',
    as: 'alice',
    open: (visit) => visit.authorize({ prompt: 'select_account' }),
    shows: '#account-continue',
  },
  { name: 'code of a device', as: 'alice', open: (visit) => visit.open('/device'), shows: '#device-submit' },
  {
    name: 'code of a device, refused',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/device?user_code=BBBB-BBBB');
      await visit.page.click('#device-submit');
    },
    shows: '#problem ~ form #device-submit',
  },
  {
    name: 'consent to a device',
    as: 'alice',
    open: (visit) => visit.enterDeviceCode(),
    shows: '#device-warning',
  },
  {
    name: 'a device that is connected',
    as: 'alice',
    open: async (visit) => {
      await visit.enterDeviceCode();
      await visit.page.click('#consent-allow');
      await visit.page.waitForURL('**/device/approved');
    },
    shows: 'h1',
  },
  {
    name: 'application for others',
    as: 'alice',
    open: (visit) =>
      visit.authorize({
        client_id: 'closed',
        redirect_uri: 'http://localhost:4001/callback',
        scope: 'openid',
      }),
    shows: '#denied-back',
  },
  {
    name: 'account, signed out',
    as: 'nobody',
    open: (visit) => visit.open('/account'),
    shows: '#login-submit',
  },
  { name: 'account', as: 'alice', open: (visit) => visit.open('/account'), shows: '#end-access-demo-web' },
  {
    name: 'account: sessions',
    as: 'alice',
    open: (visit) => visit.open('/account/sessions'),
    shows: 'a[href$=sessions][aria-current]',
  },
  {
    name: 'account: applications',
    as: 'alice',
    open: (visit) => visit.open('/account/applications'),
    shows: 'a#end-access-demo-web',
  },
  {
    name: 'account: the end of an access',
    as: 'alice',
    open: (visit) => visit.open('/account/applications?end=demo-web'),
    shows: '#end-access-yes',
  },
  {
    name: 'account: security',
    as: 'alice',
    open: (visit) => visit.open('/account/security'),
    shows: '#change-password',
  },
  {
    name: 'account: new authenticator app',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/account/security');
      await visit.page.click('#add-totp');
    },
    shows: '#confirm-totp',
  },
  {
    name: 'account: tokens',
    as: 'alice',
    open: (visit) => visit.open('/account/tokens'),
    shows: '#make-token',
  },
  {
    name: 'account: a new token, refused',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/account/tokens');
      await visit.page.fill('#name', LONG_NAME.slice(0, 64));
      await visit.page.click('#make-token');
    },
    shows: '#problem ~ * #make-token',
  },
  {
    name: 'account: a new token with its value',
    as: 'alice',
    open: makeToken,
    shows: '[id^=token-saved-]',
  },
  {
    name: 'account: the end of a token',
    as: 'alice',
    open: async (visit) => {
      await makeToken(visit);
      await visit.page.click('[id^=end-token-]');
    },
    shows: '#end-token-yes',
  },
  {
    name: 'second step of a sign-in',
    as: 'nobody',
    open: async (visit) => {
      await visit.authorize();
      await visit.signIn(CAUTIOUS);
    },
    shows: '#second-submit',
  },
  {
    name: 'second step of a sign-in, refused',
    as: 'nobody',
    open: async (visit) => {
      await visit.authorize();
      await visit.signIn(CAUTIOUS);
      await visit.page.click('#use-recovery-code');
      await visit.page.fill('#recovery-code', 'not-one');
      await visit.page.click('#recovery-submit');
    },
    shows: '#problem',
  },
  {
    name: 'account: email address',
    as: 'alice',
    open: (visit) => visit.open('/account/email'),
    shows: '#send-link',
  },
  {
    name: 'account: data',
    as: 'alice',
    open: (visit) => visit.open('/account/data'),
    shows: '#delete-account',
  },
  {
    name: 'forgotten password',
    as: 'nobody',
    open: (visit) => visit.open('/forgot'),
    shows: '#forgot-submit',
  },
  {
    name: 'forgotten password, sent',
    as: 'nobody',
    open: async (visit) => {
      await visit.open('/forgot');
      await visit.page.fill('#username', `nobody-${Math.random()}`);
      await visit.page.click('#forgot-submit');
    },
    shows: '#mail-sent',
  },
  {
    name: 'provider that does not answer',
    as: 'nobody',
    open: async (visit) => {
      await visit.authorize();
      await visit.page.click('#provider-unreachable');
    },
    shows: '#problem ~ #try-again',
  },
  {
    name: 'provider whose answer belongs to another browser',
    as: 'nobody',
    open: (visit) => visit.open('/upstream/unreachable/callback?state=of-another-browser&code=x'),
    shows: '#problem ~ #try-again',
  },
  { name: 'sign-up', as: 'nobody', open: (visit) => visit.open('/sign-up'), shows: '#sign-up-submit' },
  { name: 'mailbox', as: 'nobody', open: (visit) => visit.open('/demo/mailbox'), shows: '#reload' },
  {
    name: 'new account by a link',
    as: 'nobody',
    open: async (visit) => {
      await visit.open('/sign-up');
      await visit.page.fill('#email', `someone-${Math.random()}@example.com`);
      await visit.page.click('#sign-up-submit');
      await visit.page.waitForSelector('#mail-sent');
      await visit.open('/demo/mailbox');
      while ((await visit.page.$('#link-1')) === null) await visit.page.click('#reload');
      await visit.page.click('#link-1');
    },
    shows: '#link-submit',
  },
  { name: 'a link that is over', as: 'nobody', open: (visit) => visit.open('/link'), shows: '#problem' },
  {
    name: 'sign-in for an unchecked application',
    as: 'nobody',
    open: (visit) => visit.authorize(STRANGER),
    shows: '#registered-itself ~ form #login-cancel',
  },
  {
    name: 'consent to an unchecked application',
    as: 'alice',
    open: (visit) => visit.authorize({ ...STRANGER, prompt: 'consent' }),
    shows: '#registered-itself ~ form #consent-allow',
  },
  {
    name: 'leaving for an unchecked application',
    as: 'nobody',
    open: (visit) => visit.authorize({ ...STRANGER, prompt: 'none' }),
    shows: 'a#leave',
  },
  {
    name: 'leaving for an unchecked application by form',
    as: 'nobody',
    open: (visit) => visit.authorize({ ...STRANGER, prompt: 'none', response_mode: 'form_post' }),
    shows: 'button#leave',
  },
  {
    name: 'signed out by an unchecked application',
    as: 'nobody',
    open: (visit) =>
      visit.open(`/logout?client_id=stranger&post_logout_redirect_uri=${encodeURIComponent(BYE)}`),
    shows: '.leaving ~ #sign-in-again',
  },
  {
    name: 'logout with an unregistered address',
    as: 'alice',
    open: (visit) =>
      visit.open('/logout?client_id=demo-web&post_logout_redirect_uri=https://unregistered.example/'),
    shows: '#stays-here',
  },
  { name: 'logout', as: 'alice', open: (visit) => visit.open('/logout'), shows: '#logout-yes' },
  {
    name: 'signed out',
    as: 'nobody',
    open: (visit) => visit.open('/logout'),
    shows: '#to-account, #sign-in-again',
  },
  {
    name: 'sign-in in German',
    as: 'nobody',
    open: (visit) => visit.authorize({ ui_locales: 'de' }),
    shows: 'html[lang=de] #login-submit',
  },
  {
    name: 'consent in German',
    as: 'alice',
    open: (visit) => visit.authorize({ prompt: 'consent', ui_locales: 'de' }),
    shows: 'html[lang=de] #consent-allow',
  },
  {
    name: 'an unknown application',
    as: 'nobody',
    open: (visit) => visit.authorize({ client_id: 'unknown' }),
    shows: '#problem',
  },
  {
    name: 'a request that is over',
    as: 'nobody',
    open: (visit) => visit.open('/login?pending=over'),
    shows: '#problem',
  },
  { name: 'console', as: 'alice', open: (visit) => visit.open('/console'), shows: '.plot canvas' },
  {
    name: 'console: menu',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/keys');
      await visit.page.evaluate(() => document.getElementById('navigation')?.showPopover());
    },
    shows: '#navigation:popover-open',
  },
  { name: 'console: help', as: 'alice', open: (visit) => visit.open('/console/help'), shows: '#reasons' },
  {
    name: 'console: help about a reason',
    as: 'alice',
    open: (visit) => visit.open('/console/help?about=too_many_requests'),
    shows: '#all',
  },
  {
    name: 'console: counted',
    as: 'alice',
    open: (visit) => visit.open('/console?count=yes'),
    shows: '.figures div + div + div',
  },
  {
    name: 'console: a token',
    as: 'alice',
    open: (visit) => visit.open('/console/tokens'),
    shows: '#token',
  },
  { name: 'console: a token, explained', as: 'alice', open: explainToken, shows: 'svg.family' },
  {
    name: 'console: the revocation of a token',
    as: 'alice',
    open: async (visit) => {
      await explainToken(visit);
      await visit.page.click('#revoke');
    },
    shows: '#console-yes',
  },
  {
    name: 'console: search',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console');
      await visit.page.fill('#q', 'a');
      await visit.page.press('#q', 'Enter');
    },
    shows: '#found-users',
  },
  {
    name: 'console: nothing found',
    as: 'alice',
    open: (visit) => visit.open('/console/search?q=nothing+has+this+name'),
    shows: '.empty[role=status]',
  },
  { name: 'console: users', as: 'alice', open: (visit) => visit.open('/console/users'), shows: '#search' },
  {
    name: 'console: the choice of a group for several users',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/users');
      await visit.page.check('#pick-all');
      await visit.page.click('#bulk-join');
    },
    shows: '#choose-group',
  },
  {
    name: 'console: a question about several users',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/users');
      await visit.page.check('#pick-all');
      await visit.page.click('#bulk-disable');
    },
    shows: '#console-yes',
  },
  {
    name: 'console: a question about several tokens',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/tokens?user=alice');
      await visit.page.check('#pick-all');
      await visit.page.click('#bulk-revoke');
    },
    shows: '.data .identifier',
  },
  {
    name: 'console: outcomes for several users',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/users?search=alice');
      const alice = await visit.page.inputValue('[name=picked]');
      await visit.open('/console/users');
      await visit.page.check('#pick-all');
      await visit.page.click('#bulk-disable');
      // As if they had become an administrator since the question.
      await visit.page.locator('[name=picked]').evaluateAll((fields, subject) => {
        for (const field of fields) field.setAttribute('value', subject);
      }, alice);
      await visit.page.click('#console-yes');
    },
    shows: '.badge.bad',
  },
  {
    name: 'console: a page that does not exist',
    as: 'alice',
    open: (visit) => visit.open('/console/nothing'),
    shows: '.console #problem',
  },
  {
    name: 'console: no such users',
    as: 'alice',
    open: (visit) => visit.open('/console/users?search=nothing+has+this+name'),
    shows: '.empty',
  },
  {
    name: 'console: a user',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/users?search=alice');
      await visit.page.click('.data th a[href*=sub]');
    },
    shows: '#sign-in',
  },
  {
    name: 'console: the end of all tokens of a user',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/users?search=alice');
      await visit.page.click('.data th a[href*=sub]');
      await visit.page.click('#more');
      await visit.page.click('#ask-end_access');
    },
    shows: '#console-yes',
  },
  {
    name: 'console: clients',
    as: 'alice',
    open: (visit) => visit.open('/console/clients'),
    shows: '#search',
  },
  {
    name: 'console: a client',
    as: 'alice',
    open: (visit) => visit.open('/console/clients?id=long'),
    shows: '#client',
  },
  {
    name: 'console: kinds of clients',
    as: 'alice',
    open: (visit) => visit.open('/console/clients?add=yes'),
    shows: '#ask-add_spa',
  },
  {
    name: 'console: a change of a client',
    as: 'alice',
    open: (visit) => visit.open('/console/clients?id=long&ask=edit'),
    shows: '#save-edit',
  },
  {
    name: 'console: what an application gets',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/clients?ask=add_spa');
      await visit.page.click('#save-try_spa');
      await visit.page.click('#consent-allow');
    },
    shows: '#revoke-trial',
  },
  {
    name: 'console: what is left of a revoked token',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/clients?ask=add_spa');
      await visit.page.click('#save-try_spa');
      await visit.page.click('#consent-allow');
      await visit.page.click('#revoke-trial');
    },
    shows: '#try-again',
  },
  {
    name: 'console: an import',
    as: 'alice',
    open: (visit) => visit.open('/console/import'),
    shows: '#import-check',
  },
  {
    name: 'console: the plan of an import',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/import');
      const lines = '{"username":"zoe"}\n{"username":"zed","groups":["none"]}';
      const file = { name: 'users.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(lines) };
      await visit.page.setInputFiles('#file', file);
      await visit.page.click('#import-check');
    },
    shows: '#import-run',
  },
  {
    name: 'console: a file to apply',
    as: 'alice',
    open: (visit) => visit.open('/console/apply'),
    shows: '#apply-plan',
  },
  {
    name: 'console: the plan of a file',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/apply');
      const buffer = Buffer.from('groups:\n  night-shift: { description: By night }\n');
      await visit.page.setInputFiles('#file', { name: 'grantd.yaml', mimeType: 'text/yaml', buffer });
      await visit.page.click('#apply-plan');
    },
    shows: '#apply-run',
  },
  {
    name: 'console: scopes',
    as: 'alice',
    open: (visit) => visit.open('/console/scopes'),
    shows: '#ask-add',
  },
  {
    name: 'console: a new scope',
    as: 'alice',
    open: (visit) => visit.open('/console/scopes?ask=add'),
    shows: '#field-texts-name',
  },
  {
    name: 'console: trusted issuers',
    as: 'alice',
    open: (visit) => visit.open('/console/issuers'),
    shows: 'main .empty',
  },
  {
    name: 'console: server secrets',
    as: 'alice',
    open: (visit) => visit.open('/console/secrets'),
    shows: '#ask-rotate',
  },
  {
    name: 'console: emails',
    as: 'alice',
    open: (visit) => visit.open('/console/mails'),
    shows: '#ask-test',
  },
  {
    name: 'console: a new client with its secret',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/clients?id=long&ask=rotate_secret');
      await visit.page.click('#save-rotate_secret');
    },
    shows: '#secret-saved',
  },
  {
    name: 'console: groups',
    as: 'alice',
    open: (visit) => visit.open('/console/groups'),
    shows: '#ask-add',
  },
  {
    name: 'console: a form with mistakes',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/users?ask=add');
      await visit.page.fill('#field-username', LONG_NAME);
      await visit.page.locator('details.part').last().locator('summary').click();
      await visit.page.fill('#field-claims', '{"a": 1,}');
      await visit.page.click('#save-add');
    },
    shows: '#field-claims-problem',
  },
  {
    name: 'console: a change of a user',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/users?search=alice');
      await visit.page.click('.data th a[href*=sub]');
      await visit.page.click('#ask-edit');
    },
    shows: '#save-edit',
  },
  {
    name: 'console: the group of administrators',
    as: 'alice',
    open: (visit) => visit.open('/console/groups?name=admins'),
    shows: '#ask-join',
  },
  {
    name: 'console: the removal of a group',
    as: 'alice',
    open: (visit) => visit.open('/console/groups?name=visitors&ask=remove'),
    shows: '#console-yes',
  },
  {
    name: 'console: the end of the access of an application',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/users?search=alice');
      await visit.page.click('.data th a[href*=sub]');
      await visit.page.click('[id^=ask-end_client-], [id^=ask-end_application-]');
    },
    shows: '#console-yes',
  },
  { name: 'console: keys', as: 'alice', open: (visit) => visit.open('/console/keys'), shows: '#ask-all' },
  {
    name: 'console: the rotation of a key',
    as: 'alice',
    open: (visit) => visit.open('/console/keys?ask=RS256'),
    shows: '#console-yes',
  },
  {
    name: 'console: no such client',
    as: 'alice',
    open: (visit) => visit.open('/console/clients?id=unknown'),
    shows: '#problem',
  },
  {
    name: 'console: audit',
    as: 'alice',
    open: (visit) => visit.open('/console/audit?actor=cli'),
    shows: '#target',
  },
  {
    name: 'console: the sign-in of a user',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/users?search=alice');
      await visit.page.click('.data th a[href*=sub]');
      await visit.page.click('#sign-in');
    },
    shows: '#verdict',
  },
  {
    name: 'console: an event',
    as: 'alice',
    open: async (visit) => {
      await visit.open('/console/audit?type=token_issued');
      await visit.page.click('a[id^=event-]');
    },
    shows: '#members',
  },
  { name: 'no such page', as: 'nobody', open: (visit) => visit.open('/nowhere'), shows: '#problem' },
];

async function makeToken(visit: Visit): Promise<void> {
  await visit.open('/account/tokens');
  await visit.page.fill('#name', LONG_NAME.slice(0, 64));
  await visit.page.check('[name=scope]');
  await visit.page.click('#make-token');
  await visit.page.waitForSelector('[id^=token-saved-]');
}

/** Tokens that the console explains. */
let issued = '';

async function explainToken(visit: Visit): Promise<void> {
  await visit.open('/console/tokens');
  await visit.page.fill('#token', issued);
  await visit.page.click('#explain');
}

/** The group that the console is for. */
export async function addAdministrator({ folder }: RunningServer): Promise<void> {
  await grantdPrints(folder, ['group', 'add', 'admins']);
  await grantdPrints(folder, ['group', 'add-member', 'admins', 'alice']);
}

/** The clients that some of the pages show. */
export async function addPageClients(server: RunningServer): Promise<void> {
  const { folder } = server;
  await grantdPrints(folder, [
    ...['client', 'add', 'long', `--name=${LONG_NAME}`, '--scope=openid', `--scope=${LONG_SCOPE}`],
    ...['--redirect-uri=http://localhost:4001/callback', '--authorization-details-type=payment'],
  ]);
  await grantdPrints(folder, ['group', 'add', 'staff']);
  await grantdPrints(folder, ['group', 'add', 'visitors']);
  await grantdPrints(folder, [
    ...['client', 'add', 'closed', '--name=Payroll', '--scope=openid', '--allow-group=staff'],
    '--redirect-uri=http://localhost:4001/callback',
  ]);
  await addClient(server, {
    id: STRANGER.client_id,
    name: 'Example Inc. Security',
    grantTypes: ['authorization_code'],
    scopes: ['openid'],
    redirectUris: [STRANGER.redirect_uri],
    registeredAt: 1,
    metadata: { application_type: 'web', post_logout_redirect_uris: [BYE] },
  });
  await withDatabaseOf(server, async (database) => {
    const { factors } = database;
    const { username, password } = CAUTIOUS;
    const { subject } = await addPerson(database, username, cheapHash(password));
    await factors.addPasskey({
      ...{ id: 'k1', subject, publicKey: '', counter: 0, transports: [], isBackedUp: true },
      ...{ isSecurityKey: false, name: LONG_NAME, createdAtMs: 1, countsFromMs: 0 },
    });
    await factors.addPasskey({
      ...{ id: 'k2', subject, publicKey: '', counter: 0, transports: ['usb'], isBackedUp: false },
      ...{ isSecurityKey: true, name: LONG_NAME, createdAtMs: 2, countsFromMs: 0 },
    });
    await factors.addTotp(subject, { sealed: '', createdAtMs: 1, countsFromMs: 0 }, 0);
    await factors.setRecoveryCodes(subject, [{ digest: 'digest', sealed: '' }], 1);
  });
  const tokens = await grantdPrints(folder, [
    ...['token', 'issue', '--client=demo-web', '--user=alice', '--refresh'],
  ]);
  [, issued = ''] = tokens.trim().split('\n');
}
