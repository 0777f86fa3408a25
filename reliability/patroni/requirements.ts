import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const PROGRAMS = ['etcd', 'haproxy', 'ip', 'iptables', 'nsenter', 'patroni', 'setpriv', 'unshare'];

/** Debian's folder of each version of PostgreSQL. */
const VERSIONS = '/usr/lib/postgresql';

/** Folder of the newest PostgreSQL with the programs that Patroni needs; `''` if there is none. */
export const POSTGRES_PROGRAMS = newestPostgres();

/** The API by which Patroni uses etcd. */
export type EtcdApi = '2' | '3';

/**
 * Version 3, unless Patroni is older than 3.0.3: with that API, an older one overwrites the lock of a new primary when
 * it continues after a pause.
 */
export function safeEtcdApi(): EtcdApi {
  const { stdout } = spawnSync('patroni', ['--version'], { encoding: 'utf8' });
  const [, major = '0', minor = '0', patch = '0'] = /(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? [];
  const version = (Number(major) * 100 + Number(minor)) * 100 + Number(patch);
  return version < 30_003 ? '2' : '3';
}

/** Why the experiment cannot run on this machine, as one sentence; `undefined` if it can. */
export function absence(): string | undefined {
  if (process.platform !== 'linux')
    return `it needs the network namespaces of Linux, and this is ${process.platform}`;
  const missing = [
    ...PROGRAMS.filter((program) => !isInstalled(program)),
    ...(POSTGRES_PROGRAMS === '' ? ['pg_rewind'] : []),
  ];
  if (missing.length > 0) {
    return (
      `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not installed: on Debian, run ` +
      'apt-get install patroni etcd-server haproxy postgresql iptables iproute2 util-linux'
    );
  }
  if (process.getuid?.() !== 0) return 'it needs root, to make network namespaces';
  const { status, stderr } = spawnSync('unshare', ['--net', '--mount', '--pid', '--fork', 'true'], {
    encoding: 'utf8',
  });
  return status === 0 ? undefined : `this machine allows no network namespaces: ${stderr.trim()}`;
}

function newestPostgres(): string {
  if (!existsSync(VERSIONS)) return '';
  const folders = readdirSync(VERSIONS)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(VERSIONS, version, 'bin'));
  return folders.find((folder) => existsSync(join(folder, 'pg_rewind'))) ?? '';
}

function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
