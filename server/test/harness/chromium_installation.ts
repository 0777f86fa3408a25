import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const NODE_MODULES = join(import.meta.dirname, '..', '..', '..', 'node_modules');
const PACKAGE = '@sparticuz/chromium';

/** Why this machine has no Chromium; `false` if it has one. */
export const CHROMIUM_ABSENCE: string | false =
  process.platform === 'linux' && process.arch === 'x64' && hasGlibc(34)
    ? false
    : `${PACKAGE} has no Chromium for ${process.platform} ${process.arch} with this C library`;

/** A Chromium that needs only the machine's C library: it has its own libraries and fonts. */
interface ChromiumInstallation {
  readonly executable: string;
  readonly environment: Record<string, string>;
}

/** Unpacks the Chromium of the npm package once per `npm ci` (two seconds, 220 MB). */
export async function installedChromium(): Promise<ChromiumInstallation> {
  const { version } = JSON.parse(readFileSync(join(NODE_MODULES, PACKAGE, 'package.json'), 'utf8'));
  const folder = join(NODE_MODULES, '.cache', `chromium-${version}`);
  if (!existsSync(folder)) await unpackInto(folder);
  return {
    executable: join(folder, 'chromium'),
    environment: {
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
      HOME: join(folder, 'home'),
    },
  };
}

/** The folder appears when it is complete, because other test processes may check for it or unpack too. */
async function unpackInto(folder: string): Promise<void> {
  mkdirSync(join(folder, '..'), { recursive: true });
  const unfinished = mkdtempSync(`${folder}-`);
  try {
    // The package unpacks into the temporary folder, and its libraries only if it detects a cloud environment.
    await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', `await (await import('${PACKAGE}')).default.executablePath()`],
      {
        cwd: join(NODE_MODULES, '..'),
        env: { TMPDIR: unfinished, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
        timeout: 60_000,
      },
    );
    mkdirSync(join(unfinished, 'home'));
    writeFileSync(join(unfinished, 'fonts.conf'), FONTS);
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Uses only the package's fonts, so that a page has the same width on every machine. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

/** @param minor of the version 2 */
function hasGlibc(minor: number): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return Number(header.glibcVersionRuntime?.split('.')[1] ?? 0) >= minor;
}
