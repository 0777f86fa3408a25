// Opens every page and every form of the console in German, sends every form with values of every wrong kind, and looks for
// English.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { MEMBER_NAMES, METADATA_PROBLEMS } from '@grantd/core';
import { call } from '../src/admin/in_process.ts';
import { InvalidInput, sentenceAbout } from '../src/admin/operation_refused.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { PAGES } from '../src/console/console.ts';
import { DE } from '../src/texts/texts.ts';
import { type Page, unescaped } from './harness/browser.ts';
import { ISSUER, startConsole } from './harness/console_server.ts';

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

/** What is wrong, in both languages. @returns its codes */
async function saidBy(work: () => Promise<unknown>): Promise<readonly string[]> {
  const error = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return [];
  assert.ok(error instanceof InvalidInput, String(error));
  return error.errors.map(({ in: place, detail, said }) => {
    assert.ok(said, `${place}: ${detail}`);
    assert.equal(sentenceAbout(said), detail);
    const german = sentenceAbout(said, DE.console.refusals);
    assert.notEqual(german, detail, place);
    assert.doesNotMatch(german, ENGLISH, place);
    assert.doesNotMatch(german, /undefined/, place);
    if (said[0] === 'wrong')
      assert.notEqual(german, sentenceAbout(['wrong', ''], DE.console.refusals), `${place} ${said}`);
    return said[0];
  });
}

/** Values of each type, none of which fits a member. */
const UNFIT: readonly unknown[] = [
  '\u200b',
  'x y\u200b',
  'a'.repeat(3000),
  -1,
  10 ** 12,
  [],
  ['\u200b'],
  Array.from({ length: 300 }, (_, at) => `https://a.example/${at}`),
  {},
  { keys: [] },
  true,
];

/** Problems that an operator of this program cannot have: of clients that register themselves, or of other hosts. */
const OF_OTHERS: readonly string[] = [
  ...['no_grant', 'no_code', 'must_keep', 'one_of', 'language_tag'],
  ...['no_fetch', 'not_fetched', 'unfetched', 'sector_list', 'unsupported', 'certificates'],
];

const PAIRWISE = { subject_type: 'pairwise' };
const KEYS = 'https://keys.example/jwks';
const manyTags = Object.fromEntries(
  Array.from({ length: 51 }, (_, at) => [`client_name#de-x${at}`, 'Laden']),
);
const LONG = 'https://app.example/'.padEnd(1900, 'a');

/** Metadata that breaks one rule, by the code of the problem. */
const BROKEN: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  wrong: { client_name: 'a'.repeat(201) },
  profile: { profile: 'fapi2-security', token_endpoint_auth_method: 'none' },
  needs: { api_scopes: ['read'] },
  language_tags: manyTags,
  too_long: { redirect_uris: Array.from({ length: 20 }, (_, at) => `${LONG}${at}`) },
  too_short: { token_endpoint_auth_method: 'client_secret_jwt', client_secret: 'eight ch' },
  grant_needs: { grant_types: ['refresh_token'] },
  confidential: { grant_types: ['client_credentials'], token_endpoint_auth_method: 'none' },
  pkce: { token_endpoint_auth_method: 'none', insecure_allow_missing_pkce: true },
  lacks: { token_endpoint_auth_method: 'private_key_jwt' },
  algorithms: {
    ...{ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: KEYS },
    token_endpoint_auth_signing_alg: 'HS256',
  },
  goes_with: { token_endpoint_auth_signing_alg: 'RS256' },
  both_keys: { jwks_uri: KEYS },
  key_for: { id_token_encrypted_response_alg: 'RSA-OAEP-256' },
  unstable_uri: { resource: 'https://api.example/a/../b' },
  no_uri: { grant_types: ['authorization_code'] },
  exposed_uri: { redirect_uris: ['http://app.example/cb'] },
  sector: { ...PAIRWISE, redirect_uris: ['https://a.example/cb', 'https://b.example/cb'] },
  own_issuer: { identity_assertions: { [ISSUER]: { client_id: 'here' } } },
  signs_in_as: { ...PAIRWISE, identity_assertions: { 'https://other.example': { client_id: 'here' } } },
};

test('what is wrong with the metadata of a client has a code with a sentence in every language', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  await set.addClient('shop');
  const commands = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
  const codes = Object.keys(METADATA_PROBLEMS);
  assert.deepEqual([...Object.keys(BROKEN), ...OF_OTHERS].sort(), codes.sort());
  const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  for (const [code, members] of Object.entries(BROKEN)) {
    const jwks = ['both_keys', 'key_for'].includes(code) ? { jwks: { keys: [jwk] } } : {};
    const order = { client_id: 'broken', ...jwks, ...members };
    assert.deepEqual(await saidBy(() => call(commands, 'addClient', order as never)), [code]);
  }
  let refused = 0;
  for (const name of MEMBER_NAMES)
    for (const value of UNFIT) {
      const order = { client_id: 'shop', dry_run: true, [name]: value };
      refused += (await saidBy(() => call(commands, 'updateClient', order as never))).length;
    }
  assert.ok(refused > 600, String(refused));
});
