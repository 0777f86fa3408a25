import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/** The content of a bundle. */
export interface Bundle {
  /** Minified. */
  readonly bytes: number;
  /** Our files that are part of the bundle, such as `core/http/http.js`, in order. */
  readonly files: readonly string[];
  /** Other packages, and modules of the runtime. */
  readonly others: readonly string[];
}

const LIBRARY = /^node_modules\/@grantd\/(core|protect)\/lib\//;

/** Bundles a consumer for runtimes with only web standards. */
export async function bundled(folder: string, source: string): Promise<Bundle> {
  writeFileSync(join(folder, 'bundled.mjs'), source);
  const { metafile } = await build({
    absWorkingDir: folder,
    entryPoints: ['bundled.mjs'],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    // As bundlers for Workers resolve packages without `exports`.
    mainFields: ['module', 'main'],
    logLevel: 'silent',
  });
  const [output] = Object.values(metafile.outputs);
  if (output === undefined) throw new Error('esbuild made no output');
  const used = Object.entries(output.inputs).flatMap(([file, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [file] : [],
  );
  const packages = used.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
  return {
    bytes: output.bytes,
    files: used
      .filter((file) => LIBRARY.test(file))
      .map((file) => file.replace(LIBRARY, '$1/'))
      .sort(),
    others: [...new Set([...packages, ...output.imports.map(({ path }) => path)])]
      .filter((name) => !name.startsWith('@grantd/'))
      .sort(),
  };
}
