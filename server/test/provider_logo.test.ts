// The operator's own picture of a provider, on the button of the sign-in page (docs/providers.md).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Browser } from './harness/browser.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>';

test('the button shows the logo of its provider, which the server sends so that nothing in it runs', async () => {
  const folder = await workbench.home();
  const client = { client_id: 'grantd', client_secret: { env: 'PROVIDER_SECRET' } };
  const provider = { ...client, issuer: 'https://sso.example' };
  const providers = {
    staff: { ...provider, name: 'Staff', logo: 'mark.svg' },
    guests: { ...provider, name: 'Guests', issuer: 'https://guests.example' },
  };
  writeFileSync(join(folder, 'mark.svg'), SVG);
  writeFileSync(join(folder, 'providers.json'), JSON.stringify(providers));
  const { url } = await workbench.start(folder, ['--providers', 'providers.json'], { PROVIDER_SECRET: 'x' });
  const { html } = await new Browser(url).get(`${url}/account`);
  assert.match(html, /<img class="provider-mark picture" src="\/logo\?provider=staff" alt="">/);
  assert.match(html, /<span class="provider-mark initial" aria-hidden="true">G<\/span>/);

  const logo = await fetch(`${url}/logo?provider=staff`);
  const sent = ['content-type', 'content-security-policy', 'content-disposition', 'x-content-type-options'];
  assert.deepEqual(
    [logo.status, await logo.text(), ...sent.map((name) => logo.headers.get(name))],
    [
      ...[200, SVG, 'image/svg+xml', "default-src 'none'; style-src 'unsafe-inline'; sandbox"],
      ...['attachment', 'nosniff'],
    ],
  );
  for (const id of ['guests', 'absent', '__proto__'])
    assert.equal((await fetch(`${url}/logo?provider=${id}`)).status, 404, id);
});
