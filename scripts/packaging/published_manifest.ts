/** A package's manifest, as far as it is looked at here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Conditions;
  readonly imports?: Conditions;
  readonly scripts?: unknown;
  readonly devDependencies?: unknown;
  readonly publishConfig?: { readonly directory?: string };
  readonly [member: string]: unknown;
}

export interface Conditions {
  readonly [key: string]: string | Conditions;
}

/** A TypeScript source below `src/`, as a manifest of the workspace names it, without its extension. */
const SOURCE = /^\.\/src\/(.+)\.ts$/;

/**
 * The manifest of what is published, from that of the workspace: what names a source there names here what it was
 * compiled to. What serves the work on the package alone is left out.
 */
export function publishedManifest(manifest: Manifest): Manifest {
  const { scripts, devDependencies, publishConfig, exports, imports, ...rest } = manifest;
  const { directory, ...publishing } = publishConfig ?? {};
  return {
    ...rest,
    ...(exports && { exports: { ...mapped(exports, entryPoint), './package.json': './package.json' } }),
    ...(imports && { imports: mapped(imports, (module) => `./lib/${module}.js`) }),
    ...(Object.keys(publishing).length > 0 && { publishConfig: publishing }),
  };
}

/** The modules that `exports` leads to, relative to `src/` and without extension. */
export function entryModules(exports: Conditions): readonly string[] {
  const modules = Object.values(exports).flatMap((value) =>
    typeof value === 'string' ? [SOURCE.exec(value)?.[1] ?? []].flat() : entryModules(value),
  );
  return [...new Set(modules)];
}

/** `require` comes first: a bundler and Node take the first condition that holds, and `default` holds always. */
function entryPoint(module: string): Conditions {
  return {
    require: { types: `./lib/${module}.d.cts`, default: `./lib/${module}.cjs` },
    default: { types: `./lib/${module}.d.ts`, default: `./lib/${module}.js` },
  };
}

function mapped(conditions: Conditions, compiled: (module: string) => string | Conditions): Conditions {
  return Object.fromEntries(
    Object.entries(conditions).map(([key, value]) => {
      if (typeof value !== 'string') return [key, mapped(value, compiled)];
      const module = SOURCE.exec(value)?.[1];
      if (module === undefined) throw new Error(`${key} leads to ${value}, which is no source below src/`);
      return [key, compiled(module)];
    }),
  );
}
