// Long: a table with examples for every option.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ConfigurationError } from '@grantd/core';
import { readConfiguration, unknownVariableWarnings } from '../src/config/configuration.ts';
import { flagOf, OPTION_NAMES, OPTIONS, type OptionName, variableOf } from '../src/config/options.ts';
import { ConfigurationRefused } from '../src/config/refused.ts';
import { rethrowAsWritten } from '../src/instance/instance.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-configuration-'));
after(() => rmSync(folder, { recursive: true }));

const SECRET = 'a'.repeat(32);
const NEWER = 'b'.repeat(32);
const SECRET_FILE = join(folder, 'server.secret');
writeFileSync(SECRET_FILE, `${SECRET}\n`, { mode: 0o600 });

interface Example {
  readonly text: string;
  readonly json: unknown;
  readonly value: unknown;
  readonly badText: string;
  readonly badJson: unknown;
}

const SWITCH_ON: Example = { text: 'true', json: true, value: true, badText: 'yes', badJson: 'true' };
const SWITCH_OFF: Example = { text: 'false', json: false, value: false, badText: '0', badJson: 0 };
const LIFETIME: Example = { text: '61', json: 61, value: 61, badText: '0', badJson: 1.5 };
const ALGORITHM: Example = {
  text: 'EdDSA',
  json: 'EdDSA',
  value: 'EdDSA',
  badText: 'HS256',
  badJson: 'none',
};

const RECIPIENT = 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p';

