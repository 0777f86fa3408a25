import { similarName } from '@grantd/core/options';
import { OPTION_NAMES, variableOf } from './options.ts';

/**
 * Warnings about variables that look like options but are not. They are no errors: Kubernetes sets variables such as
 * `GRANTD_SERVICE_HOST` for a service of this name.
 */
export function unknownVariableWarnings(environment: NodeJS.ProcessEnv): readonly string[] {
  const known = [...OPTION_NAMES, 'config'].map(variableOf);
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .map((name) => {
      const similar = similarName(
        name.slice(PREFIX.length),
        known.map((one) => one.slice(PREFIX.length)),
      );
      const question = similar === undefined ? '' : `. Did you mean ${PREFIX}${similar}?`;
      return `${name} is ignored: no such option${question}`;
    });
}

const PREFIX = variableOf('');
