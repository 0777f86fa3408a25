// The secrets of the server.
import { type Act, type DependentsOfSecret, ServerSecret } from '@grantd/core';
import { newSecret } from '../data/secrets.ts';
import { askStorage } from '../data/tables.ts';
import { type OperationParts, operation } from './operation.ts';
import { InvalidInput, OperationRefused } from './operation_refused.ts';
import { count, flag, named, object, oneOf, text, texts, type ValueOf, whole } from './schema.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

const SECRET = object({
  secret: text(
    'The fingerprint of the secret. The value is unknown if the server cannot tell on which of its secrets the data in this object depend, and lost if they depend on a secret that the server no longer has.',
  ),
  use: oneOf(
    ['used for new values', 'accepted', 'not known', 'missing'],
    'used for new values: the first secret. accepted: a further secret, which old values still need. not known and missing: the objects for unknown and lost.',
  ),
  clients: texts('IDs of the clients whose secrets depend on this secret.'),
  signing_keys: texts('IDs of the signing keys that depend on this secret.'),
  pairwise_secret: flag('Whether pairwise subject identifiers depend on this secret.'),
  authenticator_apps: count('Number of users’ authenticator apps that depend on this secret.'),
  audit_trail: flag('Whether the seal that protects the audit trail against changes depends on this secret.'),
});
/** What depends on one secret of the server, on an unknown one, or on a lost one. */
export type SecretView = ValueOf<typeof SECRET>;
const SECRETS = whole(
  'Secrets',
  SECRET,
  'One object for each secret of the server. If it is unknown on which secret some data depend, or if this secret is lost, these data have an object of their own.',
);
const fingerprint = text('The fingerprint of the new secret.');
const changedFile = text(
  'The file on the server’s machine that the request changed. Absent if an option sets the secrets.',
);
const SECRETS_ROTATION = named(
  'SecretsRotation',
  object({
    'generate?': flag(
      'Whether the response contains a new secret. Allowed only if an option sets the server’s secret, because the server cannot change an option itself. The access token then needs every scope of the admin API.',
    ),
  }),
);
const ROTATED_SECRETS = named(
  'RotatedSecrets',
  object(
    {
      'file?': changedFile,
      'fingerprint?': fingerprint,
      'accepted?': texts('Fingerprints of the older secrets, which the server still accepts.'),
      'source?': text('The option that sets the secret. Absent if the secret is in a file.'),
      'secret?': text('A new secret for the option in source, if the request has generate.'),
    },
    {
      description:
        'If the server’s secret is in a file, the file now starts with a new secret: restart or reload the server to use it. If an option sets the secret, the request changed nothing: the member source names the option, which you must change yourself.',
    },
  ),
);
const SECRETS_DROP = named(
  'SecretsDrop',
  object({
    'force?': flag(
      'Whether to drop the secrets even if clients or keys depend on them. These clients and keys then stop working. With false, which is the default, the server rejects the request in this case.',
    ),
  }),
);
const DROPPED_SECRETS = named(
  'DroppedSecrets',
  object(
    {
      fingerprint: text('The fingerprint of the first secret, which stays.'),
      'file?': changedFile,
      'dropped?': texts('Fingerprints of the dropped secrets.'),
      'source?': text('The option that sets the secrets. Absent if the secrets are in a file.'),
      'can_be_dropped?': texts('Fingerprints of the secrets that you can remove from the option in source.'),
    },
    {
      description:
        'If the server’s secrets are in a file, the file now contains only the first. If an option sets the secrets, the request changed nothing: the member source names the option, and can_be_dropped names the secrets that you can remove from it.',
    },
  ),
);

// ── Rules ─────────────────────────────────────────────────────────────────────────────────────────────────

type SecretParts = Pick<OperationParts, 'storage' | 'configuration' | 'secretDependents' | 'database'>;

