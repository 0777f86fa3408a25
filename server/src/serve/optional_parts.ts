// Parts of the server whose modules are loaded only if they are on.
import type { AuthorizationServer } from '@grantd/core';
import { tlsCertificateOf } from '@grantd/core/node';
import type { Configuration } from '../config/configuration.ts';
import type { Settings } from '../config/options.ts';
import type { Provider } from '../config/providers.ts';
import type { StoredIn } from '../data/database_of.ts';
import { type Directory, DirectoryFault } from '../directory/contract.ts';
import type { Instance } from '../instance/instance.ts';
import type { Log } from '../log/log.ts';
import type { MailService } from '../mail/mail.ts';
import type { Operator } from '../pages/drawing/operator.ts';
import type { Routes } from './http_server.ts';
import type { BackupPlan } from './scheduled_backups.ts';

/** Loads the admin API, if it is on. */
export async function adminListener(
  ...[instance, surroundings]: Parameters<typeof import('../http/admin_api.ts')['openAdminApi']>
): Promise<Routes['admin']> {
  if (!surroundings.configuration.settings.adminApi) return undefined;
  const { openAdminApi } = await import('../http/admin_api.ts');
  return openAdminApi(instance, surroundings);
}

/** Loads the console, if it is on. */
export async function consolePages(
  ...[instance, surroundings]: Parameters<typeof import('../console/console.ts')['openConsole']>
): Promise<Awaited<ReturnType<typeof import('../console/console.ts')['openConsole']>> | undefined> {
  if (!surroundings.configuration.settings.console) return undefined;
  const { openConsole } = await import('../console/console.ts');
  return openConsole(instance, surroundings);
}

/** Loads the endpoint for gateways, if it is on. */
export async function tokenCheckOf(
  parts: Omit<
    ConstructorParameters<typeof import('../gateways/token_check.ts')['TokenCheck']>[0],
    'originalCertificate'
  > & { readonly settings: Settings },
  log: Log,
): Promise<import('../gateways/token_check.ts').TokenCheck | undefined> {
  const { tokenCheck, tokenCheckCertificateHeader: header, clientCertificateFormat } = parts.settings;
  if (!tokenCheck) return undefined;
  const { TokenCheck } = await import('../gateways/token_check.ts');
  // Every gateway has been authenticated.
  const anywhere = { trustedProxies: ['0.0.0.0/0', '::/0'], clientCertificateFormat };
  const originalCertificate =
    header && (await headerSource({ ...anywhere, clientCertificateHeader: header }, log));
  return new TokenCheck({ ...parts, ...(originalCertificate && { originalCertificate }) });
}

/** Loads the part that sends emails, if the server sends any. */
export async function mailService(
  instance: Instance,
  {
    settings,
    ...surroundings
  }: {
    readonly settings: Settings;
    readonly operator: Operator;
    readonly log: Log;
  },
): Promise<MailService | undefined> {
  if (settings.smtpUrl === undefined && !settings.demo) return undefined;
  const { openMail } = await import('../mail/mail.ts');
  return openMail(instance, { settings, ...surroundings });
}

/**
 * The directory of the options, whose module is loaded only if there is one.
 * @throws {ConfigurationRefused} an option of the directory is invalid
 */
export async function directoryOf(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<Directory | undefined> {
  if (configuration.settings.ldapUrl === undefined) return undefined;
  const { openDirectory } = await import('../directory/directory.ts');
  return openDirectory(configuration, environment);
}

/** The same directory. @param onAnswer hears of each request whether it was answered */
export function noted(directory: Directory, onAnswer: (isAnswered: boolean) => void): Directory {
  const noting = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      const result = await answer;
      onAnswer(true);
      return result;
    } catch (error) {
      if (error instanceof DirectoryFault) onAnswer(false);
      throw error;
    }
  };
  const { groups, claims, areEmailsVerified, ownsAccounts } = directory;
  return {
    ...{ groups, claims, areEmailsVerified, ...(ownsAccounts !== undefined && { ownsAccounts }) },
    authenticate: (...given) => noting(directory.authenticate(...given)),
    byId: (id) => noting(directory.byId(id)),
    ...(directory.hasName && {
      hasName: async (name) => noting(Promise.resolve(directory.hasName?.(name) ?? false)),
    }),
    close: () => directory.close(),
  };
}

/** Loads the part that signs users in through providers, if any is configured. */
export async function upstreamOf(
  { upstreamIdentities: identities, apiRequests: requests, people, storage }: Instance,
  providers: readonly Provider[],
  onAnswer: ((provider: Provider, isAnswered: boolean) => void) | undefined,
): Promise<Parameters<typeof import('../pages/pages.ts')['openPages']>[1]['openUpstream']> {
  if (providers.length === 0) return undefined;
  const { Upstream } = await import('../people/upstream.ts');
  const parts = { identities, people, requests, storage, clock: Date.now, onAnswer };
  return ({ ending }) => new Upstream(providers, { ...parts, ending });
}

/** Where client certificates come from: the mTLS port, or the header of a trusted proxy. */
export async function certificateSource(settings: Settings, log: Log): Promise<Routes['clientCertificate']> {
  const { mtlsPort, clientCertificateHeader } = settings;
  if (mtlsPort !== undefined) return tlsCertificateOf;
  if (clientCertificateHeader === undefined) return undefined;
  return headerSource({ ...settings, clientCertificateHeader }, log);
}

async function headerSource(
  { clientCertificateFormat = 'rfc9440', ...header }: HeaderSettings,
  log: Log,
): Promise<Routes['clientCertificate']> {
  const { proxiedCertificateReader } = await import('./proxied_certificate.ts');
  return proxiedCertificateReader({ clientCertificateFormat, ...header }, ({ id }, reason) =>
    log.warn({ event: 'client_certificate_header_ignored', reason, requestId: String(id) }),
  );
}

type HeaderSettings = Pick<Settings, 'clientCertificateFormat' | 'trustedProxies'> &
  Partial<Pick<Settings, 'clientCertificateVerified'>> & { readonly clientCertificateHeader: string };

/** Loads the demo only when it is served. */
export async function addDemo(
  instance: Instance,
  server: AuthorizationServer,
): Promise<() => Promise<string>> {
  const { PasswordHasher } = await import('../people/password_hasher.ts');
  const { addDemoData } = await import('../../demo/demo.ts');
  return addDemoData(instance, server, new PasswordHasher());
}

/** Loads the module of scheduled backups only if the server makes any. */
export async function planOfBackups(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<BackupPlan | undefined> {
  if (configuration.settings.backupFolder === undefined) return undefined;
  const { backupPlanOf } = await import('./scheduled_backups.ts');
  return backupPlanOf(configuration, environment);
}

export async function backUp(
  issuer: string,
  database: StoredIn,
  { secret: secrets }: Settings,
  plan: BackupPlan | undefined,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  if (plan === undefined) return;
  const { backUpPeriodically } = await import('./scheduled_backups.ts');
  await backUpPeriodically(plan, { database, issuer, secrets }, log, signal);
}
