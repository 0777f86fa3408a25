import { Command, Help, Option } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { NEEDS_MACHINE } from './commands.ts';
import { BadUsage, EXIT_HELP } from './exit.ts';

/** Columns for names and flags. Longer ones get a line of their own, so that the descriptions keep their width. */
const MAX_TERM_WIDTH = 34;

const NARROW: Partial<Help> = {
  padWidth: (command, help) => Math.min(MAX_TERM_WIDTH, Help.prototype.padWidth.call(help, command, help)),
  formatItem(term, width, description, help) {
    const format = (text: string) => Help.prototype.formatItem.call(help, text, width, description, help);
    return term.length <= width ? format(term) : `  ${term}\n${format(' ')}`;
  },
};

/** Commands that are only operations. */
const ofOperations = (word: string, description: string) => async () =>
  (await import('./operation_commands.ts')).operationCommands(word, description);

/** Each command loads its own modules, so that every command starts quickly. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map(
  Object.entries({
    serve: async () => (await import('./serve.ts')).serveCommand(),
    follow: async () => (await import('./follow.ts')).followCommand(),
    health: async () => (await import('./health.ts')).healthCommand(),
    client: async () => (await import('./client.ts')).clientCommands(),
    scope: async () => (await import('./scope.ts')).scopeCommands(),
    user: async () => (await import('./user.ts')).userCommands(),
    apply: async () => (await import('./apply.ts')).applyCommand(),
    export: async () => (await import('./export.ts')).exportCommand(),
    group: async () => (await import('./group.ts')).groupCommands(),
    mail: ofOperations('mail', 'list emails to users, send failed ones again, and test the SMTP server'),
    directory: async () => (await import('./directory.ts')).directoryCommands(),
    token: async () => (await import('./token.ts')).tokenCommands(),
    'personal-token': ofOperations('personal-token', 'list and end personal access tokens of users'),
    keys: ofOperations('keys', 'manage signing keys'),
    secrets: ofOperations(
      'secrets',
      "manage the server's secret, which protects client secrets and signing keys",
    ),
    admin: async () => (await import('./admin.ts')).adminCommands(),
    audit: async () => (await import('./audit.ts')).auditCommands(),
    events: ofOperations('events', 'list changes to clients, users, keys and tokens'),
    config: async () => (await import('./config.ts')).configCommands(),
    texts: async () => (await import('./texts.ts')).textsCommand(),
    gc: async () => (await import('./gc.ts')).gcCommand(),
    copy: async () => (await import('./copy.ts')).copyCommand(),
    backup: async () => (await import('./backup.ts')).backupCommand(),
    restore: async () => (await import('./restore.ts')).restoreCommand(),
    migrate: async () => (await import('./migrate.ts')).migrateCommands(),
    help: async () => (await import('./help.ts')).helpCommand(commandNamed),
  }),
);

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
  for (const one of program.commands) explainUrl(one, []);
  return program;
}

/** Says in the help of each command whether it has `--url`. The others refuse it with the reason. */
function explainUrl(command: Command, above: readonly string[]): void {
  const path = [...above, command.name()];
  for (const subcommand of command.commands) explainUrl(subcommand, path);
  if (command.commands.length > 0) return;
  const name = path.join(' ');
  const reason = NEEDS_MACHINE[name] ?? NEEDS_MACHINE[path[0] ?? ''];
  if (command.options.some(({ long }) => long === '--url')) {
    command.addHelpText(
      'after',
      '\nWith --url, the command works through the admin API of a server, with the access of GRANTD_ADMIN_TOKEN_FILE, or of\nGRANTD_ADMIN_CLIENT_ID with GRANTD_ADMIN_CLIENT_KEY_FILE (grantd help admin-api).',
    );
  } else if (reason !== undefined) {
    const refuse = () => {
      throw new BadUsage(`--url: omit it, because grantd ${name} ${reason}`);
    };
    command.addOption(new Option('--url <ISSUER>').argParser(refuse).hideHelp());
    command.addHelpText('after', `\nThe command has no --url: it ${reason}.`);
  }
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride().showHelpAfterError('(run with --help for usage)').configureHelp(NARROW);
  for (const subcommand of command.commands) throwInsteadOfExit(subcommand);
}
