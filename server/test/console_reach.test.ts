import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html } from 'hono/html';
import { type Ending, type ReachView, reachTable } from '../src/console/reach.ts';
import { textsIn } from '../src/texts/texts.ts';

const AT = '2026-03-01T00:00:00Z';
const LATER = '2026-03-02T00:00:00Z';

const consent = (id: string, scopes: readonly string[]) => ({
  client_id: id,
  entries: [{ scopes: [...scopes], resources: [], claims: [], authorization_details: [], given_at: AT }],
});

const acting = (id: string, active: boolean, applications: readonly string[]) => ({
  ...{ client_id: id, applications: [...applications], scopes: [], resources: [], agent: false, active },
  ...{ since: AT, last_used_at: LATER },
});

/** The rows of the table as texts. */
async function rowsOf(lists: Partial<ReachView>): Promise<readonly string[]> {
  const view: ReachView = {
    ...{ base: '/console', grants: [], acting: [], consents: [], tokens: [], nowMs: Date.parse(LATER) },
    client: () => undefined,
    ...lists,
  };
  const ending = (what: Ending) =>
    html`[${Object.entries(what).flatMap(([act, of]) => [act, ...Object.values(of)])}]`;
  const table = String(await reachTable(view, ending, textsIn('en')));
  const text = table.replaceAll(/<\/t[hd]>/g, ' ').replaceAll(/<[^>]*>/g, '');
  return text.split('\n').map((line) => line.replaceAll(/\s+/g, ' ').trim());
}

const grant = (id: string, clientId: string, resources: readonly string[] = []) => ({
  ...{ id, client_id: clientId, scopes: ['a'], resources, created_at: AT },
});

test('an application with active tokens comes first, and only such access can be ended', async () => {
  const rows = await rowsOf({
    acting: [acting('old', false, ['photos']), acting('billing', true, ['billing'])],
    grants: [grant('g1', 'photos')],
  });
  assert.ok(rows.includes('2 applications have access now.'));
  const found = rows.filter((row) => /^(?:old|billing|photos)/.test(row));
  assert.deepEqual(
    found.map((row) => row.split(' ')[0]),
    ['billing', 'photos', 'old'],
  );
  assert.match(found[0] ?? '', /JWT of a trusted issuer.*\[end_client,?billing\]$/);
  assert.match(found[1] ?? '', /\[end_grant,?g1\]$/);
  assert.match(found[2] ?? '', /inactive photos/);
  assert.doesNotMatch(found[2] ?? '', /\[/);
});

test('a consent is a row only if it allows more than the active tokens', async () => {
  const consents = [consent('photos', ['a']), consent('notes', ['a']), consent('wiki', ['a', 'b'])];
  const rows = await rowsOf({ consents, grants: [grant('g1', 'photos'), grant('g2', 'wiki')] });
  const shown = (id: string) => rows.filter((row) => row.includes(`[withdraw_consent${id}]`));
  assert.deepEqual(shown('photos'), []);
  assert.match(shown('notes').join(), /^notes ?No access now, but the application will not ask again/);
  assert.match(shown('wiki').join(), /^wiki ?Will not ask again/);
});

test('a grant says which APIs it is for', async () => {
  const uri = 'https://api.example/photos';
  const rows = await rowsOf({ grants: [grant('g1', 'photos', [uri]), grant('g2', 'notes')] });
  const shown = (id: string) => rows.filter((row) => row.startsWith(id)).join();
  assert.match(shown('photos'), /https:\/\/api\.example\/photos/);
  assert.doesNotMatch(shown('notes'), /https:/);
});

test('a column that no row uses is left out', async () => {
  const heads = async (lists: Partial<ReachView>) => (await rowsOf(lists)).join(' ');
  const few = await heads({ grants: [grant('g1', 'photos')] });
  assert.doesNotMatch(few, /Through|Last used/);
  const more = await heads({ acting: [acting('billing', true, ['photos'])] });
  assert.match(more, /Through.*Last used/);
});
