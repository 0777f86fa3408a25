/** A setting does not fit; the message names it as it was written, and says what was expected. */
export class ConfigurationRefused extends Error {
  override readonly name = 'ConfigurationRefused';
}