/** Per option: a value other than the default, and invalid values. */
const EXAMPLES: Readonly<Record<OptionName, Example>> = {
  port: { text: '8080', json: 8080, value: 8080, badText: '65536', badJson: '8080' },
  host: { text: '::1', json: '::1', value: '::1', badText: 'a b', badJson: 1 },
  issuer: {
    text: 'https://id.example',
    json: 'https://id.example',
    value: 'https://id.example',
    badText: 'https://id.example?x',
    badJson: 'ftp://id.example',
  },
  database: {
    text: 'sqlite:/tmp/x.db',
    json: 'sqlite:/tmp/x.db',
    value: 'sqlite:/tmp/x.db',
    badText: 'mysql://x',
    badJson: 'sqlite:',
  },
  backupFolder: { text: 'backups', json: 'backups', value: 'backups', badText: ' ', badJson: true },
  backupInterval: { text: '3600', json: 3600, value: 3600, badText: '59', badJson: '3600' },
  backupKeep: { text: '30', json: 30, value: 30, badText: '0', badJson: '30' },
  backupRecipients: {
    text: RECIPIENT,
    json: [RECIPIENT],
    value: [RECIPIENT],
    badText: 'AGE-SECRET-KEY-1',
    badJson: ['age'],
  },
  backupPassphraseFile: { text: 'words', json: 'words', value: 'words', badText: ' ', badJson: 1 },
  backupPassphrase: {
    text: 'correct horse battery',
    json: 'correct horse battery',
    value: 'correct horse battery',
    badText: 'short',
    badJson: 12345678901234,
  },
  providers: {
    text: 'providers.json',
    json: 'providers.json',
    value: 'providers.json',
    badText: ' ',
    badJson: {},
  },
  trustedIssuers: {
    text: 'issuers.json',
    json: 'issuers.json',
    value: 'issuers.json',
    badText: ' ',
    badJson: {},
  },
  tlsCertificate: { text: 'tls.pem', json: 'tls.pem', value: 'tls.pem', badText: ' ', badJson: 1 },
  tlsKey: { text: 'tls.key', json: 'tls.key', value: 'tls.key', badText: ' ', badJson: true },
  mtlsPort: { text: '8443', json: 8443, value: 8443, badText: '-1', badJson: '8443' },
  mtlsOrigin: {
    text: 'https://mtls.example',
    json: 'https://mtls.example',
    value: 'https://mtls.example',
    badText: 'https://mtls.example/',
    badJson: 'http://mtls.example',
  },
  tlsClientCa: { text: 'ca.pem', json: 'ca.pem', value: 'ca.pem', badText: ' ', badJson: ['ca.pem'] },
  clientCertificateHeader: {
    text: 'Client-Cert',
    json: 'Client-Cert',
    value: 'Client-Cert',
    badText: 'Client Cert',
    badJson: '',
  },
  clientCertificateFormat: { text: 'xfcc', json: 'xfcc', value: 'xfcc', badText: 'der', badJson: 'XFCC' },
  clientCertificateVerified: SWITCH_ON,
  tracing: { text: 'otlp', json: 'otlp', value: 'otlp', badText: 'on', badJson: true },
  metricsPort: { text: '9464', json: 9464, value: 9464, badText: '65536', badJson: '9464' },
  adminApi: SWITCH_ON,
  console: SWITCH_ON,
  adminFrom: {
    text: '10.0.0.0/8, ::1',
    json: ['10.0.0.0/8', '::1'],
    value: ['10.0.0.0/8', '::1'],
    badText: '10.0.0.0/33',
    badJson: ['office.example'],
  },
  adminGroup: { text: 'admins', json: 'admins', value: 'admins', badText: ' ', badJson: 1 },
  consoleSignInPolicy: {
    text: 'phishing_resistant',
    json: 'phishing_resistant',
    value: 'phishing_resistant',
    badText: 'none',
    badJson: true,
  },
  adminRequestLimit: { text: '60', json: 60, value: 60, badText: '0', badJson: '60' },
  metricsHost: { text: '::1', json: '::1', value: '::1', badText: 'a b', badJson: 1 },
  metricsClients: { text: '0', json: 0, value: 0, badText: '1001', badJson: '10' },
  passkeys: SWITCH_OFF,
  signInPolicy: {
    text: 'second_factor',
    json: 'second_factor',
    value: 'second_factor',
    badText: 'mfa',
    badJson: true,
  },
  signInWithEmail: SWITCH_OFF,
  emailCode: { text: 'also', json: 'also', value: 'also', badText: 'on', badJson: true },
  emailCodeGroups: {
    text: 'staff, crew',
    json: ['staff', 'crew'],
    value: ['staff', 'crew'],
    badText: ' ',
    badJson: [],
  },
  emailCodeClients: { text: 'shop', json: ['shop'], value: ['shop'], badText: ' ', badJson: [1] },
  insecureEmailCodeForAdministrators: SWITCH_ON,
  recoveryHold: LIFETIME,
  personalTokens: { text: 'true', json: true, value: true, badText: 'yes', badJson: 1 },
  personalTokenApis: {
    text: 'https://api.example/, urn:api',
    json: ['https://api.example/', 'urn:api'],
    value: ['https://api.example/', 'urn:api'],
    badText: 'api',
    badJson: ['https://api.example/#'],
  },
  personalTokenScopes: {
    text: 'docs:read,docs:write',
    json: ['docs:read', 'docs:write'],
    value: ['docs:read', 'docs:write'],
    badText: 'docs:read,offline_access',
    badJson: ['grantd:users:read'],
  },
  personalTokenGroups: {
    text: 'staff',
    json: ['staff'],
    value: ['staff'],
    badText: ' ',
    badJson: [],
  },
  personalTokenLifetime: LIFETIME,
  personalTokenLimit: { text: '5', json: 5, value: 5, badText: '0', badJson: 1001 },
  personalTokenBinding: { text: 'dpop', json: 'dpop', value: 'dpop', badText: 'key', badJson: true },
  create: { text: 'true', json: true, value: true, badText: 'yes', badJson: 'true' },
  shutdownDelay: { text: '0', json: 0, value: 0, badText: '3601', badJson: 0.5 },
  auditTokens: SWITCH_OFF,
  eventRetention: { text: '60', json: 60, value: 60, badText: '0', badJson: '60' },
  cachedTokens: { text: '0', json: 0, value: 0, badText: '-1', badJson: 0.5 },
  databaseConnections: { text: '3', json: 3, value: 3, badText: '0', badJson: 1001 },
  databaseConnectTimeoutMs: { text: '1', json: 1, value: 1, badText: '0', badJson: 3_600_001 },
  databaseStatementTimeoutMs: { text: '1', json: 1, value: 1, badText: '1s', badJson: 0.5 },
  secret: {
    text: JSON.stringify([NEWER, SECRET]),
    json: [NEWER, SECRET],
    value: [NEWER, SECRET],
    badText: 'short',
    badJson: [],
  },
  secretFile: { text: SECRET_FILE, json: SECRET_FILE, value: SECRET_FILE, badText: ' ', badJson: 1 },
  pairwiseSecret: {
    text: NEWER,
    json: NEWER,
    value: NEWER,
    badText: 'short',
    badJson: [NEWER],
  },
  trustedProxies: {
    text: '10.0.0.0/8, ::1',
    json: ['10.0.0.0/8', '::1'],
    value: ['10.0.0.0/8', '::1'],
    badText: '10.0.0.0/33',
    badJson: ['proxy.example'],
  },
  workers: { text: '4', json: 4, value: 4, badText: '0', badJson: 65 },
  demo: SWITCH_ON,
  log: { text: 'pretty', json: 'off', value: 'pretty', badText: 'loud', badJson: true },
  logAddresses: { text: 'full', json: 'full', value: 'full', badText: 'on', badJson: true },
  sweepInterval: { text: '5', json: 5, value: 5, badText: '-1', badJson: 0 },
  sessionLifetime: LIFETIME,
  sessionIdleLifetime: LIFETIME,
  operatorName: { text: 'Acme', json: 'Acme', value: 'Acme', badText: ' Acme', badJson: 1 },
  operatorLogo: { text: 'a.svg', json: 'a.svg', value: 'a.svg', badText: 'a.txt', badJson: 'svg' },
  operatorColor: { text: '#1a2B3c', json: '#1a2B3c', value: '#1a2B3c', badText: '#fff', badJson: 'red' },
  theme: { text: 'theme.yaml', json: 'theme.yaml', value: 'theme.yaml', badText: ' ', badJson: 1 },
  languages: { text: 'texts', json: 'texts', value: 'texts', badText: ' ', badJson: true },
  smtpUrl: {
    text: 'smtp://login:s%40fe@mail.example.com:587',
    json: 'smtp://login:s%40fe@mail.example.com:587',
    value: 'smtp://login:s%40fe@mail.example.com:587',
    badText: 'mail.example.com',
    badJson: 'smtp://mail.example.com/#x',
  },
  mailFrom: {
    text: 'Example <login@example.com>',
    json: 'Example <login@example.com>',
    value: 'Example <login@example.com>',
    badText: 'Example',
    badJson: 'a@example.com, b@example.com',
  },
  signUp: { text: 'open', json: 'open', value: 'open', badText: 'closed', badJson: true },
  signUpDomains: {
    text: 'example.com, example.org',
    json: ['example.com', 'example.org'],
    value: ['example.com', 'example.org'],
    badText: '@example.com',
    badJson: [],
  },
  passwordMinLength: { text: '15', json: 15, value: 15, badText: '7', badJson: 129 },
  ldapUrl: {
    text: 'ldaps://dc1.example.com, ldap://dc2.example.com:1389',
    json: ['ldaps://dc1.example.com', 'ldap://dc2.example.com:1389'],
    value: ['ldaps://dc1.example.com', 'ldap://dc2.example.com:1389'],
    badText: 'ldaps://user:secret@dc1.example.com',
    badJson: ['ldap://dc1.example.com/dc=example'],
  },
  ldapKind: {
    text: 'active_directory',
    json: 'active_directory',
    value: 'active_directory',
    badText: 'ad',
    badJson: true,
  },
  ldapTls: { text: 'off', json: 'off', value: 'off', badText: 'false', badJson: false },
  ldapCa: { text: 'ca.pem', json: 'ca.pem', value: 'ca.pem', badText: ' ', badJson: ['ca.pem'] },
  ldapBindDn: {
    text: 'cn=grantd,dc=example',
    json: 'cn=grantd,dc=example',
    value: 'cn=grantd,dc=example',
    badText: 'grantd',
    badJson: 1,
  },
  ldapBindPasswordFile: { text: 'pw', json: 'pw', value: 'pw', badText: ' ', badJson: 1 },
  ldapBindPassword: { text: 'secret', json: 'secret', value: 'secret', badText: 'a\nb', badJson: '' },
  ldapBase: { text: 'dc=example', json: 'dc=example', value: 'dc=example', badText: 'example', badJson: 1 },
  ldapFilter: {
    text: '(mail={username})',
    json: '(mail={username})',
    value: '(mail={username})',
    badText: '(mail=%s)',
    badJson: 1,
  },
  ldapIdAttribute: {
    text: 'nsUniqueId',
    json: 'nsUniqueId',
    value: 'nsUniqueId',
    badText: 'a b',
    badJson: 1,
  },
  ldapUsernameAttribute: { text: 'mail', json: 'mail', value: 'mail', badText: '1x', badJson: '' },
  ldapClaims: {
    text: '{"name":"displayName"}',
    json: { name: 'displayName' },
    value: { name: 'displayName' },
    badText: '{"sub":"uid"}',
    badJson: { name: 'display name' },
  },
  ldapEmailVerified: SWITCH_ON,
  ldapGroups: {
    text: '{"cn=staff,dc=example":"staff"}',
    json: { 'cn=staff,dc=example': 'staff' },
    value: { 'cn=staff,dc=example': 'staff' },
    badText: '{"staff":"staff"}',
    badJson: { 'cn=staff,dc=example': '' },
  },
  ldapGroupAttribute: {
    text: 'isMemberOf',
    json: 'isMemberOf',
    value: 'isMemberOf',
    badText: '(',
    badJson: 1,
  },
  ldapGroupFilter: {
    text: '(member={dn})',
    json: '(member={dn})',
    value: '(member={dn})',
    badText: '(member=*)',
    badJson: 1,
  },
  ldapGroupBase: {
    text: 'dc=example',
    json: 'dc=example',
    value: 'dc=example',
    badText: 'groups',
    badJson: 1,
  },
  ldapConnections: { text: '3', json: 3, value: 3, badText: '0', badJson: 101 },
  ldapConnectTimeoutMs: { text: '1', json: 1, value: 1, badText: '0', badJson: 3_600_001 },
  ldapTimeoutMs: { text: '1', json: 1, value: 1, badText: '1s', badJson: 0.5 },
  authenticateIntrospect: SWITCH_OFF,
  authenticateRevoke: SWITCH_OFF,
  introspectionRequiresConfidentialClient: SWITCH_OFF,
  profile: {
    text: 'fapi2-security',
    json: 'fapi2-security',
    value: 'fapi2-security',
    badText: 'fapi1',
    badJson: true,
  },
  introspectionPolicy: {
    text: 'audience',
    json: 'audience',
    value: 'audience',
    badText: 'nobody',
    badJson: null,
  },
  oidc: {
    text: '{"claimsByScope":{"team":["team"]}}',
    json: { claimsByScope: { team: ['team'] } },
    value: { claimsByScope: { team: ['team'] } },
    badText: 'maybe',
    badJson: { claims: {} },
  },
  registration: { text: 'token', json: 'token', value: 'token', badText: 'on', badJson: true },
  registrationAssertionAudience: {
    text: 'endpoint',
    json: 'endpoint',
    value: 'endpoint',
    badText: 'token_endpoint',
    badJson: true,
  },
  tokenCheck: { text: 'true', json: true, value: true, badText: 'on', badJson: 'on' },
  tokenCheckHeaders: {
    text: 'sub, acr',
    json: ['sub', 'acr'],
    value: ['sub', 'acr'],
    badText: 'X-Auth-Sub',
    badJson: ['a\nb'],
  },
  tokenCheckAudiences: {
    text: 'https://api.example.com',
    json: ['https://api.example.com'],
    value: ['https://api.example.com'],
    badText: 'api',
    badJson: [],
  },
  tokenCheckFrom: {
    text: '10.0.0.7, ::1',
    json: ['10.0.0.7', '::1'],
    value: ['10.0.0.7', '::1'],
    badText: 'gateway.internal',
    badJson: [],
  },
  tokenCheckRequest: {
    text: 'forwarded',
    json: 'forwarded',
    value: 'forwarded',
    badText: 'true',
    badJson: true,
  },
  tokenCheckCertificateHeader: {
    text: 'X-Client-Cert',
    json: 'X-Client-Cert',
    value: 'X-Client-Cert',
    badText: 'a b',
    badJson: 1,
  },
  clientDocuments: { text: 'listed', json: 'listed', value: 'listed', badText: 'on', badJson: true },
  clientDocumentHosts: {
    text: 'claude.ai, *.example.com',
    json: ['claude.ai', '*.example.com'],
    value: ['claude.ai', '*.example.com'],
    badText: 'https://claude.ai',
    badJson: ['Claude.ai'],
  },
  clientDocumentDeniedHosts: {
    text: 'evil.example',
    json: ['evil.example'],
    value: ['evil.example'],
    badText: 'evil.example/path',
    badJson: 'evil.example',
  },
  registrationApis: {
    text: 'https://a.example, https://b.example',
    json: ['https://a.example', 'https://b.example'],
    value: ['https://a.example', 'https://b.example'],
    badText: 'a.example',
    badJson: ['https://a.example#b'],
  },
  registrationRedirectUris: {
    text: 'editor://callback, https://editor.example/callback',
    json: ['editor://callback', 'https://editor.example/callback'],
    value: ['editor://callback', 'https://editor.example/callback'],
    badText: '/callback',
    badJson: ['javascript:alert(1)'],
  },
  clientDocumentSiteLimit: { text: '0', json: 0, value: 0, badText: '-1', badJson: '20' },
  unknownTokenLimit: { text: '0', json: 0, value: 0, badText: '200001', badJson: '20' },
  addressRequestLimit: { text: '0', json: 0, value: 0, badText: '-1', badJson: '20' },
  registrationAddressLimit: { text: '20', json: 20, value: 20, badText: '0', badJson: '20' },
  clientAssertionLifetime: { text: '3600', json: 3600, value: 3600, badText: '0', badJson: '20' },
  unusedRegistrationLifetime: { text: '86400', json: 86_400, value: 86_400, badText: '-1', badJson: '20' },
  registrationLimit: { text: '20', json: 20, value: 20, badText: '0', badJson: '20' },
  registrationClosedScopes: {
    text: 'offline_access, phone',
    json: ['offline_access', 'phone'],
    value: ['offline_access', 'phone'],
    badText: 'a b',
    badJson: [1],
  },
  registrationScopes: {
    text: 'openid, email',
    json: ['openid', 'email'],
    value: ['openid', 'email'],
    badText: 'a b',
    badJson: [1],
  },
  applicationClaims: {
    text: '{"groups":{"in":["introspection"]}}',
    json: { groups: { in: ['introspection'] } },
    value: { groups: { in: ['introspection'] } },
    badText: '{"groups":{"from":"groups"}}',
    badJson: { groups: { in: ['introspection'], from: '' } },
  },
  authorizationDetails: {
    text: '{"payment":{"schema":{},"texts":{"name":"Pay"}}}',
    json: { payment: { schema: {}, texts: { name: 'Pay' } } },
    value: { payment: { schema: {}, texts: { name: 'Pay' } } },
    badText: '{"payment":{"schema":{}}}',
    badJson: { payment: { schema: {}, texts: { name: 'Pay' }, clientCredential: true } },
  },
  registrationAuthorizationDetailsTypes: {
    text: 'payment, account_information',
    json: ['payment', 'account_information'],
    value: ['payment', 'account_information'],
    badText: ',',
    badJson: [''],
  },
  registrationGrantTypes: {
    text: 'authorization_code, urn:ietf:params:oauth:grant-type:device_code',
    json: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    value: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    badText: 'implicit',
    badJson: ['implicit'],
  },
  ignoreUnknownTokenTypeHints: SWITCH_ON,
  userInfoAudiences: {
    text: 'https://a.example, https://b.example',
    json: ['https://a.example', 'https://b.example'],
    value: ['https://a.example', 'https://b.example'],
    badText: ',',
    badJson: [''],
  },
  strictScopes: SWITCH_ON,
  requirePushedAuthorizationRequests: SWITCH_ON,
  requestUriHosts: {
    text: 'app.example, app.example:8443',
    json: ['app.example', 'app.example:8443'],
    value: ['app.example', 'app.example:8443'],
    badText: 'https://app.example',
    badJson: ['App.example'],
  },
  insecureDevelopment: SWITCH_ON,
  strictRequestObjects: SWITCH_ON,
  registrationInsecureAllowMissingPkce: SWITCH_ON,
  accessTokenFormat: { text: 'opaque', json: 'opaque', value: 'opaque', badText: 'saml', badJson: 1 },
  requestObjectAlgorithms: {
    text: 'PS256, ES256',
    json: ['PS256', 'ES256'],
    value: ['PS256', 'ES256'],
    badText: 'HS256',
    badJson: [],
  },
  clientAssertionAlgorithms: {
    text: 'ES256, HS512',
    json: ['ES256', 'HS512'],
    value: ['ES256', 'HS512'],
    badText: 'none',
    badJson: [],
  },
  refuseRs256FromClients: SWITCH_ON,
  dpopAlgorithms: {
    text: 'ES256, EdDSA',
    json: ['ES256', 'EdDSA'],
    value: ['ES256', 'EdDSA'],
    badText: 'HS256',
    badJson: ['none'],
  },
  dpopNonces: {
    text: 'required',
    json: 'required',
    value: 'required',
    badText: 'off',
    badJson: true,
  },
  dpopProofLifetime: LIFETIME,
  apisWithPlainJwts: {
    text: 'https://a.example, https://b.example',
    json: ['https://a.example', 'https://b.example'],
    value: ['https://a.example', 'https://b.example'],
    badText: 'a.example',
    badJson: ['https://a.example#x'],
  },
  accessTokenAlgorithm: ALGORITHM,
  idTokenAlgorithm: ALGORITHM,
  useOpaqueRefreshTokens: SWITCH_OFF,
  defaultAudience: {
    text: 'https://a.example, https://b.example',
    json: ['https://a.example', 'https://b.example'],
    value: ['https://a.example', 'https://b.example'],
    badText: ',',
    badJson: [''],
  },
  accessTokenLifetime: LIFETIME,
  refreshTokenLifetime: LIFETIME,
  refreshFamilyLifetime: { text: '0', json: 0, value: 0, badText: '1s', badJson: -1 },
  idTokenLifetime: LIFETIME,
  pushedRequestLifetime: LIFETIME,
  authorizationCodeLifetime: LIFETIME,
  refreshGrace: { text: '0', json: 0, value: 0, badText: '1s', badJson: -1 },
};

