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
    ...{ issuedAt: () => undefined, client: () => undefined },
    ...lists,
  };
  const ending = ({ act, given }: Ending) => html`[${[act, ...Object.values(given)].join(' ')}]`;
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
  assert.match(found[0] ?? '', /JWT of a trusted issuer.*\[end_client billing\]$/);
  assert.match(found[1] ?? '', /\[end_client photos\]$/);
  assert.match(found[2] ?? '', /inactive photos/);
  assert.doesNotMatch(found[2] ?? '', /\[/);
});

test('each application is one row, with its access, its consent, and one act that ends both', async () => {
  const uri = 'https://api.example/photos';
  const rows = await rowsOf({
    grants: [grant('g1', 'photos', [uri]), grant('g2', 'photos'), grant('g3', 'wiki'), grant('g4', 'shop')],
    consents: [consent('photos', ['a']), consent('wiki', ['a', 'b']), consent('notes', ['c'])],
    acting: [acting('wiki', true, ['photos'])],
  });
  assert.ok(rows.includes('3 applications have access now.'));
  const shown = (id: string) => rows.filter((row) => row.startsWith(id));
  assert.equal(shown('photos').length, 1);
  assert.match(
    shown('photos').join(),
    /^photos a https:\S+ ?Will not ask again .*\[end_application photos\]$/,
  );
  assert.match(
    shown('wiki').join(),
    /^wiki photos a ?Will not ask again, also for: ?b .*\[end_application wiki\]$/,
  );
  assert.match(shown('shop').join(), /^shop a .*\[end_client shop\]$/);
  assert.match(
    shown('notes').join(),
    /^notes ?No access now, but the application will not ask again c .*\[withdraw_consent notes\]$/,
  );
});

test('a personal access token is a row of its own, with an act that ends only this token', async () => {
  const token = {
    ...{ id: 'g2', sub: 'bob', name: 'CI', resource: 'https://docs.example', scopes: ['docs:read'] },
    ...{ bound: false, created_at: AT, expires_at: LATER },
  };
  const grants = [grant('g1', 'tokens'), grant('g2', 'tokens')];
  const rows = await rowsOf({ grants, tokens: [token] });
  assert.match(rows.filter((row) => row.startsWith('CI')).join(), /not used yet \[end_grant g2\]$/);
  assert.match(rows.filter((row) => row.startsWith('tokens')).join(), /\[end_client tokens\]$/);
});

test('a personal access token was never last used before it was made', async () => {
  const shown = async (createdAt: string, usedAt: string, now: string) => {
    const token = {
      ...{ id: 'g1', sub: 'bob', name: 'CI', resource: 'https://docs.example', scopes: ['a'] },
      ...{ bound: false, created_at: createdAt, expires_at: '2027-01-01T00:00:00Z', last_used_at: usedAt },
    };
    const grants = [{ ...grant('g1', 'tokens'), created_at: createdAt }];
    const rows = await rowsOf({ grants, tokens: [token], nowMs: Date.parse(now) });
    return /(?:a https:\S+ )(.*) \[end/.exec(rows.filter((row) => row.startsWith('CI')).join())?.[1];
  };
  const [made, hour] = ['2026-03-01T10:27:00Z', '2026-03-01T10:00:00Z'];
  assert.equal(await shown(made, hour, '2026-03-01T10:29:00Z'), '2 minutes ago used this hour');
  assert.equal(await shown(made, hour, '2026-03-01T12:10:00Z'), '1 hour ago 1 hour ago');
  assert.equal(await shown(made, '2026-03-01T11:00:00Z', '2026-03-01T14:00:00Z'), '3 hours ago 3 hours ago');
});

test('an application was last used when it last got a token', async () => {
  const rows = await rowsOf({
    grants: [grant('g1', 'photos'), grant('g2', 'notes')],
    issuedAt: (id) => (id === 'photos' ? Date.parse('2026-03-01T22:00:00Z') : undefined),
  });
  assert.match(rows.filter((row) => row.startsWith('photos')).join(), /a yesterday 2 hours ago/);
  assert.equal((await rowsOf({ grants: [grant('g1', 'photos')] })).join().includes('Last used'), false);
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
  const few = await heads({ grants: [grant('g1', 'photos')], consents: [consent('photos', ['a'])] });
  assert.doesNotMatch(few, /Through|Last used/);
  const more = await heads({ acting: [acting('billing', true, ['photos'])] });
  assert.match(more, /Through.*Last used/);
});
