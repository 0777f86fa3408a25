import { Command, Help } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { clientCommands } from './client.ts';
import { copyCommand } from './copy.ts';
import { EXIT_HELP } from './exit.ts';
import { gcCommand } from './gc.ts';
import { keysCommands } from './keys.ts';
import { serveCommand } from './serve.ts';
import { tokenCommands } from './token.ts';
import { userCommands } from './user.ts';

/** Columns for names and flags; a longer one has a line of its own, so that the text beside the others keeps its room. */
const LONGEST_TERM = 34;

const NARROW: Partial<Help> = {
  padWidth: (command, help) => Math.min(LONGEST_TERM, Help.prototype.padWidth.call(help, command, help)),
  formatItem(term, width, description, help) {
    const format = (text: string) => Help.prototype.formatItem.call(help, text, width, description, help);
    return term.length <= width ? format(term) : `  ${term}\n${format(' ')}`;
  },
};

/** The command line: every command, its help, and errors as exceptions instead of exits. */
export function createProgram(): Command {
  const program = new Command('grantd')
    .description('An OAuth 2.0 and OpenID Connect authorization server.')
    .version(packageJson.version)
    .addHelpText('afterAll', EXIT_HELP);
  const commands = [
    serveCommand(),
    clientCommands(),
    userCommands(),
    tokenCommands(),
    keysCommands(),
    gcCommand(),
    copyCommand(),
  ];
  for (const command of commands) program.addCommand(command);
  throwInsteadOfExit(program);
  return program;
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride().showHelpAfterError('(--help tells more)').configureHelp(NARROW);
  for (const subcommand of command.commands) throwInsteadOfExit(subcommand);
}
