import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openRemoteSite } from '../../core/test/harness/remote_site.ts';
import { ALICE, Browser, isConsent, type Page } from './harness/browser.ts';
import { newSigningKey } from './harness/client_key.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { type Codes, deviceCodes, enterCode, pollDevice } from './harness/devices.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce, postForm } from './harness/protocol.ts';

/** The text for users. It does not send them to the application's operators. */
function assertSaysOutage(
  { status, headers, html }: Page,
  seconds: number,
  wait: string,
  description = 'the server cannot answer at the moment',
): void {
  assert.deepEqual(
    [status, headers.get('retry-after'), headers.get('cache-control')],
    [503, String(seconds), 'no-store'],
  );
  assert.match(html, /<h1>Temporarily unavailable<\/h1>/);
  const text = /<div role="alert"[^>]*>(.*?)<\/div>/s.exec(html)?.[1];
  assert.equal(text?.trim(), `<p>The server cannot answer right now.</p>\n<p>Try again in ${wait}.</p>`);
  assert.match(html, /<dd lang="en">temporarily_unavailable<\/dd>/);
  assert.ok(html.includes(`<dd lang="en">${description}</dd>`), html.slice(-700));
  assert.match(html, /<code id="request-number" lang="zxx">[\w-]+<\/code>/);
  assert.doesNotMatch(html, /not in order|Go back to the application/);
}

for (const database of DATABASES) {
  describe(`what a user reads during an outage on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo', '--insecure-development']);
    });

    test('of the database: that the server is unavailable, and when to try again', async () => {
      const { folder, url } = server;
      const browser = new Browser(url);
      const login = await browser.get(authorizationUrl(url, newPkce()));
      await database.run(folder, `ALTER TABLE ${database.schema}clients RENAME TO clients_away`);
      try {
        const shown = [
          await browser.get(authorizationUrl(url, newPkce())), // validates a request
          await browser.get(login.url), // resumes a request
          await browser.get(`${url}/logout?client_id=demo-web`),
        ];
        for (const page of shown) assertSaysOutage(page, 1, '1 second');
      } finally {
        await database.run(folder, `ALTER TABLE ${database.schema}clients_away RENAME TO clients`);
      }
      assert.equal((await browser.get(login.url)).status, 200);
    });

    test('RFC 8628 §3.3 of the database while a device connects: nothing is lost, and no try counts as a guess', async () => {
      const { folder, url } = server;
      const during = async <T>(table: string, work: () => Promise<T>): Promise<T> => {
        const name = `${database.schema}${table}`;
        await database.run(folder, `ALTER TABLE ${name} RENAME TO ${table}_away`);
        try {
          return await work();
        } finally {
          await database.run(folder, `ALTER TABLE ${name}_away RENAME TO ${table}`);
        }
      };
      const cli = { client_id: 'demo-cli', scope: 'openid' };
      const poll = (given: Codes) => pollDevice(server, given, cli.client_id);
      const refused = await during('pending', () => postForm(`${url}/device_authorization`, cli));
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1']);
      const given = await deviceCodes(server, cli);
      const browser = new Browser(url);
      const entry = await browser.submit(await browser.get(given.verification_uri), { ...ALICE });
      await during('pending', async () => {
        for (let tries = 0; tries < 11; tries++)
          assertSaysOutage(await enterCode(browser, entry, given), 1, '1 second');
        assert.equal((await poll(given)).error, 'temporarily_unavailable');
      });
      assert.equal((await poll(given)).error, 'authorization_pending');
      const consent = await enterCode(browser, entry, given);
      assert.ok(isConsent(consent), consent.html);
      for (const table of ['pending', 'authorization_codes'])
        await during(table, async () =>
          assertSaysOutage(await browser.submit(consent, { decision: 'allow' }), 1, '1 second'),
        );
      const done = await browser.submit(consent, { decision: 'allow' });
      assert.match(done.url, /\/device\/approved$/);
      for (const table of ['pending', 'authorization_codes'])
        assert.equal((await during(table, () => poll(given))).error, 'temporarily_unavailable');
      assert.ok((await poll(given)).access_token);
    });

    test('the jwks_uri of a client: the same, and the log has its URL', async (t) => {
      const keys = await openRemoteSite(t, (_, response) => response.writeHead(500).end());
      const callback = 'https://signs.example/callback';
      const add = [
        ...['client', 'add', 'signs', '--public', '--grant', 'authorization_code', '--scope', 'openid'],
        ...['--redirect-uri', callback, '--jwks-uri', `${keys.origin}/jwks`],
      ];
      await grantdPrints(server.folder, add, '', { GRANTD_INSECURE_DEVELOPMENT: 'true' });
      const request = await signedRequest({
        client_id: 'signs',
        response_type: 'code',
        redirect_uri: callback,
      });
      const asked = `${server.url}/authorize?${new URLSearchParams({ client_id: 'signs', request })}`;
      const page = await new Browser(server.url).get(asked);
      assertSaysOutage(page, 10, '10 seconds', 'a document of the client cannot be fetched at the moment');
      const { operation, status } = await server.logged(
        ({ reason }) => reason === 'document_unavailable',
        'which it was',
      );
      assert.deepEqual([operation, status], ['authorization', 503]);
    });
  });
}

async function signedRequest(claims: Readonly<Record<string, string>>): Promise<string> {
  const { privateKey } = await newSigningKey('ES256');
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'ES256', kid: 'ES256' })}.${part(claims)}`;
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
  const signature = await crypto.subtle.sign(algorithm, privateKey, Buffer.from(signed));
  return `${signed}.${Buffer.from(signature).toString('base64url')}`;
}