function fileWith(content: unknown, name = 'grantd.json'): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  chmodSync(path, 0o600);
  return path;
}

function refusal(message: RegExp) {
  return (error: unknown) => error instanceof ConfigurationRefused && message.test(error.message);
}

for (const name of OPTION_NAMES) {
  const { text, json, value, badText, badJson } = EXAMPLES[name];
  const expected = OPTIONS[name].kind.expected;
  const isFlag = !('isSecret' in OPTIONS[name]);

  test(`${name} is taken from ${isFlag ? flagOf(name) : 'no flag'}, ${variableOf(name)} and the file`, () => {
    assert.notDeepEqual(readConfiguration({}, {}).settings[name], value, 'the example is the default');
    if (isFlag) assert.deepEqual(readConfiguration({ [name]: text }, {}).settings[name], value);
    assert.deepEqual(readConfiguration({}, { [variableOf(name)]: text }).settings[name], value);
    const fromFile = readConfiguration({ config: fileWith({ [name]: json }) }, {}).settings[name];
    assert.deepEqual(fromFile, name === 'log' ? 'off' : value);
  });

  test(`${name} that does not fit is refused by the name it was written with, and with what was expected`, () => {
    const says = (source: string) => (error: unknown) =>
      error instanceof ConfigurationRefused && error.message === `${source}: expected ${expected}`;
    if (isFlag) assert.throws(() => readConfiguration({ [name]: badText }, {}), says(flagOf(name)));
    assert.throws(() => readConfiguration({}, { [variableOf(name)]: badText }), says(variableOf(name)));
    const config = fileWith({ [name]: badJson });
    assert.throws(() => readConfiguration({ config }, {}), says(`${name} in grantd.json`));
  });
}

