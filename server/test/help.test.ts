// `grantd help` shows the documentation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PARTS } from '../../site/navigation.ts';
import { helpPages } from '../src/cli/help_pages.ts';
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

test('a topic is its page as it is written, and links name the topics to which they lead', async () => {
  const text = await grantdPrints(folder, ['help', 'apply']);
  assert.match(text, /^# Clients from a file\n/);
  assert.match(text, /Configuration \(grantd help configuration\)/);
  assert.doesNotMatch(text, /<!--|\]\((?!https?:)/);
  assert.match(text, /\(grantd apply --help shows the command apply\.\)$/);
  assert.equal(await grantdPrints(folder, ['help', 'docs_of_nothing']).catch(() => 'refused'), 'refused');
});

test('no topic shows a comment or the source of a picture', async () => {
  const shown = (await helpPages()).map(async ({ topic, markdown }) => [topic, await markdown()] as const);
  const unreadable = /<!--|<img|!\[/;
  const found = (await Promise.all(shown)).filter(([, source]) => unreadable.test(source));
  assert.ok(found.length > 10);
  for (const [topic] of found) assert.doesNotMatch(await grantdPrints(folder, ['help', topic]), unreadable);
  assert.match(await grantdPrints(folder, ['help', 'sign-in']), /\(picture: The sign-in page on a phone: /);
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
