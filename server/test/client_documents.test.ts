// A client of the program whose identifier is the URL of its metadata document.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ALICE, Browser, isConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, redeem } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

const CALLBACK = 'http://127.0.0.1:50123/callback';
const SCOPE = 'openid offline_access';

const workbench = new Workbench();
after(() => workbench.clear());

describe('a client with a metadata document', () => {
  const requests: (string | undefined)[] = [];
  let isUp = true;
  let changes: object = {};
  const site = createServer((request, response) => {
    requests.push(request.url);
    if (!isUp) return void response.writeHead(503).end();
    response.setHeader('content-type', 'application/json');
    response.setHeader('cache-control', 'no-store');
    response.end(
      JSON.stringify({
        client_id: `http://${host}${request.url}`,
        client_name: 'Example Inc. Security',
        redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        token_endpoint_auth_method: 'none',
        authorization_details_types: ['payment', 'report'],
        logo_uri: 'https://stranger.example/logo.png',
        ...changes,
      }),
    );
  });
  let id: string;
  let host: string;
  let server: RunningServer;
  before(async () => {
    await once(site.listen(0, '127.0.0.1'), 'listening');
    host = `127.0.0.1:${(site.address() as AddressInfo).port}`;
    id = `http://${host}/oauth/client.json`;
    const folder = workbench.folder();
    const typeCalled = (name: string) => ({
      schema: { type: 'object', additionalProperties: true },
      texts: { name, description: 'Once' },
    });
    const authorizationDetails = { payment: typeCalled('Pay 5 EUR'), report: typeCalled('Read reports') };
    writeFileSync(join(folder, 'grantd.json'), JSON.stringify({ authorizationDetails }));
    server = await workbench.start(folder, [
      ...['--demo', '--config', 'grantd.json', '--client-documents', 'open', '--insecure-development'],
      ...['--registration-authorization-details-types', 'payment', '--operator-name', 'Musterstadt'],
    ]);
  });
  after(() => site.close());

  const pkce = newPkce();
  const url = () =>
    authorizationUrl(server.url, pkce, { client_id: id, redirect_uri: CALLBACK, scope: SCOPE });

  async function consented(): Promise<URL> {
    const browser = new Browser(server.url);
    const consent = await browser.submit(await browser.get(url()), { ...ALICE });
    assert.ok(isConsent(consent), consent.html);
    return new URL((await browser.submit(consent, { decision: 'allow' })).url);
  }

  function refreshed(refresh_token = ''): Promise<Response> {
    const body = new URLSearchParams({ grant_type: 'refresh_token', client_id: id, refresh_token });
    return fetch(`${server.url}/token`, { method: 'POST', body });
  }

  test('pages name the host of its document, and say what it calls itself and that it runs on a device', async () => {
    const browser = new Browser(server.url);
    const login = await browser.get(url());
    assert.match(login.html, new RegExp(`to continue to <bdi class="name">${host}</bdi>`));
    const consent = await browser.submit(login, { ...ALICE });
    assert.match(consent.html, new RegExp(`<h1[^>]*>[^<]*<bdi class="name">${host}</bdi>`));
    assert.match(consent.html, /It calls itself <bdi class="name">Example Inc\. Security<\/bdi>/);
    assert.match(consent.html, /id="on-this-device"/);
    assert.match(consent.html, /continue to <bdi class="name">127\.0\.0\.1:50123<\/bdi>/);
    assert.doesNotMatch(consent.html, /stranger\.example/);
  });

  test('it may ask for the types of authorization details that are open, which the page shows', async () => {
    const asked = (type: string) =>
      `${url()}&authorization_details=${encodeURIComponent(JSON.stringify([{ type }]))}`;
    const browser = new Browser(server.url);
    const consent = await browser.submit(await browser.get(asked('payment')), { ...ALICE });
    assert.ok(isConsent(consent), consent.html);
    assert.match(consent.html, /Pay 5 EUR/);
    const { html } = await new Browser(server.url).get(asked('report'));
    assert.match(html, /invalid_authorization_details/);
  });

  test('it gets tokens and refreshes them, and an operator ends it by its URL while its site is down', async () => {
    const tokens = await redeem(server.url, pkce, await consented(), id);
    assert.equal((await introspect(server.url, tokens.access_token)).client_id, id);
    const next = await (await refreshed(tokens.refresh_token)).json();
    assert.ok(next.access_token, JSON.stringify(next));
    isUp = false;
    const shown = await grantdPrints(server.folder, ['client', 'show', id]);
    assert.match(shown, /Example Inc\. Security/);
    assert.match(shown, /^document valid at +20\d\d-\S+Z$/m);
    assert.match(
      await grantdPrints(server.folder, ['token', 'explain', next.access_token]),
      new RegExp(host),
    );
    assert.match(
      await grantdPrints(server.folder, ['client', 'list']),
      /^http\S+client\.json .* by document/m,
    );
    const listed = async (kind: string) => {
      const printed = await grantdPrints(server.folder, ['client', 'list', '--kind', kind, '--json']);
      return JSON.parse(printed).map(({ client_id }: { client_id: string }) => client_id);
    };
    assert.deepEqual([await listed('document'), await listed('registered')], [[id], []]);
    const ofOperators = await listed('operator');
    assert.ok(ofOperators.includes('demo-web') && !ofOperators.includes(id));
    const audit = await grantdPrints(server.folder, ['audit', 'list', '--client', id]);
    for (const type of ['client_added', 'consent_given']) assert.match(audit, new RegExp(`${type}.*${id}`));
    assert.equal((await introspect(server.url, next.access_token)).active, true);
    await grantdPrints(server.folder, ['client', 'disable', id]);
    assert.equal((await introspect(server.url, next.access_token)).active, false);
    assert.equal((await refreshed(next.refresh_token)).status, 401);
    isUp = true;
    const { status, html } = await new Browser(server.url).get(url());
    assert.equal(status, 400, html);
    await grantdPrints(server.folder, ['client', 'enable', id]);
  });

  test('while its site is down, users get a page, and the log blames the client and not the server', async () => {
    isUp = false;
    const client_id = id.replace('client.json', 'other.json');
    const parameters = { client_id, redirect_uri: CALLBACK, scope: SCOPE };
    const page = await new Browser(server.url).get(authorizationUrl(server.url, pkce, parameters));
    assert.equal(page.status, 400, page.html);
    const isMeant = ({ reason }: Readonly<Record<string, unknown>>) =>
      reason === 'client_document_unreachable';
    const { level, status } = await server.logged(isMeant, 'that the document cannot be fetched');
    assert.deepEqual([level, status], ['info', 400]);
    isUp = true;
  });

  test('a user who has added 200 clients is told so, and agrees to nothing more', async () => {
    await consented();
    const database = new DatabaseSync(join(server.folder, 'grantd-data', 'grantd.db'), { timeout: 5000 });
    const columns = database
      .prepare("SELECT name FROM pragma_table_info('clients') WHERE name <> 'id'")
      .all()
      .map(({ name }) => name)
      .join(', ');
    database
      .prepare(
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 199)
        INSERT INTO clients (id, ${columns}) SELECT id || n, ${columns} FROM clients, numbers WHERE id = ?`,
      )
      .run(id);
    database.close();
    const browser = new Browser(server.url);
    const client_id = id.replace('client.json', 'more.json');
    const parameters = { client_id, redirect_uri: CALLBACK, scope: SCOPE };
    const more = authorizationUrl(server.url, pkce, parameters);
    const consent = await browser.submit(await browser.get(more), { ...ALICE });
    const refused = await browser.submit(consent, { decision: 'allow' });
    assert.deepEqual([refused.status, /<h1>Too many applications<\/h1>/.test(refused.html)], [429, true]);
    await withDatabaseOf(server, async ({ people, consents }) => {
      const { subject } = (await people.byName(ALICE.username)) ?? assert.fail();
      assert.equal(await consents.get({ subject, clientId: client_id }), undefined);
    });
  });

  test('what changes in its document while users read the page is asked about again, or refused', async () => {
    const consent = async (browser: Browser) => browser.submit(await browser.get(url()), { ...ALICE });
    const [first, second] = [new Browser(server.url), new Browser(server.url)] as const;
    const pages = [await consent(first), await consent(second)] as const;
    /** Its document is fresh for five seconds at least. */
    const change = async (members: object) => {
      changes = members;
      await pause(5_100);
    };
    await change({ client_name: 'Your Bank' });
    const again = await first.submit(pages[0], { decision: 'allow' });
    assert.ok(isConsent(again), again.html);
    assert.match(again.html, /Your Bank/);
    await change({ redirect_uris: ['https://stranger.example/callback'] });
    for (const [browser, page] of [
      [first, again],
      [second, pages[1]],
    ] as const)
      assert.equal((await browser.submit(page, { decision: 'allow' })).status, 400);
  });
});

test('one address cannot keep out others from the clients of a site', async () => {
  const server = await workbench.start(workbench.folder(), [
    ...['--demo', '--client-documents', 'open', '--insecure-development'],
    ...['--client-document-site-limit', '3', '--trusted-proxies', '127.0.0.1'],
  ]);
  let number = 0;
  const ask = async (address: string) => {
    // Nothing listens there.
    const client_id = `http://127.0.0.1:9/${number++}.json`;
    const parameters = { client_id, redirect_uri: CALLBACK, scope: SCOPE };
    const url = authorizationUrl(server.url, newPkce(), parameters);
    return (await new Browser(server.url, { 'x-forwarded-for': address }).get(url)).status;
  };
  const [first, second] = ['192.0.2.1', '192.0.2.2'] as const;
  assert.deepEqual([await ask(first), await ask(first), await ask(second)], [400, 429, 400]);
});

test('with --client-documents listed, the server starts only with a host, and names the option', async () => {
  const options = ['serve', '--demo', '--port', '0', '--client-documents', 'listed'];
  const { code, stderr } = await grantd(workbench.folder(), options);
  assert.equal(code, 2, stderr);
  assert.match(stderr, /--client-document-hosts.*a host, because clientDocuments is listed/s);
});
