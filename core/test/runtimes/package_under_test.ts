import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { packedPackages } from '../harness/package/archives.ts';
import { CERTIFICATE_PACKAGES, copyCertificatePackages, ROOT } from '../harness/package/packed.ts';

const { installed } = packedPackages();

/** The core's published manifest, with which the suites run on each runtime. */
export const MANIFEST: { readonly imports: Readonly<Record<string, Readonly<Record<string, string>>>> } =
  JSON.parse(readFileSync(join(installed, 'node_modules', '@grantd', 'core', 'package.json'), 'utf8'));

/**
 * A folder that is removed after the test, in which npm has installed core and protect from their archives, with the
 * optional packages.
 */
export function hostFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-runtime-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(installed, 'node_modules'), join(folder, 'node_modules'), { recursive: true });
  // The suites' client library is not part of the package.
  symlinkSync(join(ROOT, 'node_modules', 'oauth4webapi'), join(folder, 'node_modules', 'oauth4webapi'));
  copyCertificatePackages(folder);
  const names = ['@grantd/core', '@grantd/protect', 'jose', 'oauth4webapi', ...CERTIFICATE_PACKAGES];
  const dependencies = Object.fromEntries(names.map((name) => [name, '*']));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
  return folder;
}
