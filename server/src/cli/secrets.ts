import { Command } from 'commander';
import { call } from '../admin/in_process.ts';
import { dependentsInWords, dependentsOfAccepted } from '../admin/secrets.ts';
import type { GivenFlags } from '../config/configuration.ts';
import {
  type AdministrationParts,
  databaseFlags,
  namingFlags,
  type Output,
  printList,
  printOne,
  withAdministration,
} from './command.ts';

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
      .description(
        'show how many clients and keys depend on each secret of the server, and whether old secrets can be dropped',
      ),
  ).action((flags: GivenFlags) => withAdministration(flags, 'needs_database', showStatus));
  databaseFlags(
    group
      .command('rotate')
      .description(
        'add a new server secret, which protects all new data. The older secrets stay valid for the data that they protect',
      ),
  )
    .option(
      '--generate',
      'only print a new secret, so that you can add it to GRANTD_SECRET. For servers whose secret is not in a file',
    )
    .addHelpText(
      'after',
      `
Restart the server immediately afterwards. Until then, it does not know the new secret, and cannot use data that other
processes protect with it. See docs/secrets.md for all steps.`,
    )
    .action((flags: RotateFlags) =>
      withAdministration(flags, 'needs_database', (parts) => rotate(parts, flags.generate === true)),
    );
  databaseFlags(group.command('drop').description('drop all secrets of the server except the newest'))
    .option('--force', 'drop them even if clients or keys depend on them, which then stop working')
    .action((flags: DropFlags) =>
      withAdministration(flags, 'needs_database', (parts) => drop(parts, flags.force === true)),
    );
  return group;
}

async function showStatus(parts: AdministrationParts): Promise<void> {
  const { items: rows } = await call(parts.admin, 'listSecrets', {});
  printList(parts, rows, {
    SECRET: ({ secret }) => secret,
    USE: ({ use }) => use,
    CLIENTS: ({ clients }) => String(clients.length),
    'SIGNING KEYS': (row) => String(row.signing_keys.length),
    'PAIRWISE SECRET': (row) => (row.pairwise_secret ? 'yes' : ''),
    'AUTHENTICATOR APPS': (row) => String(row.authenticator_apps),
    'AUDIT TRAIL': (row) => (row.audit_trail ? 'yes' : ''),
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
        : `${names} cannot be dropped yet: ${dependents.map(dependentsInWords).join('; ')}`,
    );
  }
}

/** @throws {BadUsage} `generate` is set although the secret is in a file */
async function rotate(parts: AdministrationParts, generate: boolean): Promise<void> {
  const rotation = await namingFlags({ generate: '--generate' }, () =>
    call(parts.admin, 'rotateSecrets', { generate }),
  );
  const { file, fingerprint, accepted = [], source = '', secret } = rotation;
  if (file === undefined) return explainRotation(parts, { source, ...(secret !== undefined && { secret }) });
  printOne(parts, rotation, [
    `${file} now starts with the new secret ${fingerprint}; ${accepted.join(', ')} stays accepted.`,
    'Restart the server now. Until then, it rejects client secrets that a command creates. Then follow grantd secrets status.',
  ]);
}

/** Prints only a new secret, because the operator already knows the present ones. */
function explainRotation(
  output: Output,
  { source, secret }: { readonly source: string; readonly secret?: string },
): void {
  const isVariable = source.startsWith('GRANTD_');
  const next = isVariable ? 'restart every process' : 'reload every server (SIGHUP)';
  const name = secret ?? 'NEW';
  const array = (first: string, second: string) => {
    const value = `["${first}","${second}"]`;
    if (isVariable) return `${source}='${value}'`;
    return source.startsWith('the file ') ? value : `"secret": ${value}`;
  };
  printOne(output, { source, ...(secret !== undefined && { secret }) }, [
    `The secret is set by ${source}. PRESENT stands for its present value:`,
    '',
    `  1. ${array('PRESENT', name)}, and ${next}`,
    `  2. ${array(name, 'PRESENT')}, and ${next}`,
    '',
    'With a single process, start at step 2. Then follow grantd secrets status.',
    ...(secret === undefined ? ['For a new secret: grantd secrets rotate --generate'] : []),
  ]);
}

async function drop(parts: AdministrationParts, force: boolean): Promise<void> {
  const outcome = await call(parts.admin, 'dropSecrets', { force });
  const { fingerprint, file, dropped = [], source } = outcome;
  if (file === undefined)
    return printOne(parts, outcome, [
      `Set ${source} to only its first secret (${fingerprint}), and reload or restart every process.`,
    ]);
  printOne(parts, outcome, [
    `${file} now contains only the secret ${fingerprint}; ${dropped.join(', ')} is dropped.`,
    'Restart the server, so that it no longer accepts dropped secrets.',
  ]);
}
