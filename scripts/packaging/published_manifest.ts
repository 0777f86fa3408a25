// ADR 140.
/** The members of a package's manifest that are used here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Conditions;
  readonly imports?: Conditions;
  readonly scripts?: unknown;
  readonly devDependencies?: unknown;
  readonly [member: string]: unknown;
}

export interface Conditions {
  readonly [key: string]: string | Conditions;
}

/** A TypeScript source below `src/`, as in the workspace's manifest, without its extension. */
const SOURCE = /^\.\/src\/(.+)\.ts$/;

/** Entry points for the other packages of this repository, which get copies of the modules in their build. */
const INTERNAL = './internal/';

/**
 * The manifest to publish. It names the compiled file of each source, and leaves out members that only serve
 * development.
 * @param internals the core's internal entry points; a package whose `imports` name one has the modules in `lib/core/`
 */
export function publishedManifest(manifest: Manifest, internals: Conditions): Manifest {
  const { scripts, devDependencies, exports, imports, ...rest } = manifest;
  return {
    ...rest,
    ...(exports && {
      exports: { ...mapped(publicEntries(exports), entryPoint), './package.json': './package.json' },
    }),
    ...(imports && { imports: publishedImports(imports, internals) }),
  };
}

/** The modules in `exports`, relative to `src/` and without extension. */
export function entryModules(exports: Conditions): readonly string[] {
  const modules = Object.values(publicEntries(exports)).flatMap((value) =>
    typeof value === 'string' ? [SOURCE.exec(value)?.[1] ?? []].flat() : entryModules(value),
  );
  return [...new Set(modules)];
}

/** The entry points that are published. */
export function publicEntries(exports: Conditions): Conditions {
  return Object.fromEntries(Object.entries(exports).filter(([key]) => !key.startsWith(INTERNAL)));
}

/** The modules of the internal entry points in `imports`. */
export function carriedImports(imports: Conditions, internals: Conditions): Conditions {
  return Object.fromEntries(
    Object.entries(imports).flatMap(([key, value]) => {
      const entry = typeof value === 'string' ? value.replace('@grantd/core/', './') : '';
      const found = internals[entry];
      return found === undefined ? [] : [[key, found]];
    }),
  );
}

function publishedImports(imports: Conditions, internals: Conditions): Conditions {
  const carried = carriedImports(imports, internals);
  const own = Object.fromEntries(Object.entries(imports).filter(([key]) => !(key in carried)));
  return {
    ...mapped(own, (module) => `./lib/${module}.js`),
    ...mapped(carried, (module) => `./lib/core/${module}.js`),
  };
}

/**
 * `require` comes first, because a bundler and Node take the first condition that matches, and `default` always does.
 */
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