test('a flag goes before a variable, a variable before the file, the file before the default', () => {
  const config = fileWith({ port: 1 });
  assert.equal(readConfiguration({ port: '3', config }, { GRANTD_PORT: '2' }).settings.port, 3);
  assert.equal(readConfiguration({ config }, { GRANTD_PORT: '2' }).settings.port, 2);
  assert.equal(readConfiguration({ config }, {}).settings.port, 1);
  assert.equal(readConfiguration({}, {}).settings.port, 4000);
});

test('a secret is one text, whatever it looks like', () => {
  const looks = [
    '4'.repeat(40),
    `${SECRET},${NEWER}`,
    `"${SECRET}"`,
    `[${'1, '.repeat(20)}1]`,
    `{"a":"${SECRET}"}`,
  ];
  for (const secret of looks) {
    assert.deepEqual(readConfiguration({}, { GRANTD_SECRET: secret }).settings.secret, [secret]);
    const config = fileWith({ secret });
    assert.deepEqual(readConfiguration({ config }, {}).settings.secret, [secret]);
  }
  const config = fileWith({ secret: ` ${SECRET} ` });
  assert.deepEqual(readConfiguration({ config }, {}).settings.secret, [` ${SECRET} `]);
});

test('a database is an SQLite file or on PostgreSQL', () => {
  const read = (database: string) => readConfiguration({}, { GRANTD_DATABASE: database }).settings.database;
  for (const url of [
    'sqlite:a.db',
    'sqlite:///var/lib/a.db',
    'postgres://user:pass%40word@db.example:6432/grantd?sslmode=verify-full',
    'postgresql://[::1]/grantd',
    'postgres:///grantd?host=/run/postgresql',
    'postgres://',
  ])
    assert.equal(read(url), url);
  for (const url of [
    'sqlite:',
    'sqlite::memory:',
    'sqlite:///:memory:',
    'sqlite:file::memory:',
    'sqlite:file:grantd.db?mode=memory',
    'postgres:grantd',
    'postgres://db.example:port/grantd',
    'postgres://user:pass#word@db.example/grantd',
    'postgres://user:100%@db.example/grantd',
    'postgres://user:9/word@db.example/grantd',
    'postgres://user:9?word@db.example/grantd',
    'postgres://one.example:5432,two.example:5432/grantd',
    'mysql://db.example/grantd',
  ]) {
    const expected =
      'GRANTD_DATABASE: expected sqlite:PATH with the path of a file (SQLite in memory is not possible), or postgres://USER@HOST:PORT/DATABASE';
    assert.throws(
      () => read(url),
      (error: unknown) => error instanceof ConfigurationRefused && error.message === expected,
      url,
    );
  }
});

