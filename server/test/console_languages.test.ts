// Opens every page and every form of the console in German, sends every form with values of every wrong kind, and looks for
// English.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { PAGES } from '../src/console/console.ts';
import { type Page, unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';

/** A page without its frame. */
function mainOf({ html }: Pick<Page, 'html'>): string {
  const [, main = html] = /<main[^>]*>([\s\S]*)<\/main>/.exec(html) ?? [];
  return main.replaceAll(/<footer[\s\S]*?<\/footer>/g, '');
}

/** The words of a page, without what is data: names, code, and choices that have no words. */
function wordsOf({ html }: Page): string {
  return unescaped(
    mainOf({ html })
      .replaceAll(/<(style|script|code|textarea|q)\b[\s\S]*?<\/\1>/g, ' ')
      .replaceAll(/<span class="unseen">[\s\S]*?<\/span>/g, ' ')
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' '),
  );
}

/** Words that are in nearly every English sentence, and in no German one. */
const ENGLISH = /\b(?:the|this|that|with|and|of|is|are|expected|cannot|needs|must|not|for|from|there)\b/i;

function englishIn(page: Page): string | undefined {
  const marked = /<\w+[^>]* lang="en"[^>]*>([\s\S]{0,200})/.exec(mainOf(page));
  if (marked !== null) return `marked as English: ${marked[1]}`;
  const words = wordsOf(page);
  const at = words.search(ENGLISH);
  return at === -1 ? undefined : words.slice(Math.max(0, at - 60), at + 120);
}

/** A value of each wrong kind. */
const WRONG: readonly string[] = [
  'x',
  'ä\u200b',
  '-1',
  '{"a":1}',
  '{',
  'https://user:pass@app.example/#x',
  'a'.repeat(3000),
  Array.from({ length: 60 }, (_, at) => `https://a.example/${at}`).join('\n'),
];

test('no page and no form of the console has English in German, whatever a form sends', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  await set.addUser('alice', ['admins']);
  const { subject } = await set.addUser('bob');
  await set.addClient('shop');
  const commands = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
  await call(commands, 'addScopeTexts', { scope: 'email', texts: { name: 'E-Mail' } });
  const browser = await set.browserOf('alice');
  const at = (path: string) => browser.get(`${set.url}/console/${path}`);
  const statuses = new Map<number, number>();
  const look = (what: string, page: Page) => {
    assert.match(page.html, /<html lang="de"/, what);
    assert.equal(englishIn(page), undefined, what);
    statuses.set(page.status, (statuses.get(page.status) ?? 0) + 1);
  };
  await at('?ui_language=de');
  const given = `name=admins&sub=${subject}&id=shop&scope=email&rule=a.example`;
  const unknown = `cursor=z&type=z&since=z&range=z&sub=z&name=z&scope=z&id=${'z'.repeat(99)}`;
  for (const [name, { acts }] of Object.entries(PAGES)) {
    for (const query of ['', given, unknown]) look(`${name} ${query}`, await at(`${name}?${query}`));
    for (const [act, { form }] of Object.entries(acts?.acts ?? {})) {
      const asked = await at(`${name}?${given}&ask=${act}`);
      look(`${name} ${act}`, asked);
      if (form === undefined) continue;
      const fields = [...asked.html.matchAll(/<(?:input|select|textarea) id="field-[^"]*" name="([^"]*)"/g)];
      for (const wrong of WRONG) {
        const typed = Object.fromEntries(fields.map(([, field = '']) => [field, wrong]));
        const sent = await browser.submit(asked, { ...typed, do: act, again: crypto.randomUUID() });
        look(`${name} ${act} ${wrong.slice(0, 40)}`, sent);
      }
    }
  }
  assert.ok((statuses.get(400) ?? 0) > 150, JSON.stringify([...statuses]));
});
