import { isSameResource } from '@grantd/core';
import { plainAddress } from '@grantd/core/node';
import type { Configuration } from '../config/configuration.ts';
import { isLoopback, LOOPBACK, networkCheck } from '../config/networks.ts';
import { OPTIONS, type OptionName } from '../config/options.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import { adminAudience, isAdminScope } from '../instance/admin_access.ts';
import type { Instance } from '../instance/instance.ts';

/**
 * Demo data is for this machine only, because its passwords are public. No profile allows the secrets of its clients.
 * @throws {ConfigurationRefused} the host is not on loopback, or the server has a profile
 */
export function refuseExposedDemo({ settings, sourceOf }: Configuration): void {
  if (settings.demo && settings.profile !== undefined)
    throw new ConfigurationRefused(
      `${sourceOf('demo')}: expected false, because ${sourceOf('profile')} does not allow the secrets of demo clients`,
    );
  if (!settings.demo || isLoopback(settings.host)) return;
  throw new ConfigurationRefused(
    `${sourceOf('host')}: expected a loopback address such as 127.0.0.1, because ` +
      `${sourceOf('demo')} adds public passwords`,
  );
}

/**
 * Keeps demo data out of other databases.
 * @throws {Refused} the issuer is not on loopback
 */
export function refuseForeignDemo({ settings }: Configuration, issuer: string, databaseName: string): void {
  if (settings.demo && !isLoopback(new URL(issuer).hostname)) {
    throw new Refused(
      `the database ${databaseName} belongs to ${issuer}, and --demo would add public passwords: ` +
        'use another --database.',
    );
  }
}

/**
 * Keeps a database with demo data on loopback.
 * @throws {Refused} the host is not on loopback
 */
export async function refuseKnownPasswords(
  { settings }: Configuration,
  { database, demoMark }: Instance,
): Promise<void> {
  if (!isLoopback(settings.host) && (await demoMark.isSet())) {
    throw new Refused(
      `the database ${database.name} contains demo data with public passwords: ` +
        'use another --database, or a loopback --host.',
    );
  }
}

/**
 * Demo data stays in the database after `--demo`.
 * @returns a warning for people; `undefined` if none of its clients and users is left
 */
export async function leftDemoData({
  database,
  demoMark,
  storage,
  people,
}: Instance): Promise<string | undefined> {
  if (!(await demoMark.isSet())) return undefined;
  const { DEMO_CLIENTS, DEMO_PERSON } = await import('../../demo/demo.ts');
  const ids = Object.values(DEMO_CLIENTS).map(({ id }) => id);
  const clients = await Promise.all(ids.map((id) => storage.clients.get(id)));
  const left = [
    ...ids.filter((_, index) => clients[index]).map((id) => `the client ${id}`),
    ...((await people.byName(DEMO_PERSON.name)) === undefined ? [] : [`the user ${DEMO_PERSON.name}`]),
  ];
  if (left.length === 0) return undefined;
  return (
    `grantd: ${database.name} still contains data of --demo, with public passwords: ${left.join(', ')}. ` +
    'Use another --database, or remove them with grantd client remove and grantd user remove.'
  );
}

/**
 * Options for TLS and client certificates that do not belong together.
 * @throws {ConfigurationRefused} names the option and what it needs
 */
export function refuseContradictoryTls({ settings, sourceOf }: Configuration): void {
  const refuse = (option: OptionName, expected: string): never => {
    throw new ConfigurationRefused(`${sourceOf(option)}: expected ${expected}`);
  };
  const isGiven = (option: OptionName) => settings[option] !== undefined;
  const hasHeader = isGiven('clientCertificateHeader');
  refuseWithoutNeeded({ settings, sourceOf }, NEEDED);
  if (isGiven('clientCertificateFormat') && !hasHeader && !isGiven('tokenCheckCertificateHeader'))
    refuse('clientCertificateFormat', `${sourceOf('clientCertificateHeader')} with it`);
  if (isGiven('mtlsPort') && hasHeader)
    refuse('clientCertificateHeader', `no ${sourceOf('mtlsPort')}, because certificates come from one place`);
  if (hasHeader && (settings.trustedProxies ?? []).length === 0)
    refuse(
      'clientCertificateHeader',
      `${sourceOf('trustedProxies')} with it, because anyone can send a header`,
    );
  if (isGiven('mtlsOrigin') && !isGiven('mtlsPort') && !hasHeader)
    refuse('mtlsOrigin', `${sourceOf('mtlsPort')} or ${sourceOf('clientCertificateHeader')} with it`);
  if (isGiven('mtlsPort') && settings.mtlsPort !== 0 && settings.mtlsPort === settings.port)
    refuse('mtlsPort', `another port than ${sourceOf('port')}`);
  if (settings.issuer !== undefined) refusePlainIssuer({ settings, sourceOf }, settings.issuer);
}

