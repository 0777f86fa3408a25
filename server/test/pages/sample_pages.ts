// Long: every page once, with what it shows.
import { EVENT_TYPES } from '@grantd/core';
import type { AuditEventView } from '../../src/admin/audit.ts';
import { CLIENT_CHANGE } from '../../src/admin/client_documents.ts';
import type { Schema } from '../../src/admin/schema.ts';
import { USER_OPERATIONS } from '../../src/admin/users.ts';
import { type ActFormView, actFormPage, actLink, questionPage } from '../../src/console/acts.ts';
import { appliedPage, applyPage, applyPlanPage, missingSecretsPage } from '../../src/console/apply.ts';
import { auditPage, eventPage } from '../../src/console/audit.ts';
import { askBulkPage, bulkPage } from '../../src/console/bulk.ts';
import { CLIENT_PARTS, newClientPage } from '../../src/console/client_forms.ts';
import { clientPage, clientsPage } from '../../src/console/clients.ts';
import { type EventRow, singleRows } from '../../src/console/event_rows.ts';
import { type FormSpec, fieldsOf, type ShownProblem, typedOf } from '../../src/console/fields.ts';
import { problemFrame, refusedPage } from '../../src/console/frame.ts';
import { groupPage, groupsPage } from '../../src/console/groups.ts';
import { helpPage } from '../../src/console/help.ts';
import { importedPage, importPage, importPlanPage } from '../../src/console/import.ts';
import { issuersPage } from '../../src/console/issuers.ts';
import { keysPage, rotatePage } from '../../src/console/keys.ts';
import { mailsPage } from '../../src/console/mails.ts';
import { NO_NAMES } from '../../src/console/names.ts';
import { overviewPage as consolePage } from '../../src/console/overview.ts';
import { scopesPage } from '../../src/console/scopes.ts';
import { searchPage } from '../../src/console/search.ts';
import { secretsPage } from '../../src/console/secrets.ts';
import { supportPage } from '../../src/console/support.ts';
import { type ExplainedView, explainedPage, revokeTokenPage, tokensPage } from '../../src/console/tokens.ts';
import { endedPage, failedPage, foreignPage, resultPage } from '../../src/console/trial_pages.ts';
import { USERS, userPage, usersPage } from '../../src/console/users.ts';
import type { Sample as HistorySample } from '../../src/monitoring/history.ts';
import { applicationsPage, endAccessPage } from '../../src/pages/account/applications.ts';
import { accountRemovedPage, dataPage } from '../../src/pages/account/data.ts';
import { emailPage } from '../../src/pages/account/email.ts';
import { type FactorsView, recoveryCodesPage, totpPage } from '../../src/pages/account/factors_page.ts';
import { type OverviewView, overviewPage } from '../../src/pages/account/overview.ts';
import { securityPage } from '../../src/pages/account/security.ts';
import { type SignInShown, sessionsPage } from '../../src/pages/account/sessions.ts';
import {
  endTokenPage,
  type TokensView as OwnTokensView,
  tokensPage as ownTokensPage,
  type TokenFormShown,
} from '../../src/pages/account/tokens_page.ts';
import type { Problem } from '../../src/pages/browser/request.ts';
import { chooseAccountPage } from '../../src/pages/consent/choose_account_page.ts';
import { type ConsentView, consentPage } from '../../src/pages/consent/consent_page.ts';
import { deniedPage } from '../../src/pages/consent/denied_page.ts';
import { deviceDonePage, devicePage } from '../../src/pages/device/device_pages.ts';
import { type Brand, type OperatorShown, SCHEMES } from '../../src/pages/drawing/brand.ts';
import type { ApplicationShown, DetailShown, Page, PageSetting } from '../../src/pages/drawing/layout.ts';
import { leavingPage } from '../../src/pages/drawing/leaving_page.ts';
import { problemPage } from '../../src/pages/drawing/problem_page.ts';
import type { ProviderButton, ProvidersOfAccount } from '../../src/pages/drawing/providers_shown.ts';
import { homePage } from '../../src/pages/home/home.ts';
import { mailboxPage } from '../../src/pages/home/mailbox.ts';
import { logoutPage, signedOutPage, stillSignedInPage } from '../../src/pages/logout/logout_pages.ts';
import { type ProviderProblem, providerProblemPage } from '../../src/pages/providers/way_to_provider.ts';
import { type LinkView, linkDonePage, linkFormPage } from '../../src/pages/recovery/link_pages.ts';
import { forgotPage, mailSentPage, signUpPage } from '../../src/pages/recovery/mail_pages.ts';
import { type EmailCodeView, emailCodePage } from '../../src/pages/sign_in/email_code_page.ts';
import { type SignInView, signInPage } from '../../src/pages/sign_in/login_page.ts';
import { type SecondView, secondPage } from '../../src/pages/sign_in/second_page.ts';
import { ImportFault } from '../../src/people/import_faults.ts';
import type { Language, Texts } from '../../src/texts/texts.ts';

/** One page in one state. */
interface Sample {
  readonly name: string;
  draw(language: Language, write: Write, photos: ApplicationShown): Page;
}

/** Applied to every external text. */
type Write = (text: string) => string;

/**
 * Every page in each of its states, by name.
 * @param photos the application that most of the pages name
 */
export function samplePages(
  language: Language,
  write: Write = (text) => text,
  photos: ApplicationShown = PHOTOS,
): ReadonlyMap<string, Page> {
  return new Map(SAMPLES.map(({ name, draw }) => [name, draw(language, write, photos)]));
}

function sample<V>(
  name: string,
  page: (view: V, setting: PageSetting) => Page,
  view: V,
  operator: OperatorShown = PLAIN,
): Sample {
  return {
    name,
    draw: (language, write, photos) =>
      page(written(view, write, photos), {
        language,
        operator: written(operator, write),
        languages: LANGUAGES_SHOWN.filter(({ tag }) => tag !== language),
      }),
  };
}

/** Members that are not external texts, or are validated before a page shows them. */
const OWN_MEMBERS: ReadonlySet<string> = new Set([
  'problem',
  'reason',
  'done',
  'color',
  'logo',
  'redirectTo',
  'hearing',
  'current',
  'base',
  'purpose',
  'kind',
  'changeEmail',
  'back',
  'here',
  'notice',
  'status',
  'ask',
  'does',
  'list',
  'next',
  'type',
  'algorithm',
  'amr',
  'lead',
  'badges',
  'act',
  'buttons',
  'page',
  'state',
  'use',
  'step',
  ...[
    'code',
    'action',
    'topics',
    'of',
    'policy',
    'way',
    'obstacles',
    'closed_by',
    'followed_by',
    'outcome',
    'methods',
  ],
]);

/** A time in a document of the server. */
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

function written<V>(value: V, write: Write, photos = PHOTOS): V {
  const change = (one: unknown, member = ''): unknown => {
    if (typeof one === 'string') return OWN_MEMBERS.has(member) || TIME.test(one) ? one : write(one);
    // The server has checked the look, and has the schemas.
    if (['look', 'schema', 'spec'].includes(member)) return one;
    // A code, and what its sentence names.
    const codes = ['said', 'stopped'].includes(member) ? 1 : 0;
    if (Array.isArray(one)) return one.map((element, at) => (at < codes ? element : change(element, member)));
    if (typeof one !== 'object' || one === null) return one;
    const shown = one === PHOTOS ? photos : one;
    return Object.fromEntries(Object.entries(shown).map(([name, of]) => [name, change(of, name)]));
  };
  return change(value) as V;
}

const LANGUAGES_SHOWN = [
  { tag: 'en', name: 'English', url: '?ui_language=en' },
  { tag: 'de', name: 'Deutsch', url: '?ui_language=de' },
];

const PROBLEMS: readonly Problem[] = [
  'request_allowed',
  'request_denied',
  'device_over',
  'too_many_applications',
  'form_foreign',
  'link_invalid',
  'not_administrator',
  'factors_wait',
  'not_found',
  'method_not_allowed',
  'too_large',
  'too_many_requests',
];

const COLORS = [
  ['yellow', '#ffdd00'],
  ['black', '#000000'],
  ['white', '#ffffff'],
  ['red', '#d4002a'],
] as const;

const FORM = { action: '/form', formToken: 'form-token' };

const LOGO = picture(
  '<circle cx="20" cy="20" r="17" fill="#2f6fdf"/><path d="M6 29l9-11 6 7 5-5 8 9a17 17 0 0 1-28 0z" fill="#fff"/><circle cx="26" cy="13" r="3.5" fill="#fff"/>',
);

const ARMS = picture(
  '<path d="M6 4h28v17c0 8-6 13-14 16C12 34 6 29 6 21z" fill="#7a1f5c"/><path d="M12 24V13h4v3h2v-3h4v3h2v-3h4v11z" fill="#fff"/>',
);

const PROVIDER_PROBLEMS: readonly ProviderProblem[] = [
  'unavailable',
  'denied',
  'invalid',
  'foreign',
  'not_linked',
  'linked_elsewhere',
  'disabled',
  'another_person',
];

const PROVIDERS: readonly ProviderButton[] = [
  { id: 'google', kind: 'google', name: 'Google', action: '/upstream/google/sign_in' },
  { id: 'entra', kind: 'microsoft', name: 'Microsoft', action: '/upstream/entra/sign_in' },
  { id: 'apple', kind: 'apple', name: 'Apple', action: '/upstream/apple/sign_in' },
  { id: 'github', kind: 'github', name: 'GitHub', action: '/upstream/github/sign_in' },
  { id: 'staff', kind: 'generic', name: 'Musterstadt', action: '/upstream/staff/sign_in' },
];

const PLAIN: Brand = { name: 'login.example.com' };

/** The theme of docs/branding.md. */
const THEMED: OperatorShown = {
  ...{ name: 'Acme', color: '#6d28d9', logo: ARMS },
  look: {
    schemes: {
      light: { ...SCHEMES.light, brand: '#6d28d9', ground: '#f6f3fb', text: '#1e1b2e' },
      dark: { ...SCHEMES.dark, brand: '#b79cff', ground: '#15121f', surface: '#1f1b2d' },
    },
    radius: 4,
    fontStack: "ui-serif, Charter, 'Bitstream Charter', Cambria, Georgia, serif",
    links: { help: 'https://acme.example/help', privacy: 'https://acme.example/privacy' },
  },
};

const OPERATOR: Brand = { name: 'Musterstadt', color: '#7a1f5c', logo: ARMS };

const PHOTOS: ApplicationShown = {
  name: 'Photos',
  logo: LOGO,
  color: '#2458c4',
  policyUri: 'https://photos.example.com/privacy',
  tosUri: 'https://photos.example.com/terms',
};

const LONG: ApplicationShown = {
  name: 'Landesversicherungsanstaltsverwaltungsportal für Mitgliedsorganisationen der Donaudampfschifffahrtsgesellschaft',
};

