import { type SaidIn, sentenceIn } from './said.ts';

/** A setting is invalid. The message names it as the user wrote it and says what was expected. */
export class ConfigurationRefused extends Error {
  override readonly name = 'ConfigurationRefused';
}

/** The program cannot do what was requested. The message says why and what to do. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** Why a file cannot be changed, by a code. Pages have a sentence for each in their language. */
export const FILE_PROBLEMS = {
  file_busy: (draft: string, path: string) =>
    `${draft} exists: another command is changing ${path}, or was interrupted. Remove it if no command is running`,
  file_missing: (path: string) => `the file ${path} is missing`,
  file_denied: (path: string) =>
    `the server may not write the file ${path}: check the owner and the mode of the file and its folder`,
  file_without_space: (path: string) => `the file ${path} cannot be written, because the disk is full`,
  /** @param error the code of the system, such as EIO */
  file_unwritable: (path: string, error: string) => `the file ${path} cannot be written (${error})`,
};

/** A code, and what its sentence names. */
export type FileProblem = SaidIn<typeof FILE_PROBLEMS>;

/** A file cannot be changed. */
export class FileRefused extends Refused {
  readonly said: FileProblem;

  constructor(said: FileProblem, options?: ErrorOptions) {
    super(`${sentenceIn(FILE_PROBLEMS, said)}.`, options);
    this.said = said;
  }
}