/**
 * Options for metrics that do not belong together.
 * @throws {ConfigurationRefused} names the option and what it needs
 */
export function refuseContradictoryMetrics({ settings, sourceOf }: Configuration): void {
  refuseWithoutNeeded({ settings, sourceOf }, [
    ['metricsHost', 'metricsPort'],
    ['metricsClients', 'metricsPort'],
  ]);
  const { metricsPort, metricsHost = LOOPBACK, host } = settings;
  if (metricsPort === undefined || metricsPort === 0 || areApart(metricsHost, host)) return;
  for (const other of ['port', 'mtlsPort'] as const) {
    if (metricsPort === settings[other])
      throw new ConfigurationRefused(
        `${sourceOf('metricsPort')}: expected another port than ${sourceOf(other)}, because ${metricsHost} and ${host} can be the same address`,
      );
  }
}

/** Whether two hosts are different addresses in any case. A name can have several, and `0.0.0.0` and `::` are all. */
function areApart(one: string, other: string): boolean {
  const [first, second] = [plainAddress(one), plainAddress(other)];
  if (first === undefined || second === undefined || first === second) return false;
  return ![first, second].some((address) => address === '0.0.0.0' || address === '::');
}

type Need = readonly [option: OptionName, needed: OptionName];

function refuseWithoutNeeded({ settings, sourceOf }: Configuration, needs: readonly Need[]): void {
  for (const [option, needed] of needs) {
    if (settings[option] !== undefined && settings[needed] === undefined)
      throw new ConfigurationRefused(`${sourceOf(option)}: expected ${sourceOf(needed)} with it`);
  }
}

/**
 * Options for emails that do not belong together.
 * @throws {ConfigurationRefused} names the option and what it needs
 */
export function refuseContradictoryMail({ settings, sourceOf }: Configuration): void {
  const refuse = (option: OptionName, expected: string): never => {
    throw new ConfigurationRefused(`${sourceOf(option)}: expected ${expected}`);
  };
  const { smtpUrl, mailFrom, signUp, signUpDomains, demo, emailCode } = settings;
  if (smtpUrl !== undefined && mailFrom === undefined)
    refuse('smtpUrl', `${sourceOf('mailFrom')} with it, the sender of the emails`);
  if (mailFrom !== undefined && smtpUrl === undefined)
    refuse('mailFrom', `${sourceOf('smtpUrl')} with it, the server that sends the emails`);
  if (signUp === 'open' && smtpUrl === undefined && !demo)
    refuse('signUp', `${sourceOf('smtpUrl')} with it, because addresses are verified by email`);
  if (emailCode !== 'off' && smtpUrl === undefined && !demo)
    refuse('emailCode', `${sourceOf('smtpUrl')} with it, the server that sends the codes`);
  for (const option of ['emailCodeGroups', 'emailCodeClients'] as const)
    if (settings[option] !== undefined && emailCode === 'off')
      refuse(option, `${sourceOf('emailCode')} also or first with it`);
  if (
    settings.insecureEmailCodeForAdministrators &&
    (emailCode === 'off' || settings.adminGroup === undefined)
  )
    refuse(
      'insecureEmailCodeForAdministrators',
      `${sourceOf('emailCode')} and ${sourceOf('adminGroup')} with it`,
    );
  if (signUpDomains !== undefined && signUp !== 'open')
    refuse('signUpDomains', `${sourceOf('signUp')} open with it`);
}

/**
 * A mistyped name would silently keep users from their codes.
 * @throws {Refused} a group or client of the options for codes by email does not exist
 */
export async function refuseUnknownInCodeOptions(
  { settings, sourceOf }: Configuration,
  { groups, storage }: Pick<Instance, 'groups' | 'storage'>,
): Promise<void> {
  for (const group of settings.emailCodeGroups ?? [])
    if ((await groups.byName(group))?.name !== group)
      throw new Refused(
        `${sourceOf('emailCodeGroups')}: there is no group ${group}: add it first with grantd group add ${JSON.stringify(group)}.`,
      );
  for (const client of settings.emailCodeClients ?? [])
    if ((await storage.clients.get(client)) === undefined)
      throw new Refused(
        `${sourceOf('emailCodeClients')}: there is no client ${client}: add it first with grantd client add ${JSON.stringify(client)}.`,
      );
}

/**
 * Options that would let clients use the admin API without an operator’s decision, and a console without a group.
 * @throws {ConfigurationRefused} names the option
 */