const ALICE = { name: 'Alice Liddell', detail: 'alice@example.com' };

const AGAIN = { person: ALICE, reason: 'tooLongAgo', changePerson: '/login' } as const;

const RIGHT_TO_LEFT: ApplicationShown = { name: 'תמונות (Photos) – אלבום' };

const LONG_PERSON = {
  name: 'אליס בת שרה לידל-גולדשטיין מירושלים',
  detail: 'alexandra.konstantinopoulou-von-hohenzollern@forschungsabteilung.verwaltung.example.com',
};

const SIGN_IN: SignInView = { ...FORM, application: PHOTOS, username: '' };

const PAYMENT: DetailShown = {
  title: ['Pay ', ['123.50'], ' ', ['EUR']],
  detail: ['Once, to ', ['Merchant A'], ', from an account that you choose'],
  others: [
    { member: 'creditor.iban', values: ['DE02100100109307118603'] },
    { member: 'locations', values: ['https://bank.example', 'https://pay.bank.example'] },
  ],
};

const CONSENT: ConsentView = {
  ...FORM,
  application: PHOTOS,
  person: ALICE,
  changePerson: '/login',
  access: { scopes: ['openid', 'profile', 'email', 'offline_access'] },
  returnsTo: 'photos.example.com',
  account: '/account',
};

const { returnsTo: _, ...WITHOUT_RETURN } = CONSENT;

/** A device gets its answer by itself. */
const OF_DEVICE: ConsentView = {
  ...WITHOUT_RETURN,
  device: { requestedAtMs: 0, place: '192.0.2.7', nowMs: 120_000 },
};

const EVERYTHING: ConsentView = {
  ...CONSENT,
  application: {
    ...LONG,
    clientUri: 'https://portal.example.com',
    policyUri: 'https://portal.example.com/p',
  },
  access: {
    groups: [
      { scopes: [{ scope: 'tenant', title: 'See which organisation you belong to' }] },
      {
        api: { name: 'Example Statements', resource: 'https://statements.example.com' },
        scopes: [
          { scope: 'statements.read', title: 'Read your statements', detail: 'Of the last ten years' },
          { scope: 'statements.send', title: 'Send statements by email' },
        ],
      },
    ],
    scopes: [
      ...['openid', 'profile', 'email', 'address', 'phone', 'offline_access'],
      ...Array.from({ length: 22 }, (_, at) => `records.${at + 1}:${at % 2 === 0 ? 'read' : 'write'}`),
      'https://api.example.com/scopes/calendar.read',
      'https://api.example.com/scopes/calendar.write',
    ],
    resources: ['https://api.example.com', 'https://storage.example.com/v2/very/long/path/of/an/interface'],
  },
};

const DETAIL = {
  code: 'invalid_request',
  description: 'the redirect_uri is not registered for this client',
};

const REQUEST_ID = '4f1c2a7be0d94c55';

const WAYS = { home: '/', account: '/account' };

/** Anyone can register it like this. */
export const STRANGER: ApplicationShown = { name: 'Example Inc. Security', isUnchecked: true };

const LEAVING = {
  redirectTo: 'https://stranger.example/callback?error=login_required&iss=https%3A%2F%2Flogin.example.com',
};

const NOW_MS = Date.UTC(2026, 2, 12, 9, 30);
const HOUR_MS = 3_600_000;

const ACCOUNT: OverviewView = {
  base: '/account',
  current: 'overview',
  formToken: 'form-token',
  person: ALICE,
  profile: {
    username: 'alice',
    fullName: 'Alice Liddell',
    email: { address: 'alice@example.com', isVerified: true },
    changeEmail: '/account/email',
  },
  signOut: '/logout',
  nowMs: NOW_MS,
  applications: [
    {
      clientId: 'photos',
      lasting: 'always',
      application: PHOTOS,
      access: [CONSENT.access, { scopes: [], details: [PAYMENT] }],
      sinceMs: NOW_MS - 3 * HOUR_MS,
    },
    {
      clientId: 'portal 7',
      lasting: 'remembered',
      application: LONG,
      access: [EVERYTHING.access],
      sinceMs: NOW_MS - 400 * HOUR_MS,
    },
    {
      clientId: 'notes',
      lasting: 'present',
      application: { name: 'Notizen', isUnchecked: true },
      access: [
        { scopes: ['openid', 'notes:read'] },
        { scopes: ['notes:write'], resources: ['https://api.example.com'], claims: ['email'] },
      ],
      sinceMs: NOW_MS - 9000 * HOUR_MS,
    },
    {
      clientId: 'assistant',
      lasting: 'remembered',
      application: { name: 'Travel assistant' },
      isAgent: true,
      access: [{ scopes: ['calendar:read'], resources: ['https://calendar.example.com'] }],
      sinceMs: NOW_MS - 50 * HOUR_MS,
      acts: { through: [PHOTOS, { name: 'Notizen', isUnchecked: true }], lastUsedMs: NOW_MS - 2 * HOUR_MS },
    },
    {
      clientId: 'printer',
      lasting: 'remembered',
      application: { name: 'Photo printer' },
      access: [{ scopes: [] }],
      sinceMs: NOW_MS - 70 * HOUR_MS,
      acts: { through: [{ name: 'Albums' }], lastUsedMs: NOW_MS - 60 * HOUR_MS, hasEnded: true },
    },
  ],
  sessions: [
    {
      id: 's1',
      isCurrent: true,
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0',
      network: '203.0.113.0/24',
      signedInAtMs: NOW_MS - 2 * HOUR_MS,
      lastSeenAtMs: NOW_MS - 1000,
    },
    {
      id: 's2',
      isCurrent: false,
      userAgent:
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
      network: '2001:db8:42:ab00::/56',
      signedInAtMs: NOW_MS - 80 * HOUR_MS,
      lastSeenAtMs: NOW_MS - 26 * HOUR_MS,
    },
    { id: 's3', isCurrent: false, signedInAtMs: NOW_MS - 300 * HOUR_MS },
  ],
};

function picture(content: string): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">${content}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** What a browser gets with a form for passkeys. */
const CHALLENGE = { sealed: 'sealed', options: { challenge: 'Y2hhbGxlbmdl', rpId: 'login.example.com' } };

const NO_FACTORS: FactorsView = {
  ...FORM,
  passkeys: { list: [], challenge: CHALLENGE },
  securityKeys: { list: [], challenge: CHALLENGE },
  totpSinceMs: undefined,
  recoveryCodes: 0,
  mayChange: true,
  hasUnsavedCodes: false,
  isNeeded: false,
  nowMs: NOW_MS,
};

const FACTORS: FactorsView = {
  ...NO_FACTORS,
  passkeys: {
    challenge: CHALLENGE,
    list: [
      {
        ...{ id: 'k1', subject: 's', publicKey: '', counter: 0, transports: [] },
        name: 'Phone',
        isBackedUp: true,
        isSecurityKey: false,
        createdAtMs: NOW_MS - 3000 * HOUR_MS,
        lastUsedAtMs: NOW_MS - 2 * HOUR_MS,
        countsFromMs: 0,
      },
      {
        ...{ id: 'k2', subject: 's', publicKey: '', counter: 4, transports: ['usb'] },
        name: 'Blue security key in the drawer of the desk',
        isBackedUp: false,
        isSecurityKey: false,
        createdAtMs: NOW_MS - 30 * HOUR_MS,
        countsFromMs: 0,
      },
    ],
  },
  securityKeys: {
    challenge: CHALLENGE,
    list: [
      {
        ...{ id: 'k3', subject: 's', publicKey: '', counter: 4, transports: ['usb'] },
        ...{ name: 'Old key', isBackedUp: false, isSecurityKey: true },
        ...{ createdAtMs: NOW_MS - 40 * HOUR_MS, lastUsedAtMs: NOW_MS - 3 * HOUR_MS, countsFromMs: 0 },
      },
    ],
  },
  totpSinceMs: NOW_MS - 900 * HOUR_MS,
  recoveryCodes: 9,
};

const SIGN_INS: readonly SignInShown[] = [
  ...ACCOUNT.sessions.map(({ isCurrent, userAgent = '', network, signedInAtMs: atMs }) => ({
    ...{ userAgent, network, atMs, amr: ['pwd', 'otp', 'mfa'] },
    status: isCurrent ? ('current' as const) : ('open' as const),
  })),
  ...(['password_wrong', 'code_wrong', 'passkey_wrong', 'person_disabled'] as const).map((reason, index) => ({
    ...{ reason, userAgent: 'curl/8', network: '192.0.2.0/24', status: 'failed' as const },
    atMs: NOW_MS - (index + 1) * 90_000_000,
  })),
  ...Array.from({ length: 6 }, (_, index) => ({
    ...{
      userAgent: ACCOUNT.sessions[0]?.userAgent ?? '',
      status: 'ended' as const,
      amr: ['pop', 'user', 'mfa'],
    },
    atMs: NOW_MS - (index + 5) * 90_000_000,
  })),
];

const DATA = { ...ACCOUNT, current: 'data', mayDelete: true } as const;

const SECURITY = {
  ...ACCOUNT,
  current: 'security',
  minLength: 12,
  username: 'alice',
  mayChangePassword: true,
  factors: NO_FACTORS,
  signIns: SIGN_INS,
} as const;

const RECOVERY_CODES = Array.from({ length: 10 }, (_, at) => `k7mq-2xw${at}-p4rt-zzh3`);

const EMAIL_CODE: EmailCodeView = {
  ...{ ...FORM, application: PHOTOS, typed: 'alice@example.com', back: '/login?password' },
};

const SECOND: SecondView = {
  ...FORM,
  application: PHOTOS,
  person: ALICE,
  changePerson: '/login',
  takesCode: true,
  takesRecoveryCode: true,
};

const LINK: LinkView = {
  ...FORM,
  purpose: 'reset',
  address: 'alice@example.com',
  minLength: 12,
  isAsked: false,
  username: 'alice',
};

const OF_ACCOUNT: ProvidersOfAccount = {
  base: '/upstream',
  linked: [
    {
      ...{ id: 'link-1', provider: 'google', name: 'Google', label: 'alice@gmail.example' },
      linkedAtMs: Date.UTC(2026, 9, 1),
    },
  ],
  others: [{ id: 'staff', name: 'Musterstadt' }],
  nowMs: Date.UTC(2026, 10, 1),
};

const unlockButton = (texts: Texts) => actLink(USERS, 'unlock', '/console', { sub: 'xT2a9' }, texts);

const CONSOLE = {
  ...{ base: '/console', formToken: 'form-token', person: { name: 'alice' }, signOut: '/logout' },
  ...{ health: 'ready' as const, nowMs: NOW_MS },
} as const;

