import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteStorage } from '@grantd/core/sqlite';
import * as client from 'openid-client';
import { Browser, signInAndConsent } from '../../server/test/harness/browser.ts';
import { codeFlow, discovered } from '../../server/test/harness/relying_party.ts';
import { assertLoopbackAlone } from './loopback.ts';
import { started } from './started.ts';

const REDIRECT_URI = 'http://localhost:8080/callback';

for (const file of ['express.ts', 'fastify.ts', 'hono.ts'])
  test(`examples/embedded/${file}: users of the application sign in to another one, and its own pages stay`, async (t) => {
    const { url: application, folder } = await started(t, join('embedded', file));
    const url = `${application}/auth`;
    const storage = openSqliteStorage({ path: join(folder, 'tokens.db'), issuer: url });
    await storage.clients.add({
      id: 'my-app',
      grantTypes: ['authorization_code'],
      scopes: ['openid', 'profile', 'email'],
      redirectUris: [REDIRECT_URI],
      metadata: { token_endpoint_auth_method: 'none' },
    });
    await storage.close();

    const configuration = await discovered({ url }, 'my-app', client.None());
    const tokens = await codeFlow({ url }, configuration, {
      redirectUri: REDIRECT_URI,
      person: (to) => signInAndConsent(new Browser(url), to.href),
    });
    const { sub = '' } = tokens.claims() ?? {};
    const { email } = await client.fetchUserInfo(configuration, tokens.access_token, sub);
    assert.equal(email, 'alice@example.com');
    assert.equal(await (await fetch(application)).text(), 'the application');
    assert.equal((await fetch(`${application}/nobody-is-here`)).status, 404);
    await assertLoopbackAlone(application);
  });
