import { typedPath } from '../../config/typed_folder.ts';

/** The file that a database URL means. */
export function databasePath(url: string, environment: NodeJS.ProcessEnv): string {
  return typedPath(environment, url.replace(/^sqlite:(\/\/(?=\/))?/, ''));
}
