import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/** What a bundler takes along. */
export interface Bundle {
  /** Minified. */
  readonly bytes: number;
  /** Files of the core that something of is in the bundle, relative to its `lib`, in order. */
  readonly files: readonly string[];
  /** Packages besides the core, and modules of the runtime. */
  readonly others: readonly string[];
}

const LIBRARY = 'node_modules/@grantd/core/lib/';

/** Bundles a consumer for runtimes that know only what the web knows. */
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
      .filter((file) => file.startsWith(LIBRARY))
      .map((file) => file.slice(LIBRARY.length))
      .sort(),
    others: [...new Set([...packages, ...output.imports.map(({ path }) => path)])]
      .filter((name) => name !== '@grantd/core')
      .sort(),
  };
}