test('the server’s secret can be in a file, and a line end is no part of it', () => {
  const read = (content: string, environment: NodeJS.ProcessEnv = {}) => {
    const path = join(folder, 'changing.secret');
    writeFileSync(path, content, { mode: 0o600 });
    return readConfiguration({}, { GRANTD_SECRET_FILE: path, ...environment }).settings.secret;
  };
  assert.deepEqual(read(SECRET), [SECRET]);
  assert.deepEqual(read(`${SECRET}\r\n`), [SECRET]);
  assert.deepEqual(read(`${JSON.stringify([NEWER, SECRET])}\n`), [NEWER, SECRET]);
  assert.throws(
    () => read('short'),
    (error: unknown) =>
      refusal(/^GRANTD_SECRET_FILE: .*changing\.secret: expected a text of at least 32/)(error) &&
      !String(error).includes('short'),
  );
  assert.throws(
    () => read(SECRET, { GRANTD_SECRET: NEWER }),
    refusal(/^GRANTD_SECRET_FILE: expected no GRANTD_SECRET with it$/),
  );
});

test('a secret in a variable may not have blanks around it, which would make it another secret', () => {
  const secrets = OPTION_NAMES.filter((name) => 'isSecret' in OPTIONS[name]);
  for (const name of secrets) {
    const read = (value: string) => readConfiguration({}, { [variableOf(name)]: value });
    for (const value of [`${NEWER}\n`, `${NEWER}\r\n`, `${NEWER} `, ` ${NEWER}`, `\t["${NEWER}"]`])
      assert.throws(
        () => read(value),
        refusal(new RegExp(`^${variableOf(name)}: begins or ends with a blank`)),
      );
    assert.deepEqual([read(NEWER).settings[name]].flat(), [NEWER]);
  }
  const { settings } = readConfiguration({}, { GRANTD_SECRET: `${JSON.stringify([`${NEWER}\n`])}\n` });
  assert.deepEqual(settings.secret, [`${NEWER}\n`], 'in an array, each character is meant');
});

