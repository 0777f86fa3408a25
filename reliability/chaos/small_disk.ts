import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { text } from 'node:stream/consumers';

/** Root needs only a mount namespace. Other users also need a user namespace, in which they count as root. */
const WAYS = [['-m'], ['-r', '-m']];

/** The flags of `unshare` with which this machine lets us mount a disk; `undefined` if none work. */
function privateMounts(folder: string): readonly string[] | undefined {
  const mount = ['mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', folder];
  return WAYS.find((flags) => spawnSync('unshare', [...flags, ...mount]).status === 0);
}

/** Why this machine cannot provide a full disk; `undefined` if it can. */
export function whyNoFullDisk(folder: string): string | undefined {
  return privateMounts(folder) ? undefined : 'unshare and mount -t tmpfs are not allowed, or not there';
}

/**
 * Runs one of our scripts with a separate disk at `folder`. Only that process tree sees the disk, and it disappears
 * with the last process. The script ends when its input ends.
 * @param megabytes size of the disk
 * @returns the output of the script, which gets the folder as its argument
 */
export async function onSmallDisk(folder: string, megabytes: number, script: URL): Promise<string> {
  const flags = privateMounts(folder);
  if (flags === undefined) throw new Error('there is no way to mount a disk here');
  const shell = 'mount -t tmpfs -o "size=$0m" none "$1" && shift && exec "$@"';
  const command = ['sh', '-c', shell, String(megabytes), folder, process.execPath, script.pathname, folder];
  const stage = spawn('unshare', [...flags, ...command], { stdio: ['pipe', 'pipe', 'inherit'] });
  const code = new Promise<number | null>((resolve) => stage.on('exit', resolve));
  const printed = await text(stage.stdout);
  const ended = await code;
  if (ended !== 0) throw new Error(`${script.pathname} on a small disk ended with ${ended}`);
  return printed;
}

/** Writes a file until the disk has no byte left. */
export function fill(path: string): void {
  const file = openSync(path, 'w');
  for (const bytes of [65_536, 4096, 512, 1]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(bytes, 1));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    }
  }
  closeSync(file);
}
