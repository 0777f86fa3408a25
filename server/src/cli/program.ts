import { Command, Help } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { EXIT_HELP } from './exit.ts';

/** Columns for names and flags. Longer ones get a line of their own, so that the descriptions keep their width. */
const MAX_TERM_WIDTH = 34;

const NARROW: Partial<Help> = {
  padWidth: (command, help) => Math.min(MAX_TERM_WIDTH, Help.prototype.padWidth.call(help, command, help)),
  formatItem(term, width, description, help) {
    const format = (text: string) => Help.prototype.formatItem.call(help, text, width, description, help);
    return term.length <= width ? format(term) : `  ${term}\n${format(' ')}`;
  },
};

/** Each command loads its own modules, so that every command starts quickly. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['serve', async () => (await import('./serve.ts')).serveCommand()],
  ['health', async () => (await import('./health.ts')).healthCommand()],
  ['client', async () => (await import('./client.ts')).clientCommands()],
  ['scope', async () => (await import('./scope.ts')).scopeCommands()],
  ['user', async () => (await import('./user.ts')).userCommands()],
  ['apply', async () => (await import('./apply.ts')).applyCommand()],
  ['export', async () => (await import('./apply.ts')).exportCommand()],
  ['group', async () => (await import('./group.ts')).groupCommands()],
  ['mail', async () => (await import('./mail.ts')).mailCommands()],
  ['directory', async () => (await import('./directory.ts')).directoryCommands()],
  ['token', async () => (await import('./token.ts')).tokenCommands()],
  ['keys', async () => (await import('./keys.ts')).keysCommands()],
  ['secrets', async () => (await import('./secrets.ts')).secretsCommands()],
  ['admin', async () => (await import('./admin.ts')).adminCommands()],
  ['events', async () => (await import('./events.ts')).eventsCommands()],
  ['config', async () => (await import('./config.ts')).configCommands()],
  ['texts', async () => (await import('./texts.ts')).textsCommand()],
  ['gc', async () => (await import('./gc.ts')).gcCommand()],
  ['copy', async () => (await import('./copy.ts')).copyCommand()],
  ['backup', async () => (await import('./backup.ts')).backupCommand()],
  ['restore', async () => (await import('./restore.ts')).restoreCommand()],
  ['migrate', async () => (await import('./migrate.ts')).migrateCommands()],
  ['help', async () => (await import('./help.ts')).helpCommand(commandNamed)],
]);

/** For `grantd help`. @returns `undefined` if there is no such command */
async function commandNamed(name: string): Promise<Command | undefined> {
  if (!COMMANDS.has(name)) return undefined;
  return (await createProgram(name)).commands.find((command) => command.name() === name);
}

/**
 * Creates the command line with its commands and help. Errors throw instead of exiting.
 * @param command the only command to load; an unknown name loads all
 */
export async function createProgram(command = ''): Promise<Command> {
  const program = new Command('grantd')
    .description('An OAuth 2.0 and OpenID Connect authorization server.')
    .version(packageJson.version)
    .addHelpText('afterAll', EXIT_HELP);
  const only = COMMANDS.get(command);
  for (const load of only === undefined ? COMMANDS.values() : [only]) program.addCommand(await load());
  throwInsteadOfExit(program);
  return program;
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride().showHelpAfterError('(run with --help for usage)').configureHelp(NARROW);
  for (const subcommand of command.commands) throwInsteadOfExit(subcommand);
}