/** The secrets of the server, without their texts, the first one first. */
export async function secretStatus(
  parts: Pick<SecretParts, 'secretDependents'>,
): Promise<readonly SecretView[]> {
  const { secrets, unknown, lost, keptPairwiseSecret, totpSecrets, auditSeal } =
    await parts.secretDependents();
  const ofProgram = (index: number) => ({
    pairwise_secret: keptPairwiseSecret === index,
    authenticator_apps: totpSecrets.get(index) ?? 0,
    audit_trail: auditSeal === index,
  });
  const dependents = ({ clients, signingKeys }: DependentsOfSecret) => ({
    clients,
    signing_keys: signingKeys,
  });
  const listed = secrets.map((one, index): SecretView => {
    const use = index === 0 ? 'used for new values' : 'accepted';
    return { secret: one.fingerprint, use, ...dependents(one), ...ofProgram(index) };
  });
  const others: readonly SecretView[] = [
    {
      ...({ secret: 'unknown', use: 'not known', ...dependents(unknown) } as const),
      ...{ pairwise_secret: false, authenticator_apps: 0, audit_trail: false },
    },
    { secret: 'lost', use: 'missing', ...dependents(lost), ...ofProgram(-1) },
  ];
  return [...listed, ...others.filter(hasDependents)];
}

function hasDependents(one: Omit<SecretView, 'secret' | 'use'>): boolean {
  const { clients, signing_keys: keys, authenticator_apps: apps } = one;
  return clients.length + keys.length + apps > 0 || one.pairwise_secret || one.audit_trail;
}

/** What would stop working without the accepted secrets. */
export function dependentsOfAccepted(rows: readonly SecretView[]): readonly SecretView[] {
  return rows.filter((row) => (row.use === 'accepted' || row.use === 'not known') && hasDependents(row));
}

const MAX_NAMED = 10;

export function dependentsInWords({
  secret,
  clients,
  signing_keys: signingKeys,
  pairwise_secret: pairwiseSecret,
  authenticator_apps: authenticatorApps,
  audit_trail: auditTrail,
}: SecretView): string {
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

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

export const SECRET_OPERATIONS = {
  listSecrets: operation({
    method: 'GET',
    path: '/secrets',
    scope: 'grantd:secrets:read',
    summary:
      'List the server’s secrets by their fingerprints, with the clients, keys and other data that depend on each. The secrets themselves are not shown',
    status: 200,
    output: SECRETS,
    perform: async (parts) => ({ document: { items: await secretStatus(parts) } }),
  }),
  rotateSecrets: operation({
    method: 'POST',
    path: '/secrets/rotate',
    scope: 'grantd:secrets:write',
    summary:
      'Add a new secret to the start of the file with the server’s secrets. Until you restart or reload the server, it uses only the old ones',
    body: SECRETS_ROTATION,
    isBodyOptional: true,
    status: 200,
    output: ROTATED_SECRETS,
    async perform(parts, { generate = false }) {
      // A caller who knows the secret can make every token.
      if (generate) parts.caller.requireEveryScope();
      const rotation = await rotateSecrets(parts, generate);
      if ('file' in rotation)
        await recordSecrets(parts, 'server_secret_rotated', [rotation.fingerprint], parts.caller.actor);
      return { document: rotation };
    },
  }),
  dropSecrets: operation({
    method: 'POST',
    path: '/secrets/drop',
    scope: 'grantd:secrets:write',
    summary:
      'Remove all secrets except the first from the file with the server’s secrets. Until you restart or reload the server, it still accepts the removed ones',
    body: SECRETS_DROP,
    isBodyOptional: true,
    status: 200,
    output: DROPPED_SECRETS,
    async perform(parts, { force = false }) {
      const outcome = await dropSecrets(parts, force);
      if ('source' in outcome) {
        const { canBeDropped, ...others } = outcome;
        return { document: { ...others, can_be_dropped: canBeDropped } };
      }
      await recordSecrets(parts, 'server_secret_dropped', outcome.dropped, parts.caller.actor);
      return { document: outcome };
    },
  }),
};
