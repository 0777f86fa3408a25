import { resolve } from 'node:path';

/** The folder in which the command was typed: npm starts scripts in the package's own folder, and says where it was. */
export function typedFolder(environment: NodeJS.ProcessEnv): string {
  return environment.INIT_CWD || process.cwd();
}

/** A path as it was meant where the command was typed. */
export function typedPath(environment: NodeJS.ProcessEnv, path: string): string {
  return resolve(typedFolder(environment), path);
}
