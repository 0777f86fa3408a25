import type { Command, Option } from 'commander';
import { NEEDS_MACHINE, NEEDS_NO_SERVER } from '../server/src/cli/commands.ts';
import { EXIT_HELP } from '../server/src/cli/exit.ts';
import { createProgram } from '../server/src/cli/program.ts';
import { OPTIONS } from '../server/src/config/options.ts';

const OPTIONS_COUNT = Object.keys(OPTIONS).length;

/** The page of every command with its arguments and flags, from the program's own help. */
export async function commandsPage(): Promise<string> {
  const { commands } = await createProgram();
  return `# Commands

Every command of \`grantd\`, with its arguments and flags. Run \`npx grantd COMMAND --help\` to see the same text in a
terminal. This page does not repeat the meaning of flags that [Configuration](configuration.md) explains.

[What to type](production.md#what-to-type) says how to run a command with each kind of installation, and what its exit
codes mean. For commands that cannot work through the admin API of a server, this page says why.

${commands.map((command) => part(command)).join('\n')}`;
}

/** A command of the first level with its subcommands. */
function part(command: Command): string {
  const isGroup = command.commands.length > 0;
  const ownOptions = command.options.some(({ long }) => long !== '--help' && long !== '--url');
  return [
    `## ${command.name()}\n`,
    isGroup && !ownOptions ? `${sentence(command.description())}\n` : describe(command, []),
    ...command.commands.map(
      (item) => `### ${command.name()} ${item.name()}\n\n${describe(item, [command.name()])}`,
    ),
  ].join('\n');
}

function describe(command: Command, above: readonly string[]): string {
  const path = [...above, command.name()];
  const options = command.options.filter(({ hidden, long }) => !hidden && long !== '--help');
  const shared = options.filter(isOptionOfServer);
  const own = options.filter((option) => !shared.includes(option));
  const needed = NEEDS_MACHINE[path.join(' ')] ?? NEEDS_MACHINE[path[0] ?? ''];
  const words = ['npx grantd', ...path, ...command.registeredArguments.map(argument)];
  const sections = [
    sentence(command.description()),
    `\`\`\`text\n${[...words, ...(options.length > 0 ? ['[FLAGS]'] : [])].join(' ')}\n\`\`\``,
  ];
  if (own.length > 0)
    sections.push(`| flag | meaning |\n| --- | --- |\n${own.map((option) => row(option)).join('\n')}`);
  if (shared.length > 0) sections.push(configured(shared, own.length > 0));
  if (needed === NEEDS_NO_SERVER)
    sections.push('You can run the command on any machine, because it needs no server.');
  else if (needed !== undefined)
    sections.push(
      `Run the command on the server's machine. It cannot work through [the admin API](admin_api.md), because it ${needed}.`,
    );
  const more = textAfter(command);
  if (more !== '') sections.push(`\`\`\`text\n${more}\n\`\`\``);
  return `${sections.join('\n\n')}\n`;
}

/** Whether a flag sets an option of the program. A client or a group can have a setting with the same flag. */
function isOptionOfServer({ description }: Option): boolean {
  return / \(GRANTD_\w+[;)]/.test(description);
}

/** @param hasOwn whether the page has listed other flags of the command before */
function configured(options: readonly Option[], hasOwn: boolean): string {
  const flags = options.map(({ long }) => `\`${long}\``);
  const hasAll = flags.length > OPTIONS_COUNT / 2;
  const accepts = hasOwn ? 'The command also accepts' : 'The command accepts';
  return hasAll
    ? `${accepts} all flags that [Configuration](configuration.md#options-of-the-program) explains.`
    : `${accepts} these flags, which [Configuration](configuration.md#options-of-the-program) explains: ${flags.join(', ')}.`;
}

/** What follows the flags in the help: notes and examples. */
function textAfter(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut(part) {
      text += part;
    },
  });
  command.outputHelp();
  const after = text.replace(command.helpInformation(), '').replace(EXIT_HELP, '');
  const paragraphs = after.split('\n\n').map((item) => item.replace(/^\n+|\n+$/g, ''));
  return paragraphs
    .filter(
      (paragraph) =>
        !/^(?:With --url, the command works|The command has no --url)/.test(paragraph) && paragraph !== '',
    )
    .join('\n\n');
}

function row({ flags, description, argChoices, defaultValue }: Option): string {
  const choices = argChoices === undefined ? '' : ` One of ${argChoices.join(', ')}.`;
  const byDefault = ['string', 'number'].includes(typeof defaultValue) ? ` Default: ${defaultValue}.` : '';
  return `| \`${flags.replaceAll('|', '\\|')}\` | ${cell(description)}${choices}${byDefault} |`;
}

function argument(item: Command['registeredArguments'][number]): string {
  const name = item.variadic ? `${item.name()}…` : item.name();
  return item.required ? name.toUpperCase() : `[${name.toUpperCase()}]`;
}

function cell(text: string): string {
  return sentence(text).replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function sentence(text: string): string {
  const upper = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(upper) ? upper : `${upper}.`;
}
