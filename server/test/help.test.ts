// `grantd help` shows the documentation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PARTS } from '../../site/navigation.ts';
import { helpPages } from '../src/cli/help_pages.ts';
import { renderMarkdown } from '../src/cli/terminal_markdown.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';

const folder = new Workbench().folder();

test('each page of the navigation is a topic of its own', async () => {
  const pages = await helpPages();
  assert.deepEqual(
    pages.map(({ path }) => path),
    PARTS.flatMap((part) => part.pages.map(({ path }) => path)),
  );
  assert.equal(new Set(pages.map(({ topic }) => topic)).size, pages.length);
  const listed = await grantdPrints(folder, ['help']);
  for (const { topic, title } of pages)
    assert.ok(
      listed.split('\n').some((line) => line.startsWith(`  ${topic} `) && line.endsWith(title)),
      topic,
    );
});

/** The words of a text. Addresses of links and pictures, comments and languages of code are none of them. */
function wordsOf(text: string): readonly string[] {
  return (
    text
      .replaceAll(/<!--.*?-->/gs, '')
      .replaceAll(/^ *```.*$/gm, '')
      .replaceAll(/\]\([^)]*\)/g, '] ')
      .replaceAll(/<img [^>]*alt="([^"]*)"[^>]*>/g, '$1')
      .replaceAll(/<br *\/?>/g, ' ')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

test('a topic has every word of its page, in the order of the page', async () => {
  for (const { topic, markdown } of await helpPages()) {
    for (const width of [40, 100]) {
      const shown = renderMarkdown(markdown, { width });
      const rest = wordsOf(shown)[Symbol.iterator]();
      for (const word of wordsOf(markdown)) {
        let next = rest.next();
        while (!next.done && next.value !== word) next = rest.next();
        assert.ok(!next.done, `${topic}, ${width} columns: ${word}`);
      }
    }
  }
});

test('a topic has no marks of Markdown', async () => {
  for (const { topic, markdown } of await helpPages()) {
    const prose = markdown.replaceAll(/^( *)```.*?^ *```$/gms, '').replaceAll(/`[^`\n]*`/g, 'code');
    const shown = renderMarkdown(prose, { width: 100 });
    assert.doesNotMatch(shown, /\*\*|\]\(|^#+ |^\||<br|<img|```/m, topic);
  }
});

test('prose wraps, code stays as it is, and columns of tables are aligned', () => {
  const shown = renderMarkdown(
    `# Title

Some *prose* that is [long](other.md), with \`a * b\` and **more** of it.
The same paragraph.

1. First, with words that wrap

   \`\`\`sh
   grantd serve --issuer https://login.example.com
     # indented
   \`\`\`

> A quote

| name | what |
| --- | --- |
| \`a\\|b\` | one thing that wraps |
| c | another |
`,
    { width: 30, afterLink: (target) => target },
  );
  assert.equal(
    shown,
    `Title
=====

Some prose that is long
[other.md], with a * b and
more of it. The same
paragraph.

1. First, with words that wrap

       grantd serve --issuer https://login.example.com
         # indented

| A quote

name  what
----  ----
a|b   one thing that wraps
c     another`,
  );
});

test('links name the topics to which they lead', async () => {
  const text = await grantdPrints(folder, ['help', 'apply']);
  assert.match(text, /^Clients from a file\n=+\n/);
  assert.match(text, /Configuration\s+\[grantd\s+help\s+configuration\]/);
  assert.match(text, /\(grantd apply --help shows the command apply\.\)$/);
  assert.equal(await grantdPrints(folder, ['help', 'docs_of_nothing']).catch(() => 'refused'), 'refused');
});

test('a topic may be typed as its file is named; a command without a topic shows its own help', async () => {
  assert.equal(
    await grantdPrints(folder, ['help', 'admin_api.md']),
    await grantdPrints(folder, ['help', 'admin-api']),
  );
  assert.match(await grantdPrints(folder, ['help', 'keys']), /^Usage: grantd keys /);
  assert.match(await grantdPrints(folder, ['help', 'client', 'add']), /^Usage: grantd client add /);
});

test('an unknown topic is bad usage, with a similar one', async () => {
  assert.deepEqual(await grantd(folder, ['help', 'passkey']), {
    code: 2,
    stdout: '',
    stderr:
      'grantd: there is no topic and no command passkey. Did you mean passkeys? grantd help lists the topics, and grantd --help the commands\n',
  });
});
