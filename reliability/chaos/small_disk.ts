import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** Root needs a name space for mounts only; others need one for users as well, in which they count as root. */
const WAYS = [['-m'], ['-r', '-m']];

/** The flags of `unshare` under which this machine lets us mount a disk of our own; `undefined` where none do. */
export function privateMounts(folder: string): readonly string[] | undefined {
  const mount = ['mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', folder];
  return WAYS.find((flags) => spawnSync('unshare', [...flags, ...mount]).status === 0);
}

/** Why no full disk can be had here; `undefined` where one can. */
export function whyNoFullDisk(folder: string): string | undefined {
  return privateMounts(folder) ? undefined : 'unshare and mount -t tmpfs are not allowed, or not there';
}

/**
 * Runs a script of ours where `folder` is a disk of its own. Nobody else sees that disk, and it is gone with the last
 * process that uses it. The end of the script's input tells it that nobody waits for it any more.
 * @param megabytes of the disk
 * @returns what the script printed; it is given the folder as its argument
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
