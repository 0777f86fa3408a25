import { type Act, type DependentsOfSecret, ServerSecret } from '@grantd/core';
import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import { newSecret } from '../data/secrets.ts';
import { askStorage } from '../data/tables.ts';
import { type CommandParts, databaseFlags, printList, printOne, withInstance } from './command.ts';
import { BadUsage } from './exit.ts';

interface RotateFlags extends GivenFlags {
  readonly generate?: true;
}

interface DropFlags extends GivenFlags {
  readonly force?: true;
}

export function secretsCommands(): Command {
  const group = new Command('secrets').description(
    "manage the server's secret, which protects client secrets and signing keys",
  );
  databaseFlags(
    group
      .command('status')
      .description('show what depends on each secret, and whether old secrets can be dropped'),
  ).action((flags: GivenFlags) => withInstance(flags, 'needs_database', showStatus));
  databaseFlags(group.command('rotate').description('add a new first secret. Older secrets stay accepted'))
    .option('--generate', 'print a new secret for GRANTD_SECRET, if the secret is not in a file')
    .addHelpText(
      'after',
      `
Restart the server immediately afterwards. Until then, it does not know the new secret. See docs/secrets.md for all steps.`,
    )
    .action((flags: RotateFlags) =>
      withInstance(flags, 'needs_database', (parts) => rotate(parts, flags.generate === true)),
    );
  databaseFlags(group.command('drop').description('drop all secrets except the first'))
    .option('--force', 'drop them even if clients or keys depend on them, which then stop working')
    .action((flags: DropFlags) =>
      withInstance(flags, 'needs_database', (parts) => drop(parts, flags.force === true)),
    );
  return group;
}

/** What depends on one secret, on an unknown one, or on a lost one. */
interface StatusRow extends DependentsOfSecret {
  /** A fingerprint, `unknown` if it could be any of the secrets, or `lost` if it is none of them. */
  readonly secret: string;
  readonly use: 'used for new values' | 'accepted' | 'not known' | 'missing';
  readonly pairwiseSecret: boolean;
  /** Number of their secrets. */
  readonly authenticatorApps: number;
}

async function statusOf(parts: CommandParts): Promise<readonly StatusRow[]> {
  const { secrets, unknown, lost, keptPairwiseSecret, totpSecrets } = await parts.secretDependents();
  const ofProgram = (index: number) => ({
    pairwiseSecret: keptPairwiseSecret === index,
    authenticatorApps: totpSecrets.get(index) ?? 0,
  });
  const listed = secrets.map(({ fingerprint, clients, signingKeys }, index): StatusRow => {
    const use = index === 0 ? 'used for new values' : 'accepted';
    return { secret: fingerprint, use, clients, signingKeys, ...ofProgram(index) };
  });
  const others: readonly StatusRow[] = [
    { secret: 'unknown', use: 'not known', ...unknown, pairwiseSecret: false, authenticatorApps: 0 },
    { secret: 'lost', use: 'missing', ...lost, ...ofProgram(-1) },
  ];
  return [...listed, ...others.filter(hasDependents)];
}

function hasDependents({
  clients,
  signingKeys,
  pairwiseSecret,
  authenticatorApps,
}: Omit<StatusRow, 'secret' | 'use'>): boolean {
  return clients.length + signingKeys.length + authenticatorApps > 0 || pairwiseSecret;
}

/** What would stop working without the accepted secrets. */
function dependentsOfAccepted(rows: readonly StatusRow[]): readonly StatusRow[] {
  return rows.filter((row) => (row.use === 'accepted' || row.use === 'not known') && hasDependents(row));
}

async function showStatus(parts: CommandParts): Promise<void> {
  const rows = await statusOf(parts);
  printList(parts, rows, {
    SECRET: ({ secret }) => secret,
    USE: ({ use }) => use,
    CLIENTS: ({ clients }) => String(clients.length),
    'SIGNING KEYS': ({ signingKeys }) => String(signingKeys.length),
    'PAIRWISE SECRET': ({ pairwiseSecret }) => (pairwiseSecret ? 'yes' : ''),
    'AUTHENTICATOR APPS': ({ authenticatorApps }) => String(authenticatorApps),
  });
  if (parts.isJson) return;
  const accepted = rows.filter(({ use }) => use === 'accepted');
  const dependents = dependentsOfAccepted(rows);
  if (accepted.length > 0) {
    const names = accepted.map(({ secret }) => secret).join(', ');
    const [first] = dependents;
    console.log(
      first === undefined
        ? `nothing depends on ${names}: you can run grantd secrets drop`
        : `${names} cannot be dropped yet: ${dependents.map(inWords).join('; ')}`,
    );
  }
}

const MAX_NAMED = 10;

