import { statSync } from 'node:fs';
import { ConfigurationRefused } from './refused.ts';
import { readTextFile } from './text_file.ts';

/**
 * Reads a file with a secret, which only its owner may read. Without the final line end.
 * @param source the option or flag that names the file
 * @param noun what the file contains, such as `passphrase`
 * @param user the numeric ID of the user who runs the program; `undefined` on systems without user IDs and file modes
 * @throws {ConfigurationRefused} the file is unreadable, or others can read it
 */
export function readPrivateText(
  path: string,
  source: string,
  noun: string,
  user = process.getuid?.(),
): string {
  try {
    const { uid, mode } = statSync(path);
    if (user !== undefined && ((uid !== user && uid !== 0) || (mode & 0o077) !== 0))
      throw new ConfigurationRefused(
        `${source}: ${path} can be read by others: run chown ${user} ${path} and chmod 600 ${path}, and choose another ${noun} if anyone else may have read it`,
      );
    return readTextFile(path).replace(/\r?\n$/, '');
  } catch (error) {
    if (error instanceof ConfigurationRefused) throw error;
    throw new ConfigurationRefused(`${source}: ${path}: expected a readable file`);
  }
}
