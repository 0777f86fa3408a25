// The rule for every file that contains a secret, except the database (docs/secrets.md, ADR 134).

import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { ConfigurationRefused } from './refused.ts';
import { readTextFile, utf8Of } from './text_file.ts';

/** The user and the groups who may read a secret. */
export interface Reader {
  readonly user: number;
  readonly groups: ReadonlySet<number>;
}

/** @returns `undefined` on systems without user IDs and file modes */
function thisProcess(): Reader | undefined {
  const { getuid, getgid, getgroups } = process;
  if (getuid === undefined || getgid === undefined || getgroups === undefined) return undefined;
  return { user: getuid(), groups: new Set([getgid(), ...getgroups()]) };
}

/**
 * Reads a text file with a secret. Without the final line end.
 * @param source the option, variable or flag that names the file, or what the file is
 * @throws {ConfigurationRefused} the file is missing, unreadable, not a regular file, or others can read or change it
 */
export function readPrivateText(path: string, source: string, reader = thisProcess()): string {
  return readPrivate(path, source, readTextFile, reader).replace(/\r?\n$/, '');
}

/** @throws {ConfigurationRefused} as `readPrivateText` */
export function readPrivateBytes(path: string, source: string): Buffer {
  return readPrivate(path, source, (file) => utf8Of(readFileSync(file)), thisProcess());
}

function readPrivate<T>(
  path: string,
  source: string,
  read: (file: number) => T,
  reader: Reader | undefined,
): T {
  // A pipe of the shell, as in --identity-file <(COMMAND), is open already.
  const [, ofShell] = /^\/dev\/fd\/(\d+)$/.exec(path) ?? [];
  let file: number | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe waits until something is written to it.
    file =
      ofShell === undefined ? openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) : Number(ofShell);
    // Checks the opened file, because the path may lead to another file by now.
    if (ofShell === undefined && !fstatSync(file).isFile())
      throw new ConfigurationRefused(`${source}: ${path} is not a regular file`);
    const exposure = exposureOf(file, path, reader);
    if (exposure !== undefined) throw new ConfigurationRefused(`${source}: ${exposure}`);
    return read(file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new ConfigurationRefused(`${source}: ${path}: expected a readable file`, { cause: error });
  } finally {
    if (file !== undefined && ofShell === undefined) closeSync(file);
  }
}

/**
 * Says who else can read or change an open file with a secret, and what to do.
 * @returns `undefined` if only the reader, its groups and root can, or a container runtime has mounted it as a secret
 */
export function exposureOf(file: number, path: string, reader = thisProcess()): string | undefined {
  if (reader === undefined) return undefined;
  const { uid, gid, mode } = fstatSync(file);
  const { user, groups } = reader;
  const isOwned = uid === user || uid === 0;
  const isOfGroup = (mode & 0o070) === 0 || groups.has(gid);
  if ((isOwned && isOfGroup && (mode & 0o007) === 0) || isMountedSecret(file)) return undefined;
  const what = `owner ${uid}, group ${gid}, mode ${(mode & 0o777).toString(8)}`;
  const advice = isOwned
    ? `run ${uid === user ? '' : `chown ${user} ${path} and `}chmod 600 ${path}, and replace the secret if anyone else may have read it`
    : `run grantd as user ${uid}, or run chown ${user} ${path} if you know where the file comes from`;
  return (
    `${path} is open to others than user ${user}, who runs grantd (${what}): ${advice}. ` +
    'docs/secrets.md says how to mount it in a container.'
  );
}

/** File systems in memory that all users of a machine share. A service can have them read-only (ProtectSystem=). */
const SHARED_MOUNT = /^\/(?:run|run\/lock|run\/user\/\d+|tmp|var\/tmp|dev\/shm)$/;

/**
 * Whether a container runtime has mounted the file as a secret: read-only, and either in a file system of its own in
 * memory (Kubernetes, Docker Swarm, credentials of systemd) or as a mount of this file alone (Docker Compose). The modes
 * are 0444 and 0644, but only the container sees the mount.
 */
function isMountedSecret(file: number): boolean {
  if (process.platform !== 'linux') return false;
  const [, id] = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${file}`, 'utf8')) ?? [];
  const mount = mountsIn(readFileSync('/proc/self/mountinfo', 'utf8')).find((item) => item.id === id);
  if (!mount?.isReadOnly) return false;
  const isInMemory = (mount.type === 'tmpfs' || mount.type === 'ramfs') && mount.root === '/';
  return (
    (isInMemory && !SHARED_MOUNT.test(mount.point)) || mount.point === readlinkSync(`/proc/self/fd/${file}`)
  );
}

/** Lines such as `36 35 98:0 /root /point ro,noatime master:1 - ext3 /dev/root rw` (proc_pid_mountinfo(5)). */
function mountsIn(mountinfo: string) {
  return mountinfo.split('\n').map((line) => {
    const [mount = '', fileSystem = ''] = line.split(' - ');
    const [id, , , root, point = '', options = ''] = mount.split(' ');
    const [type, , ofFileSystem = ''] = fileSystem.split(' ');
    return {
      ...{ id, type, root },
      point: point.replaceAll(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
      isReadOnly: `${options},${ofFileSystem}`.split(',').includes('ro'),
    };
  });
}