function inWords({ secret, clients, signingKeys, pairwiseSecret, authenticatorApps }: StatusRow): string {
  const more = clients.length > MAX_NAMED ? ` and ${clients.length - MAX_NAMED} more` : '';
  const parts = [
    clients.length > 0 && `the secrets of ${clients.slice(0, MAX_NAMED).join(', ')}${more}`,
    signingKeys.length > 0 && `${signingKeys.length} signing keys`,
    pairwiseSecret && 'the secret of pairwise subject identifiers',
    authenticatorApps > 0 &&
      `${authenticatorApps} ${authenticatorApps === 1 ? 'authenticator app' : 'authenticator apps'}`,
  ].filter((part) => part !== false);
  const where = secret === 'unknown' ? 'may depend on any of them' : `depend on ${secret}`;
  return `${parts.join(', ')} ${where}`;
}

async function rotate(parts: CommandParts, generate: boolean): Promise<void> {
  const { settings, sourceOf } = parts.configuration;
  if (settings.secret !== undefined) return explainRotation(parts, sourceOf('secret'), generate);
  if (generate)
    throw new BadUsage(
      '--generate: omit it, because the secret is in a file that this command changes itself',
    );
  const added = newSecret();
  let secrets: readonly string[] = [];
  const file = parts.database.changeKeptSecret((before) => {
    secrets = [added, ...before];
    return secrets;
  });
  const [fingerprint = '', ...accepted] = await new ServerSecret(secrets).fingerprints();
  printOne(parts, { file, fingerprint, accepted }, [
    `${file} now starts with the new secret ${fingerprint}; ${accepted.join(', ')} stays accepted.`,
    'Restart the server now. Until then, it rejects client secrets that a command creates. Then follow grantd secrets status.',
  ]);
  await record(parts, 'server_secret_rotated', fingerprint);
}

/** Comes after the output: if recording fails, the file has changed all the same. */
function record({ storage }: CommandParts, type: Act['type'], fingerprint: string): Promise<void> {
  return askStorage(() => storage.recordAct({ type, target: fingerprint, actor: 'cli' }));
}

/** Prints only a new secret, because the operator already knows the present ones. */
function explainRotation(parts: CommandParts, source: string, generate: boolean): void {
  const secret = generate ? newSecret() : undefined;
  const isVariable = source.startsWith('GRANTD_');
  const name = secret ?? 'NEW';
  const array = (first: string, second: string) => {
    const value = `["${first}","${second}"]`;
    return isVariable ? `${source}='${value}'` : `"secret": ${value}`;
  };
  printOne(parts, { source, ...(secret !== undefined && { secret }) }, [
    `The secret is set by ${source}. PRESENT stands for its present value:`,
    '',
    `  1. ${array('PRESENT', name)}, and restart every process`,
    `  2. ${array(name, 'PRESENT')}, and restart every process`,
    '',
    'With a single process, start at step 2. Then follow grantd secrets status.',
    ...(secret === undefined ? ['For a new secret: grantd secrets rotate --generate'] : []),
  ]);
}

async function drop(parts: CommandParts, force: boolean): Promise<void> {
  const { settings, sourceOf } = parts.configuration;
  const read = settings.secret ?? parts.database.keptSecret();
  const rows = await statusOf(parts);
  const dropped = rows.filter(({ use }) => use === 'accepted').map(({ secret }) => secret);
  const [first] = rows;
  if (dropped.length === 0 || first === undefined)
    throw new Refused('there is only one secret, and it is in use: add another with grantd secrets rotate.');
  const dependents = dependentsOfAccepted(rows);
  if (dependents.length > 0 && !force)
    throw new Refused(
      `${dependents.map(inWords).join('; ')}. Clients move to the new secret when they authenticate, keys and authenticator apps when the server starts. ` +
        'For the others, run grantd client rotate-secret, or use --force, which stops them from working.',
    );
  if (settings.secret !== undefined) {
    const source = sourceOf('secret');
    return printOne(parts, { source, fingerprint: first.secret, canBeDropped: dropped }, [
      `Set ${source} to only its first secret (${first.secret}), and restart every process.`,
    ]);
  }
  const file = parts.database.changeKeptSecret((secrets) => {
    const [kept = ''] = secrets;
    if (secrets.join() !== read.join()) throw new Refused('the secrets have just changed: try again.');
    return [kept];
  });
  printOne(parts, { file, fingerprint: first.secret, dropped }, [
    `${file} now contains only the secret ${first.secret}; ${dropped.join(', ')} is dropped.`,
    'Restart the server, so that it no longer accepts dropped secrets.',
  ]);
  for (const secret of dropped) await record(parts, 'server_secret_dropped', secret);
}
