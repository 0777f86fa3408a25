import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T }>>['values'];

/**
 * Reads the flags of the script. `--help` prints the help and ends the process with 0; a flag that the script does not
 * have, or that lacks its value, ends it with 2.
 */
export function flagsOf<T extends Options>(help: string, options: T): Values<T> {
  try {
    const withHelp: Options = { ...options, help: { type: 'boolean', short: 'h' } };
    const { values } = parseArgs({ options: withHelp });
    if (values.help !== true) return values as Values<T>;
    console.log(help);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')))
      throw error;
    console.error(`${error.message.split('. ', 1)[0]}. --help lists the flags.`);
    process.exit(2);
  }
}

/** @throws Error if it is not a whole number of at least `least` */
export function wholeNumber(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (text === '' || !Number.isSafeInteger(value) || value < least) {
    throw new Error(`--${name}: expected a whole number from ${least}, not "${text}"`);
  }
  return value;
}
