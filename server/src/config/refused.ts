/** A setting does not fit; the message names it as it was written, and says what was expected. */
export class ConfigurationRefused extends Error {
  override readonly name = 'ConfigurationRefused';
}

/** What was asked for cannot be done; the message says why, and what to do. */
export class Refused extends Error {
  override readonly name = 'Refused';
}