const USER_COLUMNS = [
  { title: 'Username', size: 'large', sort: 'username' },
  { title: 'Name' },
  { title: 'Email address', size: 'large' },
  ...['Second factor', 'Groups'].map((title) => ({ title })),
  { title: 'Last sign-in', size: 'small' },
  { title: 'Added', size: 'small', sort: 'created_at' },
] as const;

const DAY_MS = 24 * HOUR_MS;

const EPOCH = new Date(0).toISOString();

const LONG_NAME = 'Nightly export of the documentation to the archive on build-machine-17.example.com';
const TOKEN_APIS = [
  { resource: 'https://docs.example.com', name: 'Documentation' },
  {
    resource: 'https://api.example.com/a/very/long/path/to/an/api',
    name: 'https://api.example.com/a/very/long/path/to/an/api',
  },
];
const TOKEN_SCOPES = [
  { scope: 'docs:read', title: 'Read documents', detail: 'Also those that others have shared with you.' },
  { scope: 'docs:write', title: 'docs:write' },
];
const TOKEN_FORM: TokenFormShown = {
  ...{ resource: 'https://docs.example.com', api: 'Documentation', scopes: TOKEN_SCOPES },
  ...{ lifetimes: [604_800, 2_592_000, 31_622_400], binding: 'none' },
  typed: { name: '', scopes: ['docs:read'], lifetime: Number.NaN, binding: '' },
};
const TOKENS: OwnTokensView = {
  ...{ ...ACCOUNT, current: 'tokens', hasTokens: true },
  tokens: [
    {
      ...{ id: 'one', name: LONG_NAME, api: 'Documentation', scopes: TOKEN_SCOPES, isBound: true },
      ...{ createdAtMs: NOW_MS - 86_400_000, expiresAtMs: NOW_MS + 86_400_000, lastUsedMs: NOW_MS },
    },
  ],
  apis: TOKEN_APIS.slice(0, 1),
  form: TOKEN_FORM,
  ...{ mayMake: true, hasUnsaved: false, isAdmitted: true, isFull: false, nowMs: NOW_MS },
};

function withoutForm({ form: _, ...view }: OwnTokensView): OwnTokensView {
  return view;
}

const CONSOLE_GRANT = {
  ...{ id: 'g1', client_id: 'photos/web', created_at: new Date(NOW_MS - 3 * DAY_MS).toISOString() },
  scopes: ['openid', 'photos:read'],
  resources: ['https://api.example/photos'],
};

const CONSOLE_GROUP = {
  ...{
    name: 'admins',
    description: 'Operators of this server',
    created_at: new Date(NOW_MS - 90 * DAY_MS).toISOString(),
    members: 2,
    clients: ['payroll', 'wiki'],
  },
};

/** A quiet hour with a wave, and a burst of guessed secrets. */
const IMPORTED = {
  counts: { imported: 3120, updated: 4, unchanged: 0, skipped: 2, exists: 1, failed: 30 },
  refused: [
    {
      ...{ line: 17, username: 'carol', outcome: 'failed' as const },
      reasons: [new ImportFault('no_group', 'x'), new ImportFault('created_at')],
    },
  ],
  added: [
    { username: 'ada', email: 'ada@example.com', groups: ['staff'] },
    { username: 'bob', groups: [] },
  ],
  refusals: {
    first: [
      { fault: new ImportFault('no_group', 'x'), users: 30 },
      { fault: new ImportFault('created_at'), users: 1 },
    ],
    more: 0,
  },
  leftOut: { first: [{ fault: new ImportFault('credential_left_out', 'webauthn'), users: 312 }], more: 0 },
  administrators: { become: { count: 1, usernames: ['dora'] } },
};

const STATE_PLAN = {
  changes: [
    { action: 'add' as const, kind: 'group' as const, name: 'staff', members: [] },
    {
      ...{ action: 'change' as const, kind: 'client' as const, name: 'notes' },
      members: [{ name: 'scope', before: 'openid', after: 'openid email' }],
    },
    { action: 'remove' as const, kind: 'scope' as const, name: 'notes:read', members: [] },
  ],
  unchanged: 12,
  consequences: {
    ends: { tokens: 4, grants: 2, sessions: 1, users: 2 },
    narrows: { tokens: 0, grants: 0, sessions: 0, users: 0 },
    has_more: false,
  },
  administrators: {
    become: { count: 12, usernames: ['ada', 'bob', 'cyd'] },
    stop: { count: 2, usernames: ['dan', 'eve'] },
  },
};

const TRIAL_NEEDS = { issuer: 'https://login.example.com', isAtIssuer: true };

const TRIED_CLIENT = {
  ...{ client_id: 'notes', type: 'public' as const, registered_itself: false, client_name: 'Notes' },
  grant_types: ['authorization_code' as const, 'refresh_token' as const],
  scope: 'openid email phone photos:read',
  redirect_uris: ['https://notes.example/', 'https://login.example.com/console/try'],
};

export const CONSOLE_SAMPLES = Array.from({ length: 360 }, (_, at): HistorySample => {
  const wave = 1 + 0.6 * Math.sin(at / 40) + 0.12 * Math.sin(at * 1.7) + 0.08 * Math.cos(at * 4.1);
  const isBurst = at > 250 && at < 270;
  return {
    ...{ atMs: NOW_MS - HOUR_MS + at * 10_000, seconds: 10 },
    requests: {
      introspection: Math.round(420 * wave),
      token: Math.round(60 * wave) + (isBurst ? 150 : 0),
      userinfo: Math.round(35 * wave),
      revocation: Math.round(4 * wave),
      other: Math.round(22 * wave),
    },
    refusals: {
      expired: Math.round(3 * wave),
      client_secret_wrong: isBurst ? 150 : Math.round(wave),
      scope_missing: at % 7 === 0 ? 1 : 0,
    },
    clients: {
      'photos/web': {
        requests: Math.round(60 * wave) + (isBurst ? 150 : 0),
        refusals: {
          expired: Math.round(3 * wave),
          client_secret_wrong: isBurst ? 150 : Math.round(wave),
        },
      },
      '': { requests: 3, refusals: { client_unknown: 1 } },
    },
    latencies: [90, 220, 120, 40, 12, 6, 2, isBurst ? 12 : 1].map((count) => Math.round(count * wave)),
    storage: [380, 160, 40, 8, 2, isBurst ? 3 : 0].map((count) => Math.round(count * wave)),
    ...{ storageFaults: 0, issued: Math.round(70 * wave), revocations: Math.round(4 * wave) },
    sweptRows: at % 30 === 0 ? 310 : 0,
    failedSignIns: 0,
  };
});

const CONSOLE_KEYS = [
  {
    ...({ algorithm: 'ES256', status: 'current' } as const),
    ...{
      kid: 'wW3pV0rXBu0M4dSHmH4mTrcvzM9k2W0mPDXyHEBq3QY',
      created_at: new Date(NOW_MS - 30 * DAY_MS).toISOString(),
    },
  },
  {
    ...({ algorithm: 'ES256', status: 'next' } as const),
    ...{
      kid: '1hqWc4WbJm3cW0Yb7mXw5zWvYFz5nJb1Rr0uVqT9y2E',
      created_at: new Date(NOW_MS - 2 * DAY_MS).toISOString(),
    },
  },
  {
    ...({ algorithm: 'ES256', status: 'retired' } as const),
    ...{
      kid: 'Zq0T5sK2yMhXw1c9EJr7pBv3uLd8oGf4aNi6RtUeSxY',
      created_at: new Date(NOW_MS - 90 * DAY_MS).toISOString(),
      retired_at: new Date(NOW_MS - 2 * DAY_MS).toISOString(),
    },
  },
];

const CONSOLE_USER = {
  ...{ sub: 'xT2a9', username: 'bob', created_at: new Date(NOW_MS - 60 * DAY_MS).toISOString() },
  has_password: true,
  ...{ claims: { name: 'Bob Builder', email: 'bob@example.com', email_verified: true }, groups: ['staff'] },
};

const CONSOLE_SIGN_IN = {
  factors: {
    passkeys: [{ id: 'k1', name: 'Phone', added_at: EPOCH, backed_up: true }],
    security_keys: [{ id: 'k2', name: 'Key ring', added_at: EPOCH }],
    ...{ authenticator_app_added_at: EPOCH, recovery_codes: 8, count_from: EPOCH },
  },
  links: [
    {
      ...{ id: 'link-1', provider: 'company', issuer: 'https://idp.example', upstream_sub: 'U-1' },
      ...{ label: 'bob@idp.example', linked_at: EPOCH },
    },
  ],
  locks: [{ step: 'password' as const, places: 2, ends_at: EPOCH }],
};

/** What the form of a new application does not have. */
const MEMBERS_OF_LATER = Object.keys(Object(CLIENT_CHANGE.properties)).filter(
  (name) => !['client_name', 'redirect_uris', 'scope'].includes(name),
);

/** A form with what makes its fields, because samples change texts and nothing else. */
interface FormSample extends Omit<ActFormView, 'fields' | 'typed' | 'problems' | 'others' | 'opened'> {
  readonly schema: Schema;
  readonly spec: FormSpec;
  readonly values: object;
  readonly wrong: Readonly<Record<string, ShownProblem>>;
  /** What others have stored meanwhile. */
  readonly now?: { readonly stored: object; readonly adopted: readonly string[] };
}

type FramedSample = Parameters<typeof problemFrame>[0] & {
  readonly problem: Parameters<typeof problemFrame>[2];
};

function framedSample({ problem, ...view }: FramedSample, setting: PageSetting): Page {
  return problemFrame(view, setting, problem);
}

function formSample({ schema, values, now, wrong, ...view }: FormSample, setting: PageSetting): Page {
  const { spec } = view;
  const fields = fieldsOf(schema, spec, values);
  const shown = { fields, typed: typedOf(fields, values, spec), problems: new Map(Object.entries(wrong)) };
  const others = now && { stored: new Map(Object.entries(now.stored)), adopted: new Set(now.adopted) };
  return actFormPage({ ...view, ...shown, ...(others && { others, ...others }), opened: 'sealed' }, setting);
}

const EXCHANGED_TOKEN = {
  ...{ id: 'PEDuVFW2P9zSRr_Y8fYyPA', client_id: 'photos/web', sub: 'xT2a9' },
  ...{ scopes: ['openid', 'photos:read'], issued_at: new Date(NOW_MS - 3 * DAY_MS).toISOString() },
  ...{ expires_at: new Date(NOW_MS + 27 * DAY_MS).toISOString(), grant_id: 'tP1zGJmMZ5rXgXqkQ3bQGg' },
  session_id: 'oX2hU3a7kRr2bQm0lVt9xQ',
};

const CONSOLE_TOKEN = { ...EXCHANGED_TOKEN, family_id: 'b5r0sYqmJ8Y2nDq6nL6kJw', pair_id: 'pair-1' };