test('an audience of digits alone is a text as well', () => {
  const { settings } = readConfiguration({ defaultAudience: '42' }, {});
  assert.equal(settings.defaultAudience, '42');
});

test('an issuer has to be in ASCII, as the library wants it', () => {
  assert.throws(
    () => readConfiguration({ issuer: 'https://bücher.example' }, {}),
    refusal(/^--issuer: expected an http or https URL/),
  );
});

test('a switch alone means true', () => {
  assert.equal(readConfiguration({ demo: true }, {}).settings.demo, true);
});

test('an empty variable counts as one that is not set', () => {
  assert.equal(readConfiguration({}, { GRANTD_PORT: '' }).settings.port, 4000);
});

test('the file is named by GRANTD_CONFIG as well, from the folder where the command was typed', () => {
  fileWith({ port: 8 }, 'other.json');
  const environment = { GRANTD_CONFIG: 'other.json', INIT_CWD: folder };
  assert.equal(readConfiguration({}, environment).settings.port, 8);
});

test('an unknown name in the file is refused, with the name that was probably meant', () => {
  const config = fileWith({ prot: 1 });
  assert.throws(
    () => readConfiguration({ config }, {}),
    refusal(/^prot in .*grantd\.json: no such option\. Did you mean port\?$/),
  );
  // `secret` is its beginning, but further away.
  const other = fileWith({ secretFil: 'x' });
  assert.throws(() => readConfiguration({ config: other }, {}), refusal(/Did you mean secretFile\?$/));
});

