// Personal access tokens that users make on the pages of their account (docs/personal_tokens.md, ADR 194).
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { EXCHANGE_GRANT } from '@grantd/core';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { type Browser, type Page, unescaped } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import {
  API,
  DAY,
  make,
  OPTIONS,
  opened,
  valueIn,
  valuesIn,
  type Wanted,
} from './harness/personal_tokens.ts';
import { grantd, type RunningServer, Workbench } from './harness/program.ts';
import { basic, introspect, postForm, userInfo } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

const EMAIL = 'fay@example.com';

/** The identifiers of the tokens in the list. */
function idsIn({ html }: Page): readonly string[] {
  return [...html.matchAll(/id="end-token-([^"]*)"/g)].map(([, id = '']) => id);
}

async function end(browser: Browser, page: Page): Promise<Page> {
  const [, href = ''] = /id="end-token-[^"]*" class="button" href="([^"]*)"/.exec(page.html) ?? [];
  const question = await browser.get(new URL(unescaped(href), page.url).href);
  const [, id = ''] = /id="end-token-yes"[^>]* name="end_token" value="([^"]*)"/.exec(question.html) ?? [];
  return browser.submit(question, { end_token: id });
}

for (const database of DATABASES) {
  describe(`personal access tokens on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), OPTIONS);
    });
    const isActive = async (token: string) => (await introspect(server.url, token)).active;

    test('a user makes one, sees its value until it is copied, uses it and ends it', async () => {
      const { browser, page } = await opened(server, 'ada');
      assert.match(page.html, /You have no tokens/);
      const beforeMs = Date.now();
      const made = await make(browser, page);
      const token = valueIn(made);
      assert.match(token, /^grantd_pat_[\w-]{43}$/);
      assert.equal(made.url, `${server.url}/account/tokens`);
      assert.equal(valueIn(await browser.get(made.url)), token, 'also after a reload');

      const { sub, exp, iat, jti, ...answer } = await introspect(server.url, token);
      assert.deepEqual(answer, {
        ...{ active: true, scope: 'api:read', client_id: 'personal-tokens', username: 'ada' },
        ...{ token_type: 'Bearer', aud: API, iss: server.url },
      });
      assert.equal(Number(exp) - Number(iat), 30 * DAY);
      assert.ok(Math.abs(Number(iat) - beforeMs / 1000) < 30 && typeof jti === 'string');
      assert.equal(
        sub,
        await withDatabaseOf(server, async ({ people }) => (await people.byName('ada'))?.subject),
      );

      const saved = await browser.submit(made, { saved: idsIn(made)[0] ?? '' });
      assert.match(saved.html, /id="notice"[\s\S]*not shown again/);
      assert.deepEqual(valuesIn(saved), []);
      assert.equal(await isActive(token), true);

      const ended = await end(browser, saved);
      assert.match(ended.html, /The token has ended/);
      assert.match(ended.html, /You have no tokens/);
      assert.equal(await isActive(token), false);
    });

    test('it is no token for anything but its API', async () => {
      const { browser, page } = await opened(server, 'bob');
      const token = valueIn(await make(browser, page));
      assert.equal((await userInfo(server.url, token)).status, 403, 'UserInfo needs openid');
      const refresh = { grant_type: 'refresh_token', refresh_token: token, client_id: 'personal-tokens' };
      assert.equal((await postForm(`${server.url}/token`, refresh)).status, 400);
      const authorize = new URLSearchParams({ client_id: 'personal-tokens', response_type: 'code' });
      assert.equal((await browser.get(`${server.url}/authorize?${authorize}`)).status, 400);
    });

    test('who has it can revoke it, and other clients cannot', async () => {
      const { browser, page } = await opened(server, 'cy');
      const token = valueIn(await make(browser, page));
      const revoke = (fields: Readonly<Record<string, string>>, authorization?: string) =>
        postForm(`${server.url}/token/revoke`, { token, ...fields }, authorization);
      assert.equal((await revoke({}, basic('demo-web', 'demo-web-secret'))).status, 200);
      assert.equal(await isActive(token), true);
      assert.equal((await revoke({ client_id: 'personal-tokens' })).status, 200);
      assert.equal(await isActive(token), false);
      assert.match((await browser.get(page.url)).html, /You have no tokens/);
    });

    test('posted fields go beyond nothing that the page offers', async () => {
      const { browser, page } = await opened(server, 'dan');
      const cases: readonly (readonly [Wanted, RegExp])[] = [
        [{ scope: 'openid' }, /may not have one of these/],
        [{ scope: 'offline_access' }, /may not have one of these/],
        [{ scope: 'grantd:users:read' }, /may not have one of these/],
        [{ scope: 'api:none' }, /may not have one of these/],
        [{ api: server.url }, /not allowed/],
        [{ api: `${server.url}/admin`, scope: 'grantd:users:read' }, /not allowed/],
        [{ lifetime: String(366 * DAY + 1) }, /Choose how long/],
        [{ lifetime: '-1' }, /Choose how long/],
        [{ lifetime: '1e9' }, /Choose how long/],
        [{ name: ' \u202e\u0007 ' }, /Enter a name/],
      ];
      for (const [wanted, problem] of cases) {
        const refused = await make(browser, page, wanted);
        assert.equal(refused.status, 400, JSON.stringify(wanted));
        const [, said] = /id="problem"[^>]*>.*?<span>([^<]*)</.exec(refused.html) ?? [];
        assert.match(String(said), problem);
      }
      const nothing = await browser.submit(page, { name: 'CI', lifetime: String(DAY) });
      assert.match(nothing.html, /Choose at least one permission/);
      const forged = await browser.post(page.url, {
        name: 'CI',
        scope: 'api:read',
        lifetime: String(DAY),
        api: API,
      });
      assert.notEqual(forged.status, 200, 'without the token of the form');
      assert.deepEqual(idsIn(await browser.get(page.url)), []);
    });

    test('a name is shown as text, without what nobody can see', async () => {
      const { browser, page } = await opened(server, 'eve');
      const made = await make(browser, page, { name: '<b>x</b>\u202e\u0000 "y"' });
      assert.match(made.html, /&lt;b&gt;x&lt;\/b&gt; &quot;y&quot;/);
      assert.ok(!made.html.includes('<b>x') && !made.html.includes('\u202e'));
    });

    test('a second press makes no second token, and no second email to the verified address', async () => {
      const { browser, page } = await opened(server, 'fay');
      await grantdPrints(server.folder, ['user', 'update', 'fay', '--email', EMAIL, '--email-verified']);
      const [one, other] = await Promise.all([
        make(browser, page, { name: "Fay's script" }),
        make(browser, page, { name: "Fay's script" }),
      ]);
      assert.equal(valueIn(one), valueIn(other));
      await make(browser, await browser.get(page.url), { scope: 'api:none' });
      const mails = async () => {
        const { html } = await browser.get(`${server.url}/demo/mailbox`);
        return [...html.matchAll(/<article class="mail">[\s\S]*?<\/article>/g)].map(([mail]) =>
          unescaped(mail),
        );
      };
      const queued = () => withDatabaseOf(server, ({ mails: queue }) => queue.list(false, 10));
      for (let tries = 0; tries < 400 && (await queued()).length > 0; tries++)
        await new Promise((resolve) => setTimeout(resolve, 20));
      const [mail = '', ...others] = await mails();
      assert.deepEqual(others, []);
      assert.ok(
        mail.includes(EMAIL) && mail.includes("The personal access token “Fay's script” was made"),
        mail,
      );
      assert.ok(!mail.includes(valueIn(one)));
    });

    test('it ends with the access of its user, and a new password of the user lets it be', async () => {
      const { who, browser, page } = await opened(server, 'gus');
      const token = valueIn(await make(browser, page));
      const security = await browser.get(`${server.url}/account/security`);
      const changed = await browser.submit(security, {
        ...{ current_password: who.password, new_password: 'another horse entirely' },
      });
      assert.match(changed.html, /Your password has changed/);
      assert.equal(await isActive(token), true);
      await grantdPrints(server.folder, ['user', 'end-sessions', 'gus']);
      assert.equal(await isActive(token), true);
      await grantdPrints(server.folder, ['user', 'end-access', 'gus']);
      assert.equal(await isActive(token), false);
    });

    for (const [what, args] of [
      ['disabled', ['user', 'disable']],
      ['removed', ['user', 'remove', '--yes']],
    ] as const)
      test(`it ends when its user is ${what}`, async () => {
        const name = `user-${what}`;
        const { browser, page } = await opened(server, name);
        const token = valueIn(await make(browser, page));
        await grantdPrints(server.folder, [...args, name]);
        assert.equal(await isActive(token), false);
      });

    test('its last use is known to the hour', async () => {
      const { browser, page } = await opened(server, 'hal');
      const made = await make(browser, page);
      assert.match(made.html, /not used yet/);
      await introspect(server.url, valueIn(made));
      await server.stop();
      server = await workbench.start(server.folder, [...OPTIONS, '--port', new URL(server.url).port]);
      const used = await browser.get(page.url);
      assert.match(used.html, /used this hour/);
      assert.deepEqual(valuesIn(used), [], 'who uses a token has copied it');
    });

    test('a check for a gateway is a use, if it passes', async () => {
      const { browser, page } = await opened(server, 'gil');
      const token = valueIn(await make(browser, page));
      const check = async (scope: string) => {
        const headers = { 'x-grantd-client': basic('demo-api', 'demo-api-secret') };
        const authorization = `Bearer ${token}`;
        const url = `${server.url}/token/check?scope=${scope}`;
        return (await fetch(url, { headers: { ...headers, authorization } })).status;
      };
      const restarted = async () => {
        await server.stop();
        server = await workbench.start(server.folder, [...OPTIONS, '--port', new URL(server.url).port]);
        return (await browser.get(page.url)).html;
      };
      assert.equal(await check('api:write'), 403);
      assert.match(await restarted(), /not used yet/);
      assert.equal(await check('api:read'), 204);
      assert.match(await restarted(), /used this hour/);
    });

    test('each change is in the audit trail, with the user', async () => {
      const { browser, page } = await opened(server, 'ida');
      await end(browser, await make(browser, page));
      const subject = await withDatabaseOf(
        server,
        async ({ people }) => (await people.byName('ida'))?.subject,
      );
      const printed = await grantdPrints(server.folder, ['audit', 'list', '--json', '--subject', 'ida']);
      const found = [...printed.matchAll(/"type": ?"(\w+)"[^}]*?"actor": ?"([^"]*)"/gs)].map(
        ([, type, actor]) => `${type} ${actor}`,
      );
      for (const type of ['personal_token_made', 'token_issued', 'grant_revoked'])
        assert.ok(found.includes(`${type} user:${subject}`), `${type} in ${found}`);
    });
  });
}

for (const database of DATABASES) {
  describe(`the policy of personal access tokens on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      const home = await workbench.home();
      server = await workbench.start(home, [...OPTIONS, ...['--personal-token-limit', '3']]);
      await grantdPrints(home, ['group', 'add', 'staff']);
      await server.stop();
      const options = [...OPTIONS, '--personal-token-limit', '3', '--personal-token-groups', 'staff'];
      server = await workbench.start(home, [
        ...options,
        '--workers',
        '4',
        '--port',
        new URL(server.url).port,
      ]);
    });
    const isActive = async (token: string) => (await introspect(server.url, token)).active;
    const join = (name: string) => grantdPrints(server.folder, ['group', 'add-member', 'staff', name]);
    const leave = (name: string) => grantdPrints(server.folder, ['group', 'remove-member', 'staff', name]);

    test('only members of a group make tokens, and who leaves it loses them at once', async () => {
      const { browser, page } = await opened(server, 'ann');
      assert.match(page.html, /cannot make tokens/);
      assert.doesNotMatch(page.html, /id="make-token"/);
      await join('ann');
      const token = valueIn(await make(browser, await browser.get(page.url)));
      assert.equal(await isActive(token), true);
      const form = await browser.get(page.url);
      assert.match(await leave('ann'), /personal-tokens/);
      assert.equal(await isActive(token), false);
      const refused = await make(browser, form);
      assert.equal(refused.status, 403);
      await join('ann');
      assert.equal(await isActive(token), false, 'what has ended stays ended');
    });

    test('the limit holds for requests at the same time in four processes', async () => {
      const { browser, page } = await opened(server, 'ben');
      await join('ben');
      const forms = await Promise.all(Array.from({ length: 12 }, () => browser.copy().get(page.url)));
      const answers = await Promise.all(
        forms.map((form, index) => make(browser.copy(), form, { name: `token ${index}` })),
      );
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 409]));
      const list = await browser.get(page.url);
      assert.equal(idsIn(list).length, 3);
      assert.match(list.html, /maximum number of tokens/);
      const after = await end(browser, list);
      assert.equal(idsIn(await make(browser, after)).length, 3, 'another one for the one that has ended');
    });

    test('a token that is made while its user loses the group, is disabled or removed, does not stay', async () => {
      const losing = {
        group: ['group', 'remove-member', 'staff'],
        disabled: ['user', 'disable'],
        removed: ['user', 'remove', '--yes'],
      };
      const listed = () => grantdPrints(server.folder, ['personal-token', 'list']);
      for (const lose of ['group', 'disabled', 'removed'] as const)
        for (let round = 0; round < 4; round++) {
          const name = `${lose}-${round}`;
          const { browser, page } = await opened(server, name);
          await join(name);
          const form = await browser.get(page.url);
          const lost = grantdPrints(server.folder, [...losing[lose], name]);
          const made: Page[] = [];
          for (let index = 0; index < 3; index++)
            made.push(await make(browser, form, { name: `${name} ${index}` }));
          await lost;
          for (const value of made.flatMap(valuesIn)) assert.equal(await isActive(value), false, name);
          if (lose === 'removed') assert.ok(!(await listed()).includes(name), 'no name of a token stays');
        }
    });

    test('operators list the tokens, and end those that fit', async () => {
      const { browser, page } = await opened(server, 'cat');
      await join('cat');
      const token = valueIn(await make(browser, await browser.get(page.url), { name: 'old script' }));
      const command = (...args: string[]) => grantdPrints(server.folder, args);
      const tokens = JSON.parse(await command('user', 'show', 'cat', '--json')).personal_tokens;
      assert.deepEqual(
        tokens.map(({ name, resource, scopes, bound }: Record<string, unknown>) => [
          name,
          resource,
          scopes,
          bound,
        ]),
        [['old script', API, ['api:read'], false]],
      );
      assert.match(await command('user', 'show', 'cat'), /personal token \S+: "old script" for/);
      assert.match(await command('personal-token', 'list'), /old script/);
      const subject = ['--user', 'cat'];
      const policy = ['--personal-tokens', '--personal-token-apis', API, '--personal-token-groups', 'staff'];
      const beyond = ['personal-token', 'end', ...subject, '--beyond-policy', ...policy];
      assert.match(await command(...beyond), /ended 0 tokens/);
      assert.equal(await isActive(token), true);
      assert.match(
        await command(...beyond, '--personal-token-lifetime', '3600', '--dry-run'),
        /^\S+: "old script" of \S+ for \S+\nwould end 1 token of 1 user$/m,
      );
      assert.match(await command(...beyond, '--personal-token-scopes', 'api:write'), /ended 1 token/);
      assert.equal(await isActive(token), false);
    });

    test('nothing changes the client but the options, and disabling it ends all tokens', async () => {
      const refused = async (...args: string[]) => {
        const { code, stderr } = await grantd(server.folder, ['client', ...args]);
        assert.equal(code, 1, stderr);
        assert.match(stderr, /personal access tokens/);
      };
      await refused('update', 'personal-tokens', '--scope', 'openid');
      await refused('remove', 'personal-tokens', '--yes');
      await refused('add', 'personal-tokens', '--scope', 'openid');
      const issue = ['token', 'issue', '--client', 'personal-tokens', '--resource', API];
      for (const about of [[], ['--user', 'cat']]) {
        const { code, stdout, stderr } = await grantd(server.folder, [...issue, ...about]);
        assert.deepEqual([code, stdout], [1, ''], stderr);
        assert.match(stderr, /personal access tokens/);
      }
      const { browser, page } = await opened(server, 'dot');
      await join('dot');
      const token = valueIn(await make(browser, await browser.get(page.url)));
      await grantdPrints(server.folder, ['client', 'disable', 'personal-tokens']);
      assert.equal(await isActive(token), false);
      assert.equal((await make(browser, await browser.get(page.url))).status, 403);
      await grantdPrints(server.folder, ['client', 'enable', 'personal-tokens']);
      assert.equal(await isActive(token), false);
      assert.equal((await make(browser, await browser.get(page.url))).status, 200);
    });
  });
}

