import { describeOption, type Option, SWITCH } from '@grantd/core/options';
import { type Command, Option as Flag } from 'commander';
import { flagOf, OPTIONS, type OptionName, variableOf } from './options.ts';

/** Gives a command the flags of some options, and `--config`. Values stay text until all sources are read together. */
export function addFlags(command: Command, names: readonly OptionName[]): Command {
  command.addOption(
    new Flag('--config <FILE>', `JSON file with any of the options. (${variableOf('config')})`).helpGroup(
      'Server:',
    ),
  );
  for (const name of names) {
    const option: Option<unknown, unknown> = OPTIONS[name];
    if (option.isSecret !== true) command.addOption(flagFor(name, option));
  }
  return command;
}

function flagFor(name: OptionName, option: Option<unknown, unknown>): Flag {
  const { placeholder } = option.kind;
  // A switch may stand alone: `--demo`.
  const value = placeholder === SWITCH ? `[${placeholder}]` : `<${placeholder}>`;
  const byDefault = option.defaultInWords ?? String(option.byDefault);
  const about = `${describeOption(option)} (${variableOf(name)}; default: ${byDefault})`;
  return new Flag(`${flagOf(name)} ${value}`, about).helpGroup(`${option.group}:`);
}