test('a file that is missing, no JSON or no object is refused without a word of its content', () => {
  assert.throws(
    () => readConfiguration({ config: join(folder, 'none.json') }, {}),
    refusal(/none\.json: expected a readable JSON file$/),
  );
  const broken = fileWith(`{"secret": "${SECRET}`, 'broken.json');
  assert.throws(
    () => readConfiguration({ config: broken }, {}),
    refusal(/broken\.json:1:12: expected valid JSON$/),
  );
  const list = fileWith([], 'list.json');
  assert.throws(
    () => readConfiguration({ config: list }, {}),
    refusal(/list\.json: expected a JSON object$/),
  );
});

test('broken JSON is refused with the line and column of the error, without the content', () => {
  for (const [text, place] of [
    ['', '1:1'],
    ['{"port": 1,}', '1:12'],
    ['{\n  "port": 1\n  "host": "::1"\n}', '3:3'],
    ['{\n  "secret": "a secret,\n}', '2:13'],
    ['{"port": 1', '1:11'],
    ['{"port": 01}', '1:11'],
    ['{"port": 1} x', '1:13'],
    ["{'port': 1}", '1:2'],
    ['{"secret": "\\x"}', '1:12'],
    ['[1, [true, null], {"a": -1.5e3}, "\\u00e9", ]', '1:44'],
  ] as const) {
    const config = fileWith(text, 'broken.json');
    const message = `${config}:${place}: expected valid JSON`;
    assert.throws(() => readConfiguration({ config }, {}), { name: 'ConfigurationRefused', message });
  }
});