/** Names of users and clients that pages of the console know. */
const KNOWN = {
  nowMs: NOW_MS,
  adminGroup: 'admins',
  names: {
    user: (subject: string) =>
      new Map([
        ['xT2a9', 'bob'],
        ['xT2a1', 'alice'],
      ]).get(subject),
    client: (id: string) => new Map([['photos/web', 'Photos']]).get(id),
    keyAlgorithm: () => 'RS256',
  },
};

const EXPLAINED: ExplainedView = {
  ...{ ...CONSOLE, ...KNOWN },
  ...{ current: 'tokens', sealed: 'sealed' },
  explanation: { ...{ kind: 'refresh_token', active: true, user: 'bob' }, record: CONSOLE_TOKEN },
};

/** A refresh token after its rotation. */
const EXPLAINED_DEAD: ExplainedView = {
  ...EXPLAINED,
  explanation: {
    ...EXPLAINED.explanation,
    ...{ active: false, reason: 'superseded', since: new Date(NOW_MS - DAY_MS).toISOString() },
    explanation: 'The refresh token was rotated; its successor is current.',
    record: { ...CONSOLE_TOKEN, successor_id: 'Yk0S3u7rC2u5u1Wq8cHn4A' },
  },
};

const ISSUED: AuditEventView = {
  ...{
    number: 1,
    type: 'token_issued',
    at: new Date(NOW_MS - 3 * DAY_MS).toISOString(),
    actor: 'client:photos/web',
  },
  ...{ target: CONSOLE_TOKEN.id, subject: 'xT2a9', client_id: 'photos/web' },
};

/** One event of each type, and what they seldom have. */
const AUDIT_EVENTS: readonly AuditEventView[] = EVENT_TYPES.map((type, at) => ({
  ...{ number: 1000 - 2 * at, at: new Date(NOW_MS - at * HOUR_MS).toISOString(), type },
  ...{ target: at % 3 === 0 ? 'photos/web' : 'xT2a9', subject: 'xT2a9', client_id: 'photos/web' },
  ...{ actor: ['cli', 'console:xT2a1', 'api:orders/xT2a1', 'user:xT2a9'][at % 4] ?? 'server' },
  ...(at % 2 === 0 && { address: '2001:db8:85a3:8d3:1319:8a2e:370:7348' }),
  ...(type === 'sign_in_failed' && { reason: 'password_cut_off' }),
}));

const FOLDED = { continues: false, filter: { request: 'Vn3B0mXo-2a-0' } };
const OF_IMPORT = [
  { kind: 'people_imported', count: 4999 },
  { kind: 'group_member_added', count: 4999 },
] as const;

/** Rows of several events: an import, one that also adds an administrator, and failures of one user. */
const FOLDED_ROWS: readonly EventRow[] = AUDIT_EVENTS.flatMap((single): readonly EventRow[] => {
  const event = { ...single, number: single.number - 1 };
  switch (event.type) {
    case 'people_imported':
      return [{ ...FOLDED, event, kinds: OF_IMPORT }];
    case 'group_member_added':
      return [
        {
          ...FOLDED,
          event,
          kinds: [{ kind: 'administrator_made', count: 1 }, ...OF_IMPORT],
          continues: true,
        },
      ];
    case 'sign_in_failed':
      return [
        {
          event,
          kinds: [{ kind: event.type, count: 12 }],
          sinceAt: hourBefore(event),
          filter: { user: 'xT2a9' },
        },
      ];
    default:
      return [];
  }
});

function hourBefore({ at }: AuditEventView): string {
  return new Date(Date.parse(at) - HOUR_MS).toISOString();
}

function newestFirst(rows: readonly EventRow[]): readonly EventRow[] {
  return rows.toSorted((one, other) => other.event.number - one.event.number);
}