export function refuseOpenAdministration({ settings, sourceOf }: Configuration): void {
  const refuse = (option: OptionName, expected: string): never => {
    throw new ConfigurationRefused(`${sourceOf(option)}: expected ${expected}`);
  };
  const { adminApi, adminGroup, registrationScopes, registrationApis, defaultAudience = [] } = settings;
  if (settings.console && adminGroup === undefined)
    refuse('console', `${sourceOf('adminGroup')} with it, the group of its users`);
  const scope = registrationScopes.find(isAdminScope);
  if (scope !== undefined)
    refuse(
      'registrationScopes',
      `no scope of the admin API, got ${scope}: clients cannot give it to themselves`,
    );
  // The issuer may be the stored one, so every URI that could be the admin API counts.
  const isAdminApi = (uri: string) => isOwnUri(uri, settings.issuer) && uri.endsWith('/admin');
  const api = registrationApis.find(isAdminApi);
  if (api !== undefined)
    refuse('registrationApis', `no admin API, got ${api}: clients cannot give it to themselves`);
  const audience = [defaultAudience].flat().find(isAdminApi);
  if (audience !== undefined)
    refuse('defaultAudience', `another URI than that of the admin API, because every client gets this one`);
  if (adminGroup !== undefined && !adminApi && !settings.console)
    refuse('adminGroup', `${sourceOf('adminApi')} or ${sourceOf('console')} with it`);
}

/**
 * Options of gateways that have no effect, or would let everyone ask.
 * @throws {ConfigurationRefused} names the option and what it needs
 */
export function refuseContradictoryGateways(configuration: Configuration): void {
  const { settings, sourceOf } = configuration;
  const { tokenCheck, tokenCheckFrom, trustedProxies } = settings;
  refuseWithoutNeeded(configuration, [['tokenCheckFrom', 'tokenCheckAudiences']]);
  const refuse = (option: OptionName, expected: string): never => {
    throw new ConfigurationRefused(`${sourceOf(option)}: expected ${expected}`);
  };
  const needing = ['tokenCheckAudiences', 'tokenCheckCertificateHeader', 'tokenCheckRequest'] as const;
  const idle = needing.find((option) => settings[option] !== OPTIONS[option].byDefault);
  if (!tokenCheck && idle !== undefined) refuse(idle, `${sourceOf('tokenCheck')} with it`);
  const shared = (tokenCheckFrom ?? []).find((one) =>
    (trustedProxies ?? []).some((other) => overlap(one, other)),
  );
  if (shared !== undefined)
    refuse(
      'tokenCheckFrom',
      `no address in ${sourceOf('trustedProxies')}, got ${shared}: everyone behind the proxy could check tokens`,
    );
}

function overlap(one: string, other: string): boolean {
  const startOf = (network: string) => network.split('/', 1)[0] ?? '';
  return networkCheck([one])(startOf(other)) || networkCheck([other])(startOf(one));
}

function isOwnUri(uri: string, issuer: string | undefined): boolean {
  if (issuer !== undefined) return isSameResource(uri, adminAudience(issuer));
  const url = URL.parse(uri);
  return url !== null && isLoopback(url.hostname);
}
/** @throws {ConfigurationRefused} an option for the directory has no effect without another */
export function refuseContradictoryDirectory(configuration: Configuration): void {
  refuseWithoutNeeded(configuration, NEEDED_OF_DIRECTORY);
}

const NEEDED_OF_DIRECTORY = [
  ['ldapUrl', 'ldapBase'],
  ['ldapBase', 'ldapUrl'],
  ['ldapCa', 'ldapUrl'],
  ['ldapBindDn', 'ldapUrl'],
  ['ldapBindPasswordFile', 'ldapBindDn'],
  ['ldapBindPassword', 'ldapBindDn'],
  ['ldapFilter', 'ldapUrl'],
  ['ldapIdAttribute', 'ldapUrl'],
  ['ldapUsernameAttribute', 'ldapUrl'],
  ['ldapClaims', 'ldapUrl'],
  ['ldapGroups', 'ldapUrl'],
  ['ldapGroupFilter', 'ldapUrl'],
  ['ldapGroupBase', 'ldapGroupFilter'],
] as const satisfies readonly Need[];

/** Options that have no effect without another. */
const NEEDED = [
  ['tlsCertificate', 'tlsKey'],
  ['tlsKey', 'tlsCertificate'],
  ['mtlsPort', 'tlsCertificate'],
  ['tlsClientCa', 'mtlsPort'],
  ['clientCertificateVerified', 'clientCertificateHeader'],
] as const satisfies readonly Need[];

/**
 * A server that speaks TLS has no URLs with http.
 * @throws {ConfigurationRefused} the issuer is http
 */
export function refusePlainIssuer({ settings, sourceOf }: Configuration, issuer: string): void {
  if (settings.tlsCertificate !== undefined && !issuer.startsWith('https:'))
    throw new ConfigurationRefused(`${sourceOf('tlsCertificate')}: expected an https issuer, got ${issuer}`);
}