test('a config file is refused if others can read or write it, but only if it contains a secret', () => {
  const withPassword = 'postgres://grantd:password@db.example/grantd';
  for (const [content, name] of [
    [{ secret: SECRET }, 'secret'],
    [{ pairwiseSecret: SECRET }, 'pairwiseSecret'],
    [{ database: withPassword }, 'the password of database'],
  ] as const) {
    const config = fileWith(content);
    for (const mode of [0o644, 0o604, 0o602, 0o601]) {
      chmodSync(config, mode);
      assert.throws(
        () => readConfiguration({ config }, {}),
        (error) => {
          assert.ok(error instanceof ConfigurationRefused);
          assert.ok(
            error.message.startsWith(`${name} in a file: ${config} is open to others`),
            error.message,
          );
          return true;
        },
      );
    }
    chmodSync(config, 0o400);
    readConfiguration({ config }, {});
  }
  const open = fileWith({ port: 1, database: 'postgres://grantd@db.example/grantd' });
  chmodSync(open, 0o666);
  assert.equal(readConfiguration({ config: open }, {}).settings.port, 1);
});

test('a misspelt variable is warned of, with the name that was probably meant', () => {
  const environment = {
    GRANTD_INTROSPECTION_POLCY: 'audience',
    GRANTD_SERVICE_HOST: '10.0.0.1',
    GRANTD_PORT: '1',
    GRANTD_CONFIG: 'x',
  };
  assert.deepEqual(unknownVariableWarnings(environment), [
    'GRANTD_INTROSPECTION_POLCY is ignored: no such option. Did you mean GRANTD_INTROSPECTION_POLICY?',
    'GRANTD_SERVICE_HOST is ignored: no such option',
  ]);
});

test('an error of the library names the option as it was written', () => {
  const configuration = readConfiguration({}, { GRANTD_INTROSPECTION_POLICY: 'audience' });
  const thrown = new ConfigurationError('introspectionPolicy', 'any_client');
  assert.throws(
    () => rethrowAsWritten(configuration, thrown),
    refusal(/^GRANTD_INTROSPECTION_POLICY: expected any_client$/),
  );
});
