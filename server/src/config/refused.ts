/** A setting is invalid. The message names it as the user wrote it and says what was expected. */
export class ConfigurationRefused extends Error {
  override readonly name = 'ConfigurationRefused';
}

/** The program cannot do what was requested. The message says why and what to do. */
export class Refused extends Error {
  override readonly name = 'Refused';
}
