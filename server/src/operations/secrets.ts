import { type Act, type DependentsOfSecret, ServerSecret } from '@grantd/core';
import { newSecret } from '../data/secrets.ts';
import { askStorage } from '../data/tables.ts';
import { InvalidInput, type OperationParts, OperationRefused } from './operation.ts';

type SecretParts = Pick<OperationParts, 'storage' | 'configuration' | 'secretDependents' | 'database'>;

/** What depends on one secret of the server, on an unknown one, or on a lost one. */
export interface SecretStatus extends DependentsOfSecret {
  /** A fingerprint, `unknown` if it could be any of the secrets, or `lost` if it is none of them. */
  readonly secret: string;
  readonly use: 'used for new values' | 'accepted' | 'not known' | 'missing';
  readonly pairwiseSecret: boolean;
  /** Number of their secrets. */
  readonly authenticatorApps: number;
  readonly auditTrail: boolean;
}

/** The secrets of the server, without their texts, the first one first. */
export async function secretStatus(
  parts: Pick<SecretParts, 'secretDependents'>,
): Promise<readonly SecretStatus[]> {
  const { secrets, unknown, lost, keptPairwiseSecret, totpSecrets, auditSeal } =
    await parts.secretDependents();
  const ofProgram = (index: number) => ({
    pairwiseSecret: keptPairwiseSecret === index,
    authenticatorApps: totpSecrets.get(index) ?? 0,
    auditTrail: auditSeal === index,
  });
  const listed = secrets.map(({ fingerprint, clients, signingKeys }, index): SecretStatus => {
    const use = index === 0 ? 'used for new values' : 'accepted';
    return { secret: fingerprint, use, clients, signingKeys, ...ofProgram(index) };
  });
  const others: readonly SecretStatus[] = [
    {
      ...({ secret: 'unknown', use: 'not known', ...unknown } as const),
      ...{ pairwiseSecret: false, authenticatorApps: 0, auditTrail: false },
    },
    { secret: 'lost', use: 'missing', ...lost, ...ofProgram(-1) },
  ];
  return [...listed, ...others.filter(hasDependents)];
}

function hasDependents({
  clients,
  signingKeys,
  pairwiseSecret,
  authenticatorApps,
  auditTrail,
}: Omit<SecretStatus, 'secret' | 'use'>): boolean {
  return clients.length + signingKeys.length + authenticatorApps > 0 || pairwiseSecret || auditTrail;
}

/** What would stop working without the accepted secrets. */
export function dependentsOfAccepted(rows: readonly SecretStatus[]): readonly SecretStatus[] {
  return rows.filter((row) => (row.use === 'accepted' || row.use === 'not known') && hasDependents(row));
}

const MAX_NAMED = 10;

export function dependentsInWords({
  secret,
  clients,
  signingKeys,
  pairwiseSecret,
  authenticatorApps,
  auditTrail,
}: SecretStatus): string {
  const more = clients.length > MAX_NAMED ? ` and ${clients.length - MAX_NAMED} more` : '';
  const parts = [
    clients.length > 0 && `the secrets of ${clients.slice(0, MAX_NAMED).join(', ')}${more}`,
    signingKeys.length > 0 && `${signingKeys.length} signing keys`,
    pairwiseSecret && 'the secret of pairwise subject identifiers',
    authenticatorApps > 0 &&
      `${authenticatorApps} ${authenticatorApps === 1 ? 'authenticator app' : 'authenticator apps'}`,
    auditTrail && 'the audit trail',
  ].filter((part) => part !== false);
  const where = secret === 'unknown' ? 'may depend on any of them' : `depend on ${secret}`;
  return `${parts.join(', ')} ${where}`;
}

/** What a rotation did, or what the operator has to do, because the secret is set by an option. */
export type SecretRotation =
  | { readonly file: string; readonly fingerprint: string; readonly accepted: readonly string[] }
  /** `secret` is a new one, if wanted. */
  | { readonly source: string; readonly secret?: string };

/**
 * Adds a new first secret to the server’s file. Every process must restart immediately afterwards.
 * @param generates whether to return a new secret if the present one is set by an option
 * @throws {InvalidInput} the secret is in a file, and `generates` is set
 */
export async function rotateSecrets(
  parts: Pick<SecretParts, 'configuration' | 'database'>,
  generates: boolean,
): Promise<SecretRotation> {
  const { settings, sourceOf } = parts.configuration;
  if (settings.secret !== undefined)
    return { source: sourceOf('secret'), ...(generates && { secret: newSecret() }) };
  if (generates)
    throw new InvalidInput(
      'generate',
      'omit it, because the secret is in a file that this command changes itself',
    );
  const added = newSecret();
  let secrets: readonly string[] = [];
  const file = parts.database.changeKeptSecret((before) => {
    secrets = [added, ...before];
    return secrets;
  });
  const [fingerprint = '', ...accepted] = await new ServerSecret(secrets).fingerprints();
  return { file, fingerprint, accepted };
}

/** Comes after the outcome was shown: if recording fails, the file has changed all the same. */
export async function recordSecrets(
  { storage }: Pick<SecretParts, 'storage'>,
  type: Act['type'],
  fingerprints: readonly string[],
  actor: string,
): Promise<void> {
  for (const target of fingerprints) await askStorage(() => storage.recordAct({ type, target, actor }));
}

/** What was dropped, or what can be dropped from the option that sets the secret. */
export type DroppedSecrets = { readonly fingerprint: string } & (
  | { readonly file: string; readonly dropped: readonly string[] }
  | { readonly source: string; readonly canBeDropped: readonly string[] }
);

/**
 * Drops all secrets except the first.
 * @param isForced also if something depends on them, which then stops working
 * @throws {OperationRefused} there is nothing to drop, or something depends on it
 */
export async function dropSecrets(parts: SecretParts, isForced: boolean): Promise<DroppedSecrets> {
  const { settings, sourceOf } = parts.configuration;
  const read = settings.secret ?? parts.database.keptSecret();
  const rows = await secretStatus(parts);
  const dropped = rows.filter(({ use }) => use === 'accepted').map(({ secret }) => secret);
  const [first] = rows;
  if (dropped.length === 0 || first === undefined)
    throw new OperationRefused(
      'conflict',
      'there is only one secret, and it is in use',
      'add another with grantd secrets rotate.',
    );
  const dependents = dependentsOfAccepted(rows);
  if (dependents.length > 0 && !isForced)
    throw new OperationRefused(
      'conflict',
      `${dependents.map(dependentsInWords).join('; ')}. Clients move to the new secret when they authenticate, keys and authenticator apps when the server starts. ` +
        'For the others, run grantd client rotate-secret, or use --force, which stops them from working',
    );
  const fingerprint = first.secret;
  if (settings.secret !== undefined)
    return { source: sourceOf('secret'), fingerprint, canBeDropped: dropped };
  const file = parts.database.changeKeptSecret((secrets) => {
    const [kept = ''] = secrets;
    if (secrets.join() !== read.join())
      throw new OperationRefused('changed', 'the secrets have just changed', 'try again.');
    return [kept];
  });
  return { file, fingerprint, dropped };
}
