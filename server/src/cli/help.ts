import { posix } from 'node:path';
import { similarName } from '@grantd/core/options';
import { Command } from 'commander';
import { BadUsage } from './exit.ts';
import type { HelpPage } from './help_pages.ts';

/** A link of Markdown: its text and where it leads. */
const LINK = /\[([^\]]+)\]\(<?([^)\s>]+)>?[^)]*\)/g;

/** A picture, of which a terminal shows the description. */
const PICTURE = /<img [^>]*?alt="([^"]*)"[^>]*>|!\[([^\]]*)\]\([^)]*\)/g;

/** @param loaded creates the command line with the command of a name; `undefined` if there is none */
export function helpCommand(loaded: (command: string) => Promise<Command | undefined>): Command {
  return new Command('help')
    .description('list the topics of the documentation, or show one')
    .argument('[TOPIC]', 'a topic, or a command without a topic')
    .argument('[SUBCOMMAND]', 'of the command')
    .addHelpText('after', '\n  grantd help\n  grantd help production | less\n  grantd help client add')
    .action((topic: string | undefined, subcommand: string | undefined) => help(loaded, topic, subcommand));
}

async function help(
  loaded: (command: string) => Promise<Command | undefined>,
  topic: string | undefined,
  subcommand: string | undefined,
): Promise<void> {
  const { helpPages } = await import('./help_pages.ts');
  const pages = await helpPages();
  if (topic === undefined) {
    console.log(listOf(pages).join('\n'));
    return;
  }
  const page = subcommand === undefined ? pages.find((page) => page.topic === asTopic(topic)) : undefined;
  const command = await loaded(topic);
  if (page !== undefined) {
    console.log(textOf(page.path, await page.markdown(), pages));
    if (command !== undefined) console.log(`\n(grantd ${topic} --help shows the command ${topic}.)`);
    return;
  }
  const shown =
    subcommand === undefined ? command : command?.commands.find((command) => command.name() === subcommand);
  if (shown === undefined) {
    const similar = similarName(
      asTopic(topic),
      pages.map((page) => page.topic),
    );
    throw new BadUsage(
      `there is no topic and no command ${[topic, subcommand].filter(Boolean).join(' ')}${similar === undefined ? '.' : `. Did you mean ${similar}?`} grantd help lists the topics, and grantd --help the commands`,
    );
  }
  shown.outputHelp();
}

/** Topics are written with `-`, and may be typed as their files are named. */
function asTopic(text: string): string {
  return text.toLowerCase().replaceAll('_', '-').replace(/\.md$/, '');
}

function listOf(pages: readonly HelpPage[]): readonly string[] {
  const width = Math.max(...pages.map(({ topic }) => topic.length));
  const parts = Map.groupBy(pages, ({ part }) => part);
  return [
    'Topics of the documentation: grantd help TOPIC',
    ...[...parts].flatMap(([part, ofPart]) => [
      '',
      `${part}:`,
      ...ofPart.map(({ topic, title }) => `  ${topic.padEnd(width)}  ${title}`),
    ]),
    '',
    'grantd --help lists the commands.',
  ];
}

/**
 * The page as it is written, without comments. A link to another page names its topic, and a picture is its description,
 * because paths lead nowhere here.
 */
function textOf(path: string, markdown: string, pages: readonly HelpPage[]): string {
  return markdown
    .replaceAll(/<!--.*?-->\n?/gs, '')
    .replaceAll(PICTURE, (_, ofTag?: string, ofMarkdown?: string) => `(picture: ${ofTag ?? ofMarkdown})`)
    .trimEnd()
    .replaceAll(LINK, (link, text: string, target: string) => {
      if (/^[a-z][a-z\d+.-]*:/i.test(target)) return link;
      const [file = ''] = target.split('#');
      const linked = posix.normalize(posix.join(posix.dirname(path), file)).replace(/\/$/, '');
      const page = pages.find((page) => page.path === linked || page.path === `${linked}/README.md`);
      return page === undefined ? text : `${text} (grantd help ${page.topic})`;
    });
}