describe('personal access tokens', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  test('a client of the same name from before is an error at the start, which names it', async () => {
    const folder = await workbench.home();
    const first = await workbench.start(folder, ['--demo']);
    // As an earlier version let operators do.
    await withDatabaseOf(first, async ({ storage }) =>
      storage.clients.add({ id: 'personal-tokens', grantTypes: [], scopes: [], redirectUris: [] }),
    );
    await first.stop();
    const { code, stderr } = await grantd(folder, ['serve', ...OPTIONS, '--port', new URL(first.url).port]);
    assert.equal(code, 1);
    assert.match(stderr, /the database has a client personal-tokens/);
  });

  test('without an API, the server does not start', async () => {
    const { code, stderr } = await grantd(await workbench.home(), [
      'serve',
      '--personal-tokens',
      '--port',
      '0',
    ]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /--personal-tokens: expected personalTokenApis with it/);
  });

  test('a bound token names the key or certificate that its user has entered, and no private key', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' });
    const thumbprint = await calculateJwkThumbprint(jwk as JWK);
    for (const [binding, typed, cnf, type] of [
      ['dpop', JSON.stringify(jwk), { jkt: thumbprint }, 'DPoP'],
      ['dpop', thumbprint, { jkt: thumbprint }, 'DPoP'],
      [
        'certificate',
        `SHA256 Fingerprint=${'AB:'.repeat(31)}CD`,
        { 'x5t#S256': fingerprintOf('AB', 'CD') },
        'Bearer',
      ],
    ] as const) {
      const options = [...OPTIONS, '--personal-token-binding', binding];
      const server = await workbench.start(await workbench.home(), options);
      const { browser, page } = await opened(server, `user${typed.length}`);
      for (const wrong of ['', 'key', JSON.stringify(privateKey.export({ format: 'jwk' }))]) {
        const refused = await make(browser, page, { binding: wrong });
        assert.equal(refused.status, 400);
        assert.match(refused.html, /A private key is not accepted/);
      }
      const token = valueIn(await make(browser, page, { binding: typed }));
      const answer = await introspect(server.url, token);
      assert.deepEqual([answer.active, answer.cnf, answer.token_type], [true, cnf, type]);
      await server.stop();
    }
  });

  test('an API exchanges one only if its operator says that it may', async () => {
    const server = await workbench.start(await workbench.home(), OPTIONS);
    const next = ['--resource', 'https://next.example', '--api-scope', 'next:use'];
    await grantdPrints(server.folder, ['client', 'add', 'next', ...next]);
    const middle = [
      ...['client', 'update', 'demo-api', '--grant', EXCHANGE_GRANT, '--api', 'https://next.example'],
      ...['--scope', 'next:use', '--exchange-scope', 'next:use'],
    ];
    await grantdPrints(server.folder, middle);
    const { browser, page } = await opened(server, 'kim');
    const token = valueIn(await make(browser, page));
    const exchange = async () => {
      const form = { grant_type: EXCHANGE_GRANT, subject_token: token, resource: 'https://next.example' };
      const type = { subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' };
      return postForm(`${server.url}/token`, { ...form, ...type }, basic('demo-api', 'demo-api-secret'));
    };
    assert.equal((await exchange()).status, 400);
    await grantdPrints(server.folder, [...middle, '--exchange-tokens-of', 'personal-tokens']);
    const answer = await exchange();
    const { access_token: obtained } = (await answer.json()) as { readonly access_token: string };
    assert.equal(answer.status, 200);
    await end(browser, await browser.get(page.url));
    assert.equal(
      (await introspect(server.url, obtained)).active,
      false,
      'it ends with the token of the user',
    );
  });

  test('the data of a user have the names of their tokens, and no digests', async () => {
    const server = await workbench.start(await workbench.home(), OPTIONS);
    const { browser, page } = await opened(server, 'lea');
    const token = valueIn(await make(browser, page, { name: 'nightly' }));
    const data = await browser.get(`${server.url}/account/data`);
    const { html: text } = await browser.submit(data, { export_data: 'yes' });
    const { personalTokens } = JSON.parse(text);
    assert.deepEqual(
      personalTokens.map(({ createdAt: _, expiresAt: __, ...shown }: Record<string, unknown>) => shown),
      [{ name: 'nightly', resource: API, scopes: ['api:read'] }],
    );
    const digest = createHash('sha256').update(token).digest('base64url');
    assert.ok(!text.includes(token) && !text.includes(digest));
    const applications = await browser.get(`${server.url}/account/applications`);
    assert.match(applications.html, /No application has access/);
  });
});

function fingerprintOf(byte: string, last: string): string {
  return Buffer.from(byte.repeat(31) + last, 'hex').toString('base64url');
}