const SAMPLES: readonly Sample[] = [
  sample('sign_in', signInPage, SIGN_IN),
  sample('theme', signInPage, SIGN_IN, THEMED),
  sample('theme_account', overviewPage, ACCOUNT, THEMED),
  sample('sign_in_wrong', signInPage, { ...SIGN_IN, username: 'alice', problem: 'credentials_wrong' }),
  sample('sign_in_expired', signInPage, { ...SIGN_IN, username: 'alice', problem: 'password_expired' }),
  sample('sign_in_restricted', signInPage, { ...SIGN_IN, username: 'alice', problem: 'sign_in_restricted' }),
  sample('sign_in_wait', signInPage, {
    ...SIGN_IN,
    username: 'alice',
    problem: 'too_many_attempts',
    secondsToWait: 290,
  }),
  sample('sign_in_disabled', signInPage, { ...SIGN_IN, username: 'alice', problem: 'account_disabled' }),
  sample('sign_in_busy', signInPage, {
    ...{ ...SIGN_IN, username: 'alice', problem: 'too_many_sign_ins', secondsToWait: 5 },
  }),
  sample('sign_in_again', signInPage, { ...SIGN_IN, username: 'alice', again: AGAIN }),
  sample('sign_in_account', signInPage, { ...FORM, username: '' }, OPERATOR),
  sample('sign_in_all_ways', signInPage, { ...SIGN_IN, forgot: '/forgot', signUp: '/sign-up' }, OPERATOR),
  sample('sign_in_providers', signInPage, { ...SIGN_IN, forgot: '/forgot', providers: PROVIDERS }, OPERATOR),
  sample('sign_in_provider_logo', signInPage, {
    ...SIGN_IN,
    providers: PROVIDERS.map((one) => (one.kind === 'generic' ? { ...one, logo: ARMS } : one)),
  }),
  sample('sign_in_name_first', signInPage, { ...SIGN_IN, asksOnlyName: true, providers: PROVIDERS }),
  sample('sign_in_long', signInPage, { ...SIGN_IN, application: LONG }, OPERATOR),
  sample('sign_in_unchecked', signInPage, { ...SIGN_IN, application: STRANGER }, OPERATOR),
  ...COLORS.map(([name, color]) =>
    sample(`sign_in_${name}`, signInPage, SIGN_IN, { name: `${name} pages`, color }),
  ),
  sample('choose_account', chooseAccountPage, {
    ...FORM,
    application: PHOTOS,
    person: ALICE,
    otherAccount: '/login',
  }),
  sample('consent', consentPage, CONSENT),
  sample('denied', deniedPage, {
    ...FORM,
    application: PHOTOS,
    person: ALICE,
    otherAccount: '/login',
  }),
  sample('choose_account_unchecked', chooseAccountPage, {
    ...FORM,
    application: STRANGER,
    person: ALICE,
    otherAccount: '/login',
  }),
  sample('consent_unchecked', consentPage, { ...CONSENT, application: STRANGER }),
  sample('consent_right_to_left', consentPage, {
    ...CONSENT,
    application: RIGHT_TO_LEFT,
    person: LONG_PERSON,
  }),
  sample('consent_small', consentPage, { ...CONSENT, access: { scopes: ['openid'] } }),
  sample('consent_everything', consentPage, EVERYTHING, OPERATOR),
  sample('consent_only_own_scopes', consentPage, { ...CONSENT, access: { scopes: ['read', 'write'] } }),
  sample('consent_device', consentPage, OF_DEVICE),
  sample('consent_device_unchecked', consentPage, { ...OF_DEVICE, application: STRANGER }),
  sample('consent_details', consentPage, { ...CONSENT, access: { scopes: ['openid'], details: [PAYMENT] } }),
  sample('sign_in_device', signInPage, { ...FORM, username: '', lead: 'toDevice' }),
  sample('device', devicePage, { ...FORM, typed: '' }),
  sample('device_by_link', devicePage, { ...FORM, typed: 'WDJB-MJHT' }, OPERATOR),
  sample('device_wrong', devicePage, {
    ...{ ...FORM, typed: 'WDJB-MJHX' },
    problem: { reason: 'device_code_wrong' },
  }),
  sample('device_wait', devicePage, {
    ...{ ...FORM, typed: 'WDJB-MJHX' },
    problem: { reason: 'too_many_device_codes', secondsToWait: 290 },
  }),
  ...(['approved', 'denied'] as const).map((outcome) =>
    sample(`device_${outcome}`, (_: object, setting) => deviceDonePage(outcome, setting), {}),
  ),
  sample('logout', logoutPage, { ...FORM, person: ALICE, application: PHOTOS }),
  sample('logout_unasked', logoutPage, { ...FORM, person: ALICE }, OPERATOR),
  sample('logout_unchecked', logoutPage, { ...FORM, person: ALICE, application: STRANGER, staysHere: true }),
  sample('signed_out', signedOutPage, { signIn: '/account' }),
  sample('signed_out_pending', signedOutPage, {
    applications: [
      { application: PHOTOS, state: 'notified' },
      { application: { name: 'Mail' }, state: 'pending' },
      { application: { name: 'Calendar' }, state: 'notNotified' },
      { application: STRANGER, state: 'notNotified' },
    ],
    signIn: '/account',
  }),
  sample('signed_out_leaving', signedOutPage, { leaving: LEAVING, signIn: '/account' }),
  sample('leaving', leavingPage, { leaving: LEAVING, home: '/' }, OPERATOR),
  sample('leaving_by_form', leavingPage, {
    leaving: { redirectTo: 'com.example.app:/callback', formPost: { error: 'access_denied', state: 'x' } },
    home: '/',
  }),
  sample('still_signed_in', stillSignedInPage, { person: ALICE, account: '/account' }),
  sample('account', overviewPage, ACCOUNT),
  sample(
    'account_ended',
    overviewPage,
    { ...ACCOUNT, notice: { done: 'access_ended', application: 'Mail' } },
    OPERATOR,
  ),
  sample('account_ended_unchecked', overviewPage, {
    ...ACCOUNT,
    notice: { done: 'access_ended', application: STRANGER.name, isUnchecked: true },
  }),
  sample('account_empty', overviewPage, {
    ...ACCOUNT,
    profile: { username: 'alice' },
    applications: [],
    sessions: ACCOUNT.sessions.slice(0, 1),
  }),
  sample('account_sessions', sessionsPage, { ...ACCOUNT, current: 'sessions' }),
  sample('account_applications', applicationsPage, { ...ACCOUNT, current: 'applications' }),
  sample('account_no_applications', applicationsPage, {
    ...ACCOUNT,
    current: 'applications',
    applications: [],
  }),
  ...ACCOUNT.applications
    .filter(({ clientId }) => clientId === 'photos' || clientId === 'assistant')
    .map((application) =>
      sample(application.acts === undefined ? 'account_end_access' : 'account_end_acting', endAccessPage, {
        ...ACCOUNT,
        current: 'applications',
        application,
      }),
    ),
  sample('account_tokens', ownTokensPage, TOKENS),
  sample('account_tokens_new', ownTokensPage, {
    ...TOKENS,
    hasUnsaved: true,
    tokens: TOKENS.tokens.map((token) => ({
      ...token,
      value: 'grantd_pat_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG',
    })),
    form: { ...TOKEN_FORM, binding: 'dpop' },
    problem: 'binding_wrong',
  }),
  sample('account_tokens_confirm', ownTokensPage, { ...TOKENS, mayMake: false, hasUnsaved: true }),
  sample('account_tokens_full', ownTokensPage, { ...TOKENS, isFull: true }),
  sample('account_tokens_choose', ownTokensPage, { ...withoutForm(TOKENS), tokens: [], apis: TOKEN_APIS }),
  sample('account_tokens_not_allowed', ownTokensPage, { ...TOKENS, tokens: [], isAdmitted: false }),
  sample('account_tokens_no_api', ownTokensPage, { ...withoutForm(TOKENS), tokens: [], apis: [] }),
  sample('account_end_token', endTokenPage, { ...TOKENS, ending: { id: 'one', name: LONG_NAME } }),
  sample('account_security', securityPage, { ...SECURITY, forgot: '/forgot' }),
  sample('account_security_wrong', securityPage, { ...SECURITY, problem: 'credentials_wrong' }, OPERATOR),
  sample('account_security_common', securityPage, { ...SECURITY, problem: 'password_common' }),
  sample('account_security_no_password', securityPage, {
    ...{ ...SECURITY, hasNoPassword: true, providers: OF_ACCOUNT },
  }),
  sample('account_security_directory', securityPage, { ...SECURITY, isOfDirectory: true, signIns: [] }),
  sample('account_security_providers', securityPage, { ...SECURITY, providers: OF_ACCOUNT }),
  sample('account_security_connect', securityPage, {
    ...SECURITY,
    providers: { ...OF_ACCOUNT, waiting: { id: 'staff', name: 'Musterstadt', label: 'alice@example.com' } },
  }),
  sample('account_security_needed', securityPage, {
    ...SECURITY,
    providers: { ...OF_ACCOUNT, others: [], problem: 'provider_needed' },
  }),
  sample('account_security_factors', securityPage, { ...SECURITY, factors: FACTORS }),
  sample('account_security_factor_needed', securityPage, {
    ...SECURITY,
    factors: { ...NO_FACTORS, isNeeded: true },
  }),
  sample('account_security_added', securityPage, {
    ...SECURITY,
    factors: { ...FACTORS, hasUnsavedCodes: true, notice: 'passkey_added' },
  }),
  sample('account_security_recovered', securityPage, {
    ...SECURITY,
    factors: {
      ...FACTORS,
      passkeys: {
        list: (FACTORS.passkeys?.list ?? []).map((one) => ({ ...one, countsFromMs: NOW_MS + 23 * HOUR_MS })),
      },
      totpCountsFromMs: NOW_MS + 2 * HOUR_MS,
    },
  }),
  sample('account_security_refused', securityPage, {
    ...SECURITY,
    factors: { ...FACTORS, notice: 'passkey_refused' },
  }),
  sample('account_security_old', securityPage, {
    ...{ ...SECURITY, mayChangePassword: false },
    factors: { ...FACTORS, mayChange: false, passkeys: { list: FACTORS.passkeys?.list ?? [] } },
  }),
  ...[false, true].map((isWrong) =>
    sample(isWrong ? 'account_totp_wrong' : 'account_totp', totpPage, {
      ...{ ...ACCOUNT, current: 'security' },
      ...{ ...FORM, isWrong },
      offer: {
        sealed: 'sealed',
        secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
        uri: 'otpauth://totp/login.example.com:alice?issuer=login.example.com&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&algorithm=SHA1&digits=6&period=30',
      },
    }),
  ),
  sample('account_recovery_codes', recoveryCodesPage, {
    ...{ ...ACCOUNT, current: 'security' },
    ...FORM,
    codes: RECOVERY_CODES,
  }),
  sample('sign_in_code', signInPage, { ...SIGN_IN, forgot: '/forgot', emailCode: { action: '/login/code' } }),
  sample('sign_in_code_first', signInPage, {
    ...{ ...SIGN_IN, takesAddress: true },
    emailCode: { action: '/login/code', passwordUrl: '/login?password' },
  }),
  sample('email_code', emailCodePage, EMAIL_CODE),
  sample('email_code_wrong', emailCodePage, { ...EMAIL_CODE, problem: 'code_wrong' }, OPERATOR),
  sample('email_code_guessed', emailCodePage, { ...EMAIL_CODE, problem: 'code_guessed' }),
  sample('email_code_other', emailCodePage, { ...EMAIL_CODE, problem: 'another_person' }),
  sample('email_code_wait', emailCodePage, {
    ...{ ...EMAIL_CODE, application: STRANGER, problem: 'too_many_attempts', secondsToWait: 290 },
  }),
  sample('second_code', secondPage, SECOND),
  sample('second_code_wrong', secondPage, { ...SECOND, problem: 'code_wrong' }, OPERATOR),
  sample('second_recovery_wrong', secondPage, { ...SECOND, problem: 'recovery_code_wrong' }),
  sample('second_wait', secondPage, { ...SECOND, problem: 'too_many_codes', secondsToWait: 290 }),
  sample('second_all', secondPage, {
    ...{ ...SECOND, challenge: CHALLENGE },
  }),
  sample('second_unchecked', secondPage, { ...SECOND, application: STRANGER }),
  sample('second_passkey', secondPage, {
    ...{ ...SECOND, challenge: CHALLENGE, takesCode: false, takesRecoveryCode: false },
  }),
  sample('second_security_key', secondPage, {
    ...{ ...SECOND, challenge: CHALLENGE, keys: 'securityKey' },
  }),
  sample('second_passkey_lost', secondPage, {
    ...{ ...SECOND, challenge: CHALLENGE, takesCode: false, problem: 'passkey_waits' },
  }),
  sample('sign_in_elsewhere', signInPage, {
    ...{ ...SIGN_IN, asksOnlyName: true, username: 'ada@corp.example', problem: 'password_not_asked' },
  }),
  sample('sign_in_passkey', signInPage, { ...SIGN_IN, challenge: CHALLENGE, forgot: '/forgot' }),
  sample('sign_in_passkey_refused', signInPage, {
    ...{ ...SIGN_IN, challenge: CHALLENGE, problem: 'passkey_refused' },
  }),
  sample('account_email', emailPage, { ...ACCOUNT, current: 'email', email: 'alice@example.com' }),
  sample('account_email_invalid', emailPage, {
    ...{ ...ACCOUNT, current: 'email', email: 'alice', problem: 'address_invalid' },
  }),
  sample('account_email_sent', overviewPage, { ...ACCOUNT, notice: { done: 'link_sent' } }),
  sample('account_email_changed', overviewPage, { ...ACCOUNT, notice: { done: 'email_confirmed' } }),
  sample('account_long', overviewPage, {
    ...{ ...ACCOUNT, person: LONG_PERSON },
    profile: {
      ...{ username: 'alexandra.konstantinopoulou-von-hohenzollern', fullName: LONG_PERSON.name },
      email: { address: LONG_PERSON.detail, isVerified: false },
    },
  }),
  sample('account_email_confirm', emailPage, {
    ...{ ...ACCOUNT, current: 'email', email: 'alice@example.com', confirm: 'alice@example.net' },
  }),
  sample('account_data', dataPage, { ...DATA }),
  sample('account_data_old', dataPage, { ...DATA, mayDelete: false }),
  sample('account_data_without_password', dataPage, { ...DATA, hasNoPassword: true }),
  sample('account_data_kept_elsewhere', dataPage, { ...DATA, isKeptElsewhere: true }),
  sample('account_data_unconfirmed', dataPage, { ...DATA, problem: 'not_confirmed' }),
  sample('account_removed', accountRemovedPage, { home: '/' }),
  sample('forgot', forgotPage, { ...FORM, typed: '', back: '/account' }),
  sample('forgot_wait', forgotPage, {
    ...{ ...FORM, typed: 'alice', back: '/account', secondsToWait: 3000 },
  }),
  sample('forgot_sent', mailSentPage, { kind: 'forgot', back: '/account' }),
  sample('sign_up', signUpPage, {
    ...{ ...FORM, typed: '', back: '/account', domains: ['example.com', 'example.org'] },
  }),
  sample('sign_up_refused', signUpPage, {
    ...{ ...FORM, typed: 'alice', back: '/account', problem: 'address_invalid' },
  }),
  sample('link_reset', linkFormPage, LINK),
  sample('link_reset_elsewhere', linkFormPage, { ...LINK, isAsked: true, username: '' }, OPERATOR),
  sample('link_reset_foreign', linkFormPage, {
    ...{ ...LINK, isAsked: true, username: 'bob', problem: 'link_foreign' },
  }),
  sample('link_reset_wait', linkFormPage, {
    ...{ ...LINK, isAsked: true, username: 'bob', problem: 'too_many_attempts', secondsToWait: 290 },
  }),
  sample('link_reset_short', linkFormPage, { ...LINK, problem: 'password_short' }),
  sample('link_invite', linkFormPage, { ...LINK, purpose: 'invite' }),
  sample('link_sign_up', linkFormPage, { ...LINK, purpose: 'sign_up', isAsked: true, username: '' }),
  sample('link_sign_up_taken', linkFormPage, {
    ...{ ...LINK, purpose: 'sign_up', isAsked: true, problem: 'name_taken' },
  }),
  sample('link_done', linkDonePage, { purpose: 'reset', signIn: '/account' }),
  sample('mailbox', mailboxPage, {
    here: '/demo/mailbox',
    mails: [
      {
        to: 'alice@example.com',
        subject: 'Reset your password for login.example.com',
        text: 'Hello alice,\n\nChoose a new password:\nhttps://login.example.com/link?token=Zm9yIHRoZSBwaWN0dXJl\n\nThe link works once, for 30 minutes.\n',
      },
    ],
  }),
  ...PROVIDER_PROBLEMS.map((problem) =>
    sample(`provider_${problem}`, providerProblemPage, {
      ...{ problem, provider: 'Musterstadt', back: '/login?pending=x', requestId: REQUEST_ID },
      ...(problem === 'not_linked' && { label: 'alice@example.com', connect: '/upstream/staff/connect' }),
    }),
  ),
  sample('home', homePage, {
    issuer: 'https://login.example.com',
    metadata: '/.well-known/openid-configuration',
    account: '/account',
  }),
  sample('console', consolePage, {
    ...{ ...CONSOLE, ...KNOWN, current: 'overview', troubles: [], topics: ['database', 'clock', 'requests'] },
    ...{ changes: newestFirst([...FOLDED_ROWS, ...singleRows(AUDIT_EVENTS.slice(0, 1))]), allChanges: 4 },
    issuer: 'https://login.example.com',
    keys: CONSOLE_KEYS,
    isShared: true,
    counts: { clients: 3, groups: 2, users: 50_000, active_tokens: 1234 },
    samples: CONSOLE_SAMPLES,
  }),
  sample('console_troubled', consolePage, {
    ...{ ...CONSOLE, ...KNOWN, current: 'overview', topics: ['database', 'clock', 'requests', 'mails'] },
    troubles: [
      { code: 'clock_wrong', count: 312 },
      { code: 'sign_ins', count: 120 },
      { code: 'registrations', count: 9_100 },
      { code: 'certificate', count: 1 },
      { code: 'mails_delayed', count: 3 },
      {
        ...{ code: 'client', count: 200 },
        refused: {
          ...{ answer: 'refused', clientId: 'photos/web', requests: 230 },
          reasons: [
            {
              ...{ answer: 'refused', reason: 'client_secret_wrong' },
              ...{ count: 180, lastAtMs: NOW_MS - 60_000 },
            },
            {
              ...{ answer: 'refused', reason: 'scope_not_allowed' },
              ...{ count: 20, lastAtMs: NOW_MS - 400_000 },
            },
          ],
        },
      },
      {
        ...{ code: 'inactive_answers', count: 12 },
        refused: {
          ...{ answer: 'inactive', clientId: 'photos/web', requests: 12 },
          reasons: [{ answer: 'inactive', reason: 'bad_signature', count: 12, lastAtMs: NOW_MS - 60_000 }],
        },
      },
    ],
    changes: [],
    issuer: 'https://login.example.com',
    keys: CONSOLE_KEYS,
    ...{ isShared: false, countedSeconds: 80 },
    counts: { clients: 3, groups: 2 },
    samples: CONSOLE_SAMPLES.slice(-8),
  }),
  sample('console_help', helpPage, { ...CONSOLE, current: 'help', about: '' }),
  ...['key_old', 'too_many_requests', 'no_such_code'].map((about) =>
    sample(`console_help_${about}`, helpPage, { ...CONSOLE, current: 'help', about }),
  ),
  sample('console_tokens', tokensPage, { ...CONSOLE, current: 'tokens', problem: 'no_token' }),
  sample('console_tokens_issued', tokensPage, {
    ...{ ...CONSOLE, current: 'tokens' },
    list: {
      ...{ ...KNOWN, base: '/console', wish: { client: '', user: 'bob' } },
      pages: { previous: '/console/tokens?cursor=a', next: '/console/tokens?cursor=b' },
      tokens: [
        { id: CONSOLE_TOKEN.id, issued: ISSUED, found: EXPLAINED.explanation },
        { id: 'Yk0S3u7rC2u5u1Wq8cHn4A', issued: ISSUED, found: EXPLAINED_DEAD.explanation },
        {
          ...{
            id: 'b5r0sYqmJ8Y2nDq6nL6kJw',
            issued: { ...ISSUED, subject: 'gone', client_id: 'old-client' },
          },
          found: { kind: 'unknown', active: false, reason: 'no_record' },
        },
      ],
    },
  }),
  sample('console_tokens_none', tokensPage, {
    ...{ ...CONSOLE, current: 'tokens' },
    list: { ...KNOWN, base: '/console', wish: { client: '', user: '' }, tokens: [], pages: {} },
  }),
  sample('console_tokens_further', tokensPage, {
    ...{ ...CONSOLE, current: 'tokens' },
    list: {
      ...KNOWN,
      base: '/console',
      wish: { client: 'rare', user: '' },
      tokens: [],
      pages: { next: '/console/next' },
    },
  }),
  sample('console_token', explainedPage, EXPLAINED),
  sample('console_token_dead', explainedPage, EXPLAINED_DEAD),
  sample('console_token_ended', explainedPage, {
    ...EXPLAINED_DEAD,
    explanation: {
      ...EXPLAINED_DEAD.explanation,
      ...{ reason: 'revoked', explanation: 'The token was revoked.' },
      ended_by: {
        ...{ number: 9, at: EPOCH, type: 'token_revoked', target: 'Yk0S3u7rC2u5u1Wq8cHn4A' },
        ...{ actor: 'console:xT2a9', request_id: 'Vn3B0mXo7z4w9fTq2sLk1w' },
      },
    },
  }),
  sample('console_token_exchanged', explainedPage, {
    ...EXPLAINED,
    explanation: {
      ...{ kind: 'access_token', active: false, reason: 'ancestor_ended', user: 'bob', since: EPOCH },
      explanation: 'A token that it was obtained from has ended.',
      record: EXCHANGED_TOKEN,
      ancestors: [
        { kind: 'access_token', id: 'Yk0S3u7rC2u5u1Wq8cHn4A', client_id: 'photos/web', active: true },
        { kind: 'access_token', id: 'b5r0sYqmJ8Y2nDq6nL6kJw', active: false, reason: 'no_record' },
      ],
      descendants: [
        {
          kind: 'access_token',
          id: 'oX2hU3a7kRr2bQm0lVt9xQ',
          client_id: 'prints',
          active: false,
          reason: 'ancestor_ended',
        },
      ],
    },
  }),
  sample('console_revoke_token', revokeTokenPage, EXPLAINED),
  sample('console_search', searchPage, {
    ...{ ...CONSOLE, current: 'search', text: 'photo' },
    found: {
      users: { rows: [{ key: 'u1', name: 'photographer' }], count: 100, hasMore: true },
      clients: {
        rows: [{ key: 'photos', name: 'photos', details: ['Photo album'] }],
        count: 1,
        hasMore: false,
      },
      groups: { rows: [], count: 0, hasMore: false },
    },
  }),
  sample('console_users', usersPage, {
    ...{ ...CONSOLE, current: 'users', wish: { search: 'b', sort: 'username' } },
    pages: { first: '/console/users', previous: '/console/users?cursor=a', next: '/console/users?cursor=b' },
    columns: USER_COLUMNS,
    shortcuts: [
      { title: 'All', parameters: {} },
      { title: 'Administrators', parameters: { group: 'admins' } },
      { title: 'Disabled', parameters: { state: 'disabled' } },
      { title: 'Locked', parameters: { state: 'locked' } },
      { title: 'Without second factor', parameters: { factor: 'none' } },
    ],
    rows: [
      {
        key: 'xT2a8',
        name: 'barbara',
        cells: ['Barbara Baker', undefined, 'Passkey', 'admins', '2 hours ago', '11 Jan 2026'],
        badges: ['administrators'],
      },
      {
        ...{ key: 'xT2a9', name: 'bob', badges: ['disabled'] },
        cells: ['Bob Builder', 'bob@example.com', undefined, 'staff', 'yesterday', '3 days ago'],
      },
    ],
  }),
  sample('console_users_searched', usersPage, {
    ...{ ...CONSOLE, current: 'users', wish: { state: 'disabled' }, rows: [] },
    columns: USER_COLUMNS,
    pages: { next: '/console/users?state=disabled&cursor=b', lookedAt: 12_000 },
  }),
  sample('console_problem', framedSample, {
    ...{ ...CONSOLE, current: 'users', tools: CONSOLE },
    problem: { problem: 'form_foreign', ways: { ...WAYS, again: '/console/users' }, requestId: REQUEST_ID },
  }),
  sample('console_unavailable', framedSample, {
    ...{ ...CONSOLE, current: undefined, person: undefined },
    problem: {
      ...{ problem: 'unavailable', secondsToWait: 1, requestId: REQUEST_ID },
      ways: { ...WAYS, again: '/console/users' },
    },
  }),
  sample('console_not_administrator', framedSample, {
    ...{ ...CONSOLE, current: undefined },
    problem: { problem: 'not_administrator', ways: WAYS, requestId: REQUEST_ID },
  }),
  sample('console_bulk_group', askBulkPage, {
    ...{ ...CONSOLE, current: 'users', list: 'users', does: 'join', groups: ['admins', 'staff'] },
    plans: [
      { key: 'xT2a8', name: 'barbara' },
      { key: 'xT2a9', name: 'bob' },
    ],
  }),
  sample('console_bulk_ask', askBulkPage, {
    ...{ ...CONSOLE, current: 'users', list: 'users', does: 'disable' },
    plans: [
      { key: 'xT2a8', name: 'barbara', problem: { detail: 'an administrator cannot be disabled' } },
      { key: 'xT2a9', name: 'bob', change: { changes: true, sessions: 2 } },
      { key: 'xT2b1', name: 'carol', change: { changes: false } },
    ],
  }),
  sample('console_bulk_groups', askBulkPage, {
    ...{ ...CONSOLE, current: 'groups', list: 'groups', does: 'remove' },
    plans: [
      {
        ...{ key: 'interns', name: 'interns' },
        change: {
          ...{ changes: true, policy: 'second_factor' },
          members: { count: 12, names: ['anna', 'barbara', 'bob', 'carol', 'christopher'] },
        },
      },
      { key: 'old', name: 'old', change: { changes: true, members: { count: 0, names: [] } } },
      { key: 'staff', name: 'staff', problem: { detail: 'the client payroll is for the group staff' } },
    ],
  }),
  sample('console_bulk', bulkPage, {
    ...{ ...CONSOLE, current: 'users', list: 'users', does: 'disable' },
    outcomes: [
      { key: 'xT2a8', name: 'barbara', problem: { detail: 'an administrator cannot be disabled' } },
      { key: 'xT2a9', name: 'bob' },
    ],
  }),
  sample('console_user', userPage, {
    ...{ ...CONSOLE, current: 'users', user: CONSOLE_USER, notice: 'user_enabled' },
    sessions: [{ id: 's1', user_agent: '', signed_in_at: EPOCH, last_seen_at: EPOCH }],
    client: (id: string) => (id === 'notes' ? { name: 'Notes', registeredAt: 0 } : undefined),
    issuedAt: (id: string) => (id === 'photos/web' ? NOW_MS - 3_600_000 : undefined),
    consents: [
      {
        client_id: 'notes',
        entries: [
          {
            ...{ scopes: ['email'], resources: ['https://calendar.example.com'], claims: [] },
            ...{ authorization_details: [], given_at: EPOCH },
          },
        ],
      },
      {
        client_id: 'photos/web',
        entries: [
          {
            ...{ scopes: ['openid', 'photos:read', 'photos:write'], resources: [], claims: [] },
            ...{ authorization_details: [], given_at: CONSOLE_GRANT.created_at },
          },
        ],
      },
    ],
    ...{ adminGroup: 'admins', isOwn: false, nowMs: NOW_MS },
    ...CONSOLE_SIGN_IN,
    grants: [
      CONSOLE_GRANT,
      { ...CONSOLE_GRANT, id: 'g2', client_id: 'personal-tokens', scopes: ['docs:read'] },
    ],
    acting: [
      {
        ...{ client_id: 'assistant', applications: ['photos', 'notes'], scopes: ['calendar:read'] },
        ...{ resources: ['https://calendar.example.com'], agent: true },
        ...{ active: true, since: EPOCH, last_used_at: EPOCH },
      },
    ],
    tokens: [
      {
        ...{ id: 'g2', sub: CONSOLE_USER.sub, name: 'CI', resource: 'https://docs.example.com' },
        ...{ scopes: ['docs:read'], bound: false, created_at: EPOCH, expires_at: EPOCH, last_used_at: EPOCH },
      },
    ],
  }),
  sample('console_administrator', userPage, {
    ...{ ...CONSOLE, current: 'users', adminGroup: 'admins' },
    user: { ...CONSOLE_USER, groups: ['admins'], disabled_at: EPOCH },
    ...{ sessions: [], consents: [], grants: [], acting: [], tokens: [], nowMs: NOW_MS, isOwn: true },
    ...{ client: () => undefined, issuedAt: () => undefined },
    ...{ links: [], locks: [], factors: { passkeys: [], security_keys: [], recovery_codes: 0 } },
  }),
  sample('console_end_application', questionPage, {
    ...{ ...CONSOLE, current: 'users', page: 'users', act: 'end_application', name: 'bob', other: 'Photos' },
    ...{ given: { sub: 'xT2a9', client: 'photos/web' } },
    facts: [
      ['Client', 'photos/web'],
      ['Scopes and APIs', 'photos:read https://api.example/photos'],
      ['Grants that end', '1'],
      ['Active tokens', '2'],
      ['Consent', 'Is withdrawn'],
    ],
  }),
  sample('console_add_user', formSample, {
    ...{ ...CONSOLE, current: 'users', page: 'users', buttons: ['add'], name: '', given: {} },
    schema: USER_OPERATIONS.addUser.body ?? {},
    spec: {
      first: ['username', 'password', 'groups'],
      secret: ['password'],
      choices: { groups: ['admins', 'staff'] },
    },
    values: { username: 'carol', claims: { name: 'Carol' } },
    wrong: {
      username: { reason: 'refused', detail: 'expected visible characters' },
      claims: { reason: 'no_json', at: [2, 5] },
    },
  }),
  sample('console_change_client', formSample, {
    ...{ ...CONSOLE, current: 'users', page: 'users', buttons: ['edit'], name: 'bob' },
    ...{ given: { sub: 'xT2a9' }, version: '"1"' },
    schema: CLIENT_CHANGE,
    spec: { first: CLIENT_PARTS.first, parts: CLIENT_PARTS.parts, tags: ['de'] },
    values: {
      client_name: 'Photos',
      redirect_uris: ['https://photos.example/cb'],
      grant_types: ['authorization_code'],
    },
    now: { stored: { client_name: 'Pictures' }, adopted: ['consent_required'] },
    ...{ isUnsaved: true, isKept: true, wrong: {} },
  }),
  sample('console_add_application', formSample, {
    ...{
      ...CONSOLE,
      current: 'clients',
      page: 'clients',
      buttons: ['try_spa', 'add_spa'],
      name: '',
      given: {},
    },
    schema: CLIENT_CHANGE,
    spec: { first: ['client_name', 'redirect_uris'], parts: { more: ['scope'] }, without: MEMBERS_OF_LATER },
    values: { redirect_uris: ['http://localhost:5173/'], scope: 'openid profile email' },
    wrong: {},
  }),
  sample('console_groups', groupsPage, {
    ...{ ...CONSOLE, current: 'groups', wish: {}, pages: {}, total: 2 },
    columns: [{ title: 'Group', sort: 'name' }, { title: 'Members' }],
    rows: [
      { key: 'admins', name: 'admins', cells: ['2'], badges: ['administrators'] },
      { key: 'staff', name: 'staff', cells: ['240'] },
    ],
  }),
  sample('console_group', groupPage, {
    names: NO_NAMES,
    ...{ ...CONSOLE, current: 'groups', group: CONSOLE_GROUP, own: 'xT2a1' },
    ...{ isOfAdministrators: true, pages: { next: '/console/groups?name=admins&cursor=b' } },
    members: [
      { key: 'xT2a1', name: 'alice' },
      { key: 'xT2a9', name: 'bob', badges: ['disabled'] },
    ],
  }),
  sample('console_group_of_users', groupPage, {
    names: NO_NAMES,
    ...{ ...CONSOLE, current: 'groups', own: 'xT2a1', isOfAdministrators: false, members: [], pages: {} },
    group: { ...CONSOLE_GROUP, name: 'staff', clients: [] },
  }),
  sample('console_change_group', questionPage, {
    ...{
      ...CONSOLE,
      current: 'groups',
      page: 'groups',
      act: 'edit',
      name: 'staff',
      given: { name: 'staff' },
    },
    ...{
      facts: [['Sign-in policy', 'nothing → a passkey']],
      typed: [['sign_in_policy', 'phishing_resistant']],
    },
  }),
  sample('console_keys', keysPage, { ...CONSOLE, current: 'keys', keys: CONSOLE_KEYS }),
  sample('console_rotate_key', rotatePage, {
    ...{ ...CONSOLE, current: 'keys', keys: CONSOLE_KEYS.slice(0, 1), rotated: 'ES256', waitSeconds: 240 },
  }),
  sample('console_disable_user', questionPage, {
    ...{ ...CONSOLE, current: 'users', page: 'users', act: 'disable', name: 'bob', given: { sub: 'xT2a9' } },
    ...{
      facts: [
        ['Active tokens', '2'],
        ['Sessions', '1'],
      ],
    },
  }),
  sample('console_clients', clientsPage, {
    ...{ ...CONSOLE, current: 'clients', wish: { kind: 'registered' }, pages: {}, total: 2 },
    columns: [{ title: 'Client ID', sort: 'client_id' }, { title: 'Name' }],
    made: [
      { name: '.b', secret: 'eyJhbGciOiJIUzI1NiJ9.e30.c' },
      { name: '.a', secret: 'eyJhbGciOiJIUzI1NiJ9.e30.b' },
    ],
    rows: [
      { key: 'orders', name: 'orders', cells: ['Orders API'] },
      { key: 'photos/web', name: 'photos/web', cells: ['Photos'], badges: ['self_registered', 'disabled'] },
    ],
    denied: {
      items: [
        {
          ...{ rule: '*.phishing.example', denied_at: '2026-01-02T03:04:05.678Z', denied_by: 'cli' },
          note: 'Ticket 4711',
        },
      ],
    },
  }),
  sample('console_add_client', newClientPage, { ...CONSOLE, current: 'clients' }),
  sample('console_client_added', clientPage, {
    ...{
      ...CONSOLE,
      current: 'clients',
      notice: 'client_added',
    },
    ...{ trial: TRIAL_NEEDS, made: [{ name: '.a', secret: 'Yk0S3u7rC2u5u1Wq8cHn4A' }] },
    concerns: [
      { scope: 'photos:read', owners: ['https://photos.example'] },
      { scope: 'openid,email', owners: [] },
    ],
    client: {
      ...{ client_id: 'photos', type: 'confidential', registered_itself: false, client_name: 'Photos' },
      ...{ grant_types: ['authorization_code', 'client_credentials'], scope: 'openid email' },
      ...{ redirect_uris: ['https://photos.example/cb'], resource: 'https://photos.example/api' },
      secrets: [{ created_at: EPOCH }],
    },
  }),
  sample('console_client', clientPage, {
    counted: { samples: CONSOLE_SAMPLES, nowMs: NOW_MS, isShared: false },
    ...{
      ...CONSOLE,
      current: 'clients',
      trial: TRIAL_NEEDS,
      concerns: [],
    },
    client: {
      ...{ client_id: 'web', type: 'public', registered_itself: true, client_name: 'Photos' },
      ...{ disabled_at: EPOCH, secrets: [{ created_at: EPOCH }] },
    },
  }),
  sample('console_client_by_document', clientPage, {
    ...{ ...CONSOLE, current: 'clients', trial: TRIAL_NEEDS, concerns: [] },
    client: {
      ...{ client_id: 'https://editor.example/oauth/client.json', type: 'public', registered_itself: false },
      ...{ client_name: 'Editor', document_valid_at: EPOCH },
    },
  }),
  sample('console_client_to_try', clientPage, {
    ...{ ...CONSOLE, current: 'clients', trial: TRIAL_NEEDS, concerns: [], client: TRIED_CLIENT },
  }),
  sample('console_client_not_tried', clientPage, {
    ...{ ...CONSOLE, current: 'clients', trial: TRIAL_NEEDS, concerns: [] },
    client: { ...TRIED_CLIENT, redirect_uris: ['https://notes.example/'] },
  }),
  sample('console_client_not_here', clientPage, {
    ...{ ...CONSOLE, current: 'clients', concerns: [], client: TRIED_CLIENT },
    trial: { ...TRIAL_NEEDS, isAtIssuer: false },
  }),
  sample('console_trial', resultPage, {
    ...{ ...CONSOLE, current: 'clients', client: TRIED_CLIENT },
    result: {
      ...{ scopes: ['openid', 'email'], missing: ['photos:read', 'phone'], hasRefreshToken: true },
      concerns: [{ scope: 'photos:read', owners: ['https://photos.example'] }],
      unusedApis: [{ resource: 'https://notes.example', scopes: ['notes:read', 'notes:write'] }],
      idToken: { iss: 'https://login.example.com', sub: 'xT2a9', auth_time: NOW_MS / 1000, amr: ['pwd'] },
      userInfo: { sub: 'xT2a9', email: 'alice@example.com', email_verified: true },
      introspection: { active: true, client_id: 'notes', scope: 'openid email', exp: NOW_MS / 1000 + 300 },
      sealed: 'sealed',
    },
  }),
  sample('console_trial_whole', resultPage, {
    ...{ ...CONSOLE, current: 'clients', client: TRIED_CLIENT },
    result: {
      ...{ scopes: ['openid', 'profile', 'email'], missing: [], concerns: [], unusedApis: [] },
      idToken: {
        ...{ iss: 'https://login.example.com', sub: 'xT2a9', aud: 'notes', exp: NOW_MS / 1000 + 3600 },
        ...{
          iat: NOW_MS / 1000,
          auth_time: NOW_MS / 1000 - 60,
          amr: ['pwd'],
          nonce: 'b5r0sYqmJ8Y2nDq6nL6kJw',
        },
      },
      userInfo: {
        ...{ name: 'Alice Liddell', preferred_username: 'alice', email: 'alice@example.com' },
        ...{ email_verified: true, locale: 'en-GB', sub: 'xT2a9' },
      },
      introspection: {
        ...{ active: true, scope: 'openid profile email', client_id: 'notes', token_type: 'Bearer' },
        ...{ exp: NOW_MS / 1000 + 3600, sub: 'xT2a9', username: 'alice' },
      },
      ...{ hasRefreshToken: true, sealed: 'sealed' },
    },
  }),
  sample('console_trial_of_api', resultPage, {
    ...{ ...CONSOLE, current: 'clients', client: TRIED_CLIENT },
    result: {
      ...{
        scopes: ['photos:read'],
        missing: [],
        concerns: [],
        unusedApis: [],
        hasRefreshToken: false,
        idToken: undefined,
      },
      userInfo: { code: 'insufficient_scope', description: 'the scope openid is missing' },
      introspection: { active: true, client_id: 'notes', scope: 'photos:read' },
      sealed: 'sealed',
    },
  }),
  sample('console_trial_failed', failedPage, {
    ...{ ...CONSOLE, current: 'clients', client: TRIED_CLIENT },
    failure: { code: 'access_denied', description: 'the user has refused' },
  }),
  sample('console_trial_ended', endedPage, {
    ...{ ...CONSOLE, current: 'clients', client: TRIED_CLIENT },
    ended: {
      ...{ introspection: { active: false }, refresh: { active: false }, reason: 'revoked' },
      userInfo: { code: 'invalid_token', description: 'the access token is not active' },
    },
  }),
  sample('console_trial_of_others', foreignPage, {
    ...{ ...CONSOLE, current: 'clients', issuer: 'https://login.example.com' },
  }),
  sample('console_revoke_client', questionPage, {
    ...{ ...CONSOLE, current: 'clients', page: 'clients', act: 'revoke', name: 'web', given: { id: 'web' } },
    facts: [['Active tokens', '2']],
  }),
  sample('console_import', importPage, { ...CONSOLE, current: 'import', problem: 'too_large' }),
  sample('console_import_reported', importPage, {
    ...{ ...CONSOLE, current: 'import', reportAt: new Date(NOW_MS - 3_600_000).toISOString() },
  }),
  sample('console_import_plan', importPlanPage, {
    ...{ ...CONSOLE, current: 'import', isChanged: true },
    planned: { ...IMPORTED, digest: 'Zm9v' },
    kept: { name: 'users.jsonl', format: 'grantd', choices: ['create_groups'] },
  }),
  sample('console_import_of_nothing', importPlanPage, {
    ...{ ...CONSOLE, current: 'import' },
    planned: {
      ...{
        counts: { ...IMPORTED.counts, imported: 0, updated: 0 },
        added: [],
        refused: [],
        refusals: { first: [], more: 0 },
        leftOut: { first: [], more: 0 },
        digest: 'Zm9v',
      },
      stopped: ['file_json', 'keycloak'],
    },
    kept: { name: 'export.csv', format: 'keycloak', choices: [] },
  }),
  sample('console_imported', importedPage, {
    ...{ ...CONSOLE, current: 'import', done: IMPORTED, hasReport: true },
  }),
  sample('console_apply', applyPage, {
    ...{ ...CONSOLE, current: 'apply', isPruning: true },
    wrong: [
      { path: ['clients', 'bad', 'scope'], said: ['misspelled_name', 'scopes'], at: { line: 3, col: 5 } },
      { path: [], said: { english: 'The file was applied in part.' } },
    ],
  }),
  sample('console_apply_expired', applyPage, { ...CONSOLE, current: 'apply', problem: 'expired' }),
  sample('console_apply_secrets', missingSecretsPage, {
    ...CONSOLE,
    current: 'apply',
    clients: [{ id: 'shop' }, { id: 'orders' }],
  }),
  sample('console_apply_wrong_secret', missingSecretsPage, {
    ...CONSOLE,
    current: 'apply',
    clients: [{ id: 'shop', problem: { in: '/secrets/shop', detail: 'expected at least 8 characters' } }],
  }),
  sample('console_apply_plan', applyPlanPage, {
    ...{ ...CONSOLE, current: 'apply', planned: STATE_PLAN, version: '"Zm9v"', isChanged: true },
  }),
  sample('console_applied', appliedPage, {
    ...{ ...CONSOLE, current: 'apply', applied: { ...STATE_PLAN, changes: [] }, warnings: [] },
  }),
  sample('console_scopes', scopesPage, {
    ...{ ...CONSOLE, current: 'scopes', pages: { next: '/console/scopes?cursor=b' } },
    scopes: [
      {
        scope: 'photos:read',
        api: 'photos',
        texts: { name: 'See your photos', 'name#de': 'Ihre Fotos sehen' },
      },
      { scope: 'email', texts: { name: 'Your email address' } },
    ],
  }),
  sample('console_issuers', issuersPage, {
    ...{ ...CONSOLE, current: 'issuers', path: 'issuers.json' },
    issuers: [
      [
        'github',
        {
          ...{ kind: 'github', max_lifetime: 3600 },
          issuer: 'https://token.actions.githubusercontent.com',
          clients: [{ client: 'deploy', claims: { sub: 'repo:acme/shop:ref:refs/heads/main' } }],
        },
      ],
    ],
  }),
  sample('console_no_issuers', issuersPage, { ...CONSOLE, current: 'issuers' }),
  sample('console_secrets', secretsPage, {
    names: NO_NAMES,
    ...{ ...CONSOLE, current: 'secrets' },
    secrets: [
      {
        ...({
          secret: '1hqWc4Wb',
          use: 'used for new values',
          clients: ['photos'],
          signing_keys: ['k1'],
        } as const),
        ...{ pairwise_secret: true, authenticator_apps: 2, audit_trail: true },
      },
    ],
  }),
  sample('console_mails', mailsPage, {
    ...{ ...CONSOLE, current: 'mails' },
    mails: [
      {
        ...({
          id: 'm1',
          template: 'reset',
          recipient: 'bob@example.com',
          state: 'failed',
          attempts: 8,
        } as const),
        ...{
          created_at: EPOCH,
          failed_at: EPOCH,
          last_error:
            'mail.example.com:587: the server refused the sender or the recipient: 550 No such user',
        },
      },
      {
        ...({
          id: 'm2',
          template: 'invite',
          recipient: 'al@example.com',
          state: 'waiting',
          attempts: 1,
        } as const),
        ...{ created_at: EPOCH, due_at: EPOCH },
      },
    ],
  }),
  sample('console_audit', auditPage, {
    ...{ ...CONSOLE, ...KNOWN, current: 'audit' },
    filters: {
      ...{ type: 'group_added', changes: '', operators: '', user: '', client: '', actor: '' },
      ...{ target: 'staff', address: '', request: '', range: '', since: '2026-01-31 12:00', until: '' },
    },
    rows: newestFirst([...FOLDED_ROWS, ...singleRows(AUDIT_EVENTS)]),
    pages: { first: '/console/audit', previous: '/console/audit?cursor=a', next: '/console/audit?cursor=b' },
  }),
  sample('console_event', eventPage, {
    ...{ ...CONSOLE, ...KNOWN, current: 'audit' },
    event: {
      ...{
        number: 9,
        at: EPOCH,
        type: 'token_issued',
        target: 'iRYpPvvs38SGPvPy9LCBuA Yk0S3u7rC2u5u1Wq8cHn4A',
      },
      ...{ actor: 'client:photos/web', subject: 'xT2a9', client_id: 'photos/web', address: '192.0.2.7' },
      ...{ request_id: 'Vn3B0mXo7z4w9fTq2sLk1w', reason: 'authorization_code' },
    },
  }),
  sample('console_support_locked', supportPage, {
    ...{ ...CONSOLE, ...KNOWN, current: 'users', typed: '', unlock: unlockButton },
    said: {
      ...{ sub: 'xT2a9', username: 'judy', can_sign_in: true, email_verified: false },
      ...{ obstacles: ['locked'], locks: [{ step: 'password', places: 1, ends_at: EPOCH }] },
      ...{ ways: [{ way: 'password', open: true, followed_by: 'nothing' }], policy: 'password' },
      factors: { passkeys: 0, security_keys: 0, authenticator_app: false, recovery_codes: 0 },
      ...{ policies: [{ of: 'server', policy: 'password' }], attempts: [] },
    },
  }),
  sample('console_support', supportPage, {
    ...{ ...CONSOLE, ...KNOWN, current: 'users', typed: 'photos/web', unlock: unlockButton },
    said: {
      ...{
        sub: 'xT2a9',
        username: 'bob',
        can_sign_in: false,
        email: 'bob@example.com',
        email_verified: false,
      },
      obstacles: ['disabled', 'locked', 'no_way', 'client_disabled', 'not_in_groups', 'factor_needed'],
      locks: [{ step: 'password', places: 2, ends_at: EPOCH }],
      ways: [
        { way: 'password', open: true, followed_by: 'second_factor' },
        { way: 'passkey', open: true, followed_by: 'nothing' },
        {
          way: 'provider',
          name: 'google',
          label: 'bob@example.com',
          open: false,
          closed_by: 'not_configured',
        },
      ],
      factors: {
        ...{ passkeys: 1, security_keys: 2, authenticator_app: true, recovery_codes: 8 },
        count_from: EPOCH,
      },
      policy: 'second_factor',
      policies: [
        { of: 'server', policy: 'password' },
        { of: 'group', name: 'staff', policy: 'second_factor' },
      ],
      attempts: [
        {
          ...{ at: EPOCH, outcome: 'refused', step: 'password', reason: 'password_wrong', methods: [] },
          ...{ user_agent: '', address: '192.0.2.7', client_id: 'photos/web', request_id: 'r1' },
        },
        { at: EPOCH, outcome: 'signed_in', step: 'code', methods: ['pwd', 'otp', 'mfa'], user_agent: '' },
      ],
    },
  }),
  sample('console_refused', refusedPage, { ...CONSOLE, current: 'clients', kind: 'not_found' }),
  sample('problem_request_invalid', problemPage, {
    problem: 'request_invalid',
    reason: 'redirect_uri_mismatch',
    ways: WAYS,
    requestId: REQUEST_ID,
    detail: DETAIL,
  }),
  sample('problem_request_expired', problemPage, {
    problem: 'request_expired',
    requestId: REQUEST_ID,
    ways: { ...WAYS, application: { name: 'Photos', uri: 'https://photos.example.com' } },
  }),
  sample('problem_unavailable', problemPage, {
    ...{ problem: 'unavailable', secondsToWait: 5, ways: WAYS, requestId: REQUEST_ID },
  }),
  sample('problem_unexpected', problemPage, {
    problem: 'unexpected',
    ways: WAYS,
    requestId: REQUEST_ID,
  }),
  ...PROBLEMS.map((problem) =>
    sample(`problem_${problem}`, problemPage, {
      problem,
      requestId: REQUEST_ID,
      ways: {
        ...WAYS,
        ...(problem === 'form_foreign' && { again: '/login?pending=x' }),
        ...(problem === 'link_invalid' && { newLink: '/forgot' }),
      },
    }),
  ),
];
