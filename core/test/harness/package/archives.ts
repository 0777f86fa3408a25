import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { copyDependencies, install, PACKED_VARIABLE, type Packed, pack, packedIn, ROOT } from './packed.ts';

/** The packages of this test run. A test file that runs alone packs for itself, and removes them afterwards. */
export function packedPackages(): Packed {
  const { [PACKED_VARIABLE]: made } = process.env;
  return packedIn(made ?? disposable(pack()));
}

/** A folder outside the repository in which npm has installed only core and protect. */
export function installedLibraries({ installed }: Packed): string {
  const folder = disposable(mkdtempSync(join(tmpdir(), 'grantd-consumer-')));
  cpSync(installed, folder, { recursive: true });
  return folder;
}

/** The same with only protect. */
export function installedProtect({ protect, jose }: Packed): string {
  const folder = disposable(mkdtempSync(join(tmpdir(), 'grantd-consumer-')));
  install(folder, { '@grantd/protect': protect.file, jose: jose.file });
  return folder;
}

/** A folder in which npm has installed the program. Its dependencies are copies of those in this repository. */
export function installedProgram({ core, protect, program }: Packed): string {
  const folder = disposable(mkdtempSync(join(tmpdir(), 'grantd-consumer-')));
  copyDependencies(join(ROOT, 'server'), folder, ['@grantd/core', '@grantd/protect']);
  install(folder, {
    '@grantd/core': core.file,
    '@grantd/protect': protect.file,
    grantd: program.file,
  });
  return folder;
}

function disposable(folder: string): string {
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Gives a consumer a development package of this repository, such as types. */
export function linkPackage(folder: string, name: string): void {
  const place = join(folder, 'node_modules', name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), place, 'junction');
}
