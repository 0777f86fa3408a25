import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { IdentityProvider } from '../harness/identity_provider.ts';
import { scene } from './scene.ts';
import { watch } from './watch.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-providers-'));
const provider = await IdentityProvider.open();
const file = join(folder, 'providers.json');
writeFileSync(join(folder, 'secret'), 'the secret of the client at the provider', { mode: 0o600 });
writeFileSync(
  file,
  JSON.stringify({
    company: {
      ...{ name: 'Company', issuer: provider.url, client_id: 'login', client_secret: { file: 'secret' } },
      create_users: true,
    },
    apple: {
      ...{ kind: 'apple', issuer: provider.url, client_id: 'login', team_id: 'TEAM123456' },
      ...{ private_key_id: 'ABCDE12345', private_key: { file: 'apple.p8' }, create_users: true },
    },
  }),
);
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
writeFileSync(join(folder, 'apple.p8'), String(privateKey.export({ type: 'pkcs8', format: 'pem' })), {
  mode: 0o600,
});
after(async () => {
  await provider.close();
  rmSync(folder, { recursive: true });
});

describe('other providers in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(['--providers', file]);

  test('a user goes to a provider on another site and back, to the application, and out of both', async () => {
    provider.user = { sub: 'ute-1', preferred_username: 'ute' };
    const visit = await set().visitor();
    const seen = watch(visit.person);
    await visit.authorize();
    await visit.page.click('#provider-company');
    await visit.page.click('#consent-allow');
    assert.ok((await visit.arrivalAt(set().redirectUri)).has('code'));

    await visit.open('/logout');
    await visit.page.click('#logout-yes');
    await visit.page.waitForSelector('#sign-in-again');
    assert.ok(seen.origins.has(provider.url));
    assert.deepEqual(seen.complaints, [], 'the policy of no page stops the way');
    assert.equal(await visit.session(), undefined);
  });

  test('a user comes back from another site that answers by a form, as Apple does', async () => {
    provider.user = { sub: 'una-1', email: 'una@example.com', email_verified: 'true' };
    provider.posted = { user: JSON.stringify({ name: { firstName: 'Una', lastName: 'Uhl' } }) };
    const visit = await set().visitor();
    const seen = watch(visit.person);
    await visit.authorize();
    await visit.page.click('#provider-apple');
    await visit.page.click('#consent-allow');
    assert.ok((await visit.arrivalAt(set().redirectUri)).has('code'));
    assert.ok(seen.origins.has(provider.url));
    assert.deepEqual(seen.complaints, []);
    await visit.open('/account');
    assert.match((await visit.page.textContent('.profile')) ?? '', /Una Uhl/);
  });

  test('a user connects an account from the page for security, and signs in with it', async () => {
    provider.user = { sub: 'alice-1', email: 'alice@example.com', email_verified: true };
    const visit = await set().visitor();
    await visit.open('/account/security');
    await visit.signIn();
    await visit.page.click('#connect-company');
    await visit.page.waitForSelector('#notice');
    assert.match((await visit.page.textContent('.entry')) ?? '', /Company\s*alice@example\.com/);
    await visit.person.clearCookies();

    await visit.open('/account');
    await visit.page.click('#provider-company');
    await visit.page.waitForSelector('#sign-out');
    assert.match((await visit.page.textContent('.person')) ?? '', /alice/);
  });
});
