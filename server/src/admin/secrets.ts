// The secrets of the server.
import { type Act, type DependentsOfSecret, ServerSecret } from '@grantd/core';
import { newSecret } from '../data/secrets.ts';
import { askStorage } from '../data/tables.ts';
import { type AdminParts, change, type OperationParts, operation } from './operation.ts';
import { InvalidInput, OperationRefused, type Said } from './operation_refused.ts';
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

/** The secrets of the server, without their texts, the first one first. */
async function secretStatus(parts: Pick<OperationParts, 'secretDependents'>): Promise<readonly SecretView[]> {
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
  const listed = secrets.map((secret, index): SecretView => {
    const use = index === 0 ? 'used for new values' : 'accepted';
    return { secret: secret.fingerprint, use, ...dependents(secret), ...ofProgram(index) };
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
function dependentsOfAccepted(rows: readonly SecretView[]): readonly SecretView[] {
  return rows.filter((row) => (row.use === 'accepted' || row.use === 'not known') && hasDependents(row));
}

const MAX_NAMED = 10;

function dependentsInWords({
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

/** The same as a refusal, for all of them together. */
function dependentsSaid(rows: readonly SecretView[]): Said {
  const count = (numberOf: (row: SecretView) => number) =>
    String(rows.reduce((sum, row) => sum + numberOf(row), 0));
  const clients = rows.flatMap((row) => row.clients);
  const others = clients.length - MAX_NAMED;
  const named = clients.slice(0, MAX_NAMED).join(', ');
  return [
    'secrets_in_use',
    rows.map(dependentsInWords).join('; '),
    others > 0 ? `${named} … (+ ${others})` : named,
    count(({ signing_keys: keys }) => keys.length),
    count(({ authenticator_apps: apps }) => apps),
    rows.some(({ pairwise_secret: isNeeded }) => isNeeded) ? 'yes' : '',
    rows.some(({ audit_trail: isSealed }) => isSealed) ? 'yes' : '',
  ];
}

/** Comes last: if recording fails, the file has changed all the same. */
async function recordSecrets(
  { storage, caller: { actor } }: AdminParts,
  type: Act['type'],
  fingerprints: readonly string[],
): Promise<void> {
  for (const target of fingerprints) await askStorage(() => storage.recordAct({ type, target, actor }));
}

// ── What commands print ───────────────────────────────────────────────────────────────────────────────────

/** Whether the accepted secrets can be dropped. */
function mayDrop(rows: readonly SecretView[]): readonly string[] {
  const accepted = rows.filter(({ use }) => use === 'accepted').map(({ secret }) => secret);
  if (accepted.length === 0) return [];
  const names = accepted.join(', ');
  const dependents = dependentsOfAccepted(rows);
  return dependents.length === 0
    ? [`nothing depends on ${names}: you can run grantd secrets drop`]
    : [`${names} cannot be dropped yet: ${dependents.map(dependentsInWords).join('; ')}`];
}

/** Only a new secret is shown, because the operator already knows the present ones. */
function rotationInWords({
  file,
  fingerprint: first,
  accepted = [],
  source = '',
  secret,
}: ValueOf<typeof ROTATED_SECRETS>): readonly string[] {
  if (file !== undefined)
    return [
      `${file} now starts with the new secret ${first}; ${accepted.join(', ')} stays accepted.`,
      'Reload the server now (SIGHUP), or restart it. Until then, it rejects client secrets that a command creates. Then follow grantd secrets status.',
    ];
  const isVariable = source.startsWith('GRANTD_');
  const next = isVariable ? 'restart every process' : 'reload every server (SIGHUP)';
  const name = secret ?? 'NEW';
  const array = (one: string, other: string) => {
    const value = `["${one}","${other}"]`;
    if (isVariable) return `${source}='${value}'`;
    return source.startsWith('the file ') ? value : `"secret": ${value}`;
  };
  return [
    `The secret is set by ${source}. PRESENT stands for its present value:`,
    '',
    `  1. ${array('PRESENT', name)}, and ${next}`,
    `  2. ${array(name, 'PRESENT')}, and ${next}`,
    '',
    'With a single process, start at step 2. Then follow grantd secrets status.',
    ...(secret === undefined ? ['For a new secret: grantd secrets rotate --generate'] : []),
  ];
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
    command: {
      line: 'secrets status',
      about:
        'show how many clients and keys depend on each secret of the server, and whether old secrets can be dropped',
      columns: {
        SECRET: ({ secret }) => secret,
        USE: ({ use }) => use,
        CLIENTS: ({ clients }) => String(clients.length),
        'SIGNING KEYS': (row) => String(row.signing_keys.length),
        'PAIRWISE SECRET': (row) => (row.pairwise_secret ? 'yes' : ''),
        'AUTHENTICATOR APPS': (row) => String(row.authenticator_apps),
        'AUDIT TRAIL': (row) => (row.audit_trail ? 'yes' : ''),
      },
      lines: ({ items }) => mayDrop(items),
    },
    perform: async (parts) => ({ document: { items: await secretStatus(parts) } }),
  }),
  rotateSecrets: change({
    method: 'POST',
    path: '/secrets/rotate',
    scope: 'grantd:secrets:write',
    summary:
      'Add a new secret to the start of the file with the server’s secrets. Until you restart or reload the server, it uses only the old ones',
    body: SECRETS_ROTATION,
    isBodyOptional: true,
    status: 200,
    output: ROTATED_SECRETS,
    command: {
      line: 'secrets rotate',
      about:
        'add a new server secret, which protects all new data. The older secrets stay valid for the data that they protect',
      flags: {
        generate: {
          about:
            'only print a new secret, so that you can add it to GRANTD_SECRET. For servers whose secret is not in a file',
        },
      },
      notes: `Reload the server (SIGHUP) immediately afterwards, or restart it. Until then, it does not know the new secret, and
cannot use data that other processes protect with it. See docs/secrets.md for all steps.`,
      lines: rotationInWords,
    },
    async prepare({ caller, configuration }, { generate = false }) {
      // A caller who knows the secret can make every token.
      if (generate) caller.requireEveryScope();
      if (generate && configuration.settings.secret === undefined)
        throw new InvalidInput('generate', ['secret_in_file']);
      return newSecret();
    },
    async write(parts, added, { generate = false }) {
      const { settings, sourceOf } = parts.configuration;
      if (settings.secret !== undefined)
        return { document: { source: sourceOf('secret'), ...(generate && { secret: added }) } };
      let secrets: readonly string[] = [];
      const file = parts.database.changeKeptSecret((before) => {
        secrets = [added, ...before];
        return secrets;
      });
      const [first = '', ...accepted] = await new ServerSecret(secrets).fingerprints();
      await recordSecrets(parts, 'server_secret_rotated', [first]);
      return { document: { file, fingerprint: first, accepted } };
    },
  }),
  dropSecrets: change({
    method: 'POST',
    path: '/secrets/drop',
    scope: 'grantd:secrets:write',
    summary:
      'Remove all secrets except the first from the file with the server’s secrets. Until you restart or reload the server, it still accepts the removed ones',
    body: SECRETS_DROP,
    isBodyOptional: true,
    status: 200,
    output: DROPPED_SECRETS,
    command: {
      line: 'secrets drop',
      about: 'drop all secrets of the server except the newest',
      flags: {
        force: { about: 'drop them even if clients or keys depend on them, which then stop working' },
      },
      lines: ({ fingerprint: first, file, dropped = [], source }) =>
        file === undefined
          ? `Set ${source} to only its first secret (${first}), and reload or restart every process.`
          : [
              `${file} now contains only the secret ${first}; ${dropped.join(', ')} is dropped.`,
              'Reload the server (SIGHUP), or restart it, so that it no longer accepts dropped secrets.',
            ],
    },
    async prepare(parts, { force = false }) {
      const read = parts.configuration.settings.secret ?? parts.database.keptSecret();
      const rows = await secretStatus(parts);
      const dropped = rows.filter(({ use }) => use === 'accepted').map(({ secret }) => secret);
      const [first] = rows;
      if (dropped.length === 0 || first === undefined)
        throw new OperationRefused(
          'conflict',
          ['only_one_secret'],
          'add another with grantd secrets rotate.',
        );
      const dependents = dependentsOfAccepted(rows);
      if (dependents.length > 0 && !force) throw new OperationRefused('conflict', dependentsSaid(dependents));
      return { read, dropped, first: first.secret };
    },
    async write(parts, { read, dropped, first }) {
      const { settings, sourceOf } = parts.configuration;
      if (settings.secret !== undefined)
        return { document: { source: sourceOf('secret'), fingerprint: first, can_be_dropped: dropped } };
      const file = parts.database.changeKeptSecret((secrets) => {
        const [kept = ''] = secrets;
        if (secrets.join() !== read.join())
          throw new OperationRefused('changed', ['secrets_changed'], 'try again.');
        return [kept];
      });
      await recordSecrets(parts, 'server_secret_dropped', dropped);
      return { document: { file, fingerprint: first, dropped } };
    },
  }),
};
