import { OPTION_NAMES, variableOf } from './options.ts';

/** Variables that look like options but are none: a misspelt one would otherwise go unnoticed. */
export function unknownVariables(environment: NodeJS.ProcessEnv): readonly string[] {
  const known = new Set([...OPTION_NAMES, 'config'].map(variableOf));
  return Object.keys(environment).filter((name) => name.startsWith('GRANTD_') && !known.has(name));
}
