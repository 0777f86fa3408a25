// Does what docs/jwt_bearer.md says, with a signer of ours in the place of the identity provider.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { basic, payloadOf, postForm } from './harness/protocol.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const PAGE = readFileSync(join(ROOT, 'docs', 'jwt_bearer.md'), 'utf8');
const END_ACCESS = readFileSync(join(ROOT, 'docs', 'end_access.md'), 'utf8');
const TUTORIAL = readFileSync(join(ROOT, 'docs', 'tutorials', 'protected_api.md'), 'utf8');
const IDP = 'https://sso.example.org';
const hasCurl = spawnSync('curl', ['--version']).status === 0;

/** The blocks of the page in a language. */
function blocks(language: string): readonly string[] {
  return [...PAGE.matchAll(new RegExp(`^( *)\`\`\`${language}\n(.*?)^ *\`\`\`$`, 'gms'))].map(
    ([, indent = '', code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

for (const database of DATABASES)
  describe(`docs/jwt_bearer.md, with ${database.name}`, {
    skip: database.absence || (hasCurl ? false : 'there is no curl on this machine'),
  }, () => {
    const workbench = new Workbench(database);
    let server: RunningServer;
    let secret = '';
    let sign: (claims?: object) => Promise<string>;
    const command = (...args: string[]) =>
      grantdPrints(server.folder, args, '', { GRANTD_TRUSTED_ISSUERS: 'issuers.json' });

    before(async () => {
      const { publicKey, privateKey } = await generateKeyPair('RS256');
      const kid = randomUUID();
      sign = (claims = {}) => {
        const now = Math.floor(Date.now() / 1000);
        const whole = { iss: IDP, sub: 'U-1', aud: server.url, iat: now, exp: now + 300, jti: randomUUID() };
        return new SignJWT({ ...whole, ...claims })
          .setProtectedHeader({ alg: 'RS256', kid })
          .sign(privateKey);
      };
      const folder = await workbench.home();
      const [issuers = '', person = ''] = blocks('json');
      writeFileSync(join(folder, 'issuers.json'), issuers);
      const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid }] };
      writeFileSync(join(folder, JSON.parse(issuers).company.jwks_file), JSON.stringify(jwks));
      server = await workbench.start(folder, ['--trusted-issuers', 'issuers.json', '--workers', '2']);
      const carol = { username: 'carol', claims: { email: 'carol@example.org', email_verified: true } };
      const bob = person.replace('alice', 'bob').replace('U-1', 'U-2');
      writeFileSync(join(folder, 'people.jsonl'), `${person}${bob}${JSON.stringify(carol)}`);
      for (const [, line = ''] of `${TUTORIAL}${blocks('console')}`.matchAll(
        /npx grantd (client add notes-api .*|client add reports .*|user import .*)/g,
      ))
        secret = (await command(...line.split(' '))).split('\n').at(-1) ?? '';
    });
    after(() => workbench.clear());

    /** JWTs name whole seconds, and one of the second of an end counts as signed before it. */
    const nextSecond = () => pause(1000 - (Date.now() % 1000) + 10);

    async function request(jwt: string) {
      const code = (blocks('sh')[0] ?? '').replaceAll('https://login.example.com', server.url);
      const child = spawn('sh', ['-c', code], {
        env: { PATH: process.env.PATH, SECRET: secret, JWT: jwt },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      return JSON.parse((await child.stdout.setEncoding('utf8').toArray()).join(''));
    }

    const explained = async (token: string) => JSON.parse(await command('token', 'explain', token, '--json'));

    test('a client gets a token for a linked user, as the page says, and one command ends it', async () => {
      const jwt = await sign();
      const { access_token: token, ...answer } = await request(jwt);
      assert.deepEqual(
        Object.keys(answer).sort(),
        ['expires_in', 'scope', 'token_type'],
        JSON.stringify(answer),
      );
      const { username } = JSON.parse(await command('user', 'show', 'alice', '--json'));
      assert.equal(username, 'alice');
      const { user } = await explained(token);
      const { client_id, aud } = payloadOf(token);
      assert.deepEqual([user, client_id, aud], ['alice', 'reports', 'http://127.0.0.1:3001']);
      const bob = (await request(await sign({ sub: 'U-2' }))).access_token;

      // The same JWT again, on any process.
      assert.equal((await request(jwt)).error, 'invalid_grant');
      await server.logged(({ reason }) => reason === 'assertion_replayed', 'the second use');

      const assertion = await explained(jwt);
      assert.deepEqual(
        [assertion.kind, assertion.active, assertion.descendants.length],
        ['assertion', true, 1],
      );
      const unused = await sign();
      await nextSecond();
      const [, line = ''] = /`npx grantd (token revoke --trusted-issuer .*?)`/.exec(PAGE) ?? [];
      assert.match(
        await command(...line.split(' ')),
        /^revoked all tokens obtained with JWTs of https:\/\/sso/,
      );
      for (let times = 0; times < 4; times++) assert.equal((await explained(token)).active, false);
      assert.equal((await explained(jwt)).reason, 'session_revoked');
      assert.equal((await explained(bob)).active, true);
      assert.equal((await request(unused)).error, 'invalid_grant');
      await server.logged(({ reason }) => reason === 'session_revoked', 'a JWT from before the end');
      await nextSecond();
      assert.ok((await request(await sign())).access_token);
    });

    test('one JWT is revoked with what was obtained with it, and nothing else', async () => {
      const [one, other] = await Promise.all([sign(), sign()]);
      const [first, second] = [(await request(one)).access_token, (await request(other)).access_token];
      assert.match(await command('token', 'revoke', one), /^revoked the assertion/);
      assert.deepEqual([(await explained(first)).active, (await explained(second)).active], [false, true]);
      const introspected = async (token: string) => {
        const answer = await postForm(`${server.url}/token/introspect`, { token }, basic('reports', secret));
        return (await answer.json()).active;
      };
      assert.deepEqual([await introspected(first), await introspected(second)], [false, true]);
      assert.match(await command('token', 'revoke', one), /^nothing was revoked|already inactive/);
      await command('user', 'end-access', 'alice');
      assert.equal((await explained(second)).active, false);
    });

    test('an end holds for JWTs that no client has used, of one subject or one alone', async () => {
      const [jwt, alone] = await Promise.all([sign({ sub: 'U-2' }), sign({ sub: 'U-2' })]);
      assert.match(
        await command('token', 'explain', jwt),
        /^what +JWT of https:\/\/sso\.example\.org about U-2\nalive +yes\nused +by no client yet\nexpires +20/,
      );
      assert.match(await command('token', 'revoke', alone), /^revoked the assertion/);
      assert.match(await command('token', 'explain', alone), /because +revoked:/);
      assert.equal((await request(alone)).error, 'invalid_grant');
      await server.logged(({ reason }) => reason === 'revoked', 'a JWT that was ended before its first use');
      await command('user', 'end-access', 'bob');
      await nextSecond();
      const end = () => command('token', 'revoke', '--trusted-issuer', IDP, '--trusted-sub', 'U-2');
      assert.equal(
        await end(),
        `nothing was active\nJWTs of ${IDP} about U-2 that were signed until now are refused`,
      );
      assert.equal((await request(jwt)).error, 'invalid_grant');
      await nextSecond();
      const next = await sign({ sub: 'U-2' });
      const { access_token: token } = await request(next);
      const { id } = (await explained(next)).record;
      assert.match(
        await command('token', 'explain', token),
        new RegExp(`\nancestor 1 +JWT of ${IDP} about U-2 ${id} used by reports: alive`),
      );
      assert.match(await end(), /^revoked all tokens obtained .* about U-2 \(1 were active\)\n/);
      assert.match(
        await command('token', 'explain', token),
        /because +session_revoked: Everything that clients obtained with JWTs/,
      );
      const listed = await command('audit', 'list', '--type', 'token_issued', '--json');
      const reasons = JSON.parse(listed).map(({ reason }: { reason?: string }) => reason);
      assert.deepEqual([...new Set(reasons)], [`jwt_bearer:${IDP}`]);
    });

    test('the user sees the client on the account page, and ends what it has obtained', async () => {
      const { who, browser } = await newPerson(server, 'dora');
      const links = [{ provider: 'staff', issuer: IDP, sub: 'U-4' }];
      writeFileSync(join(server.folder, 'dora.jsonl'), JSON.stringify({ username: 'dora', links }));
      await command('user', 'import', 'dora.jsonl', '--update');
      const jwt = await sign({ sub: 'U-4' });
      const { access_token: token } = await request(jwt);
      const account = `${server.url}/account`;
      await browser.submit(await browser.get(account), { ...who });
      const acting = async () =>
        /<h2 id="acting">([\s\S]*?)<\/section>/.exec((await browser.get(account)).html)?.[1] ?? '';
      const entries = await acting();
      assert.match(entries, /id="end-access-reports"/);
      assert.match(entries, /<code>read<\/code>/);
      const question = await browser.get(`${account}/applications?end=reports`);
      await browser.submit(question, { end_access: 'reports' });
      assert.equal(await acting(), '');
      assert.equal((await explained(token)).active, false);
      await nextSecond();
      assert.equal((await request(await sign({ sub: 'U-4' }))).error, undefined);
    });

    test('no one gets a token for a user without a link, or by an address', async () => {
      for (const claims of [
        { sub: 'carol' },
        { sub: 'U-3', email: 'carol@example.org', email_verified: true },
      ]) {
        assert.equal((await request(await sign(claims))).error, 'invalid_grant');
        await server.logged(({ reason }) => reason === 'assertion_subject_unknown', 'an unknown subject');
      }
      const { access_token: token } = await request(await sign({ sub: 'U-2' }));
      await command('user', 'disable', 'bob');
      assert.equal((await explained(token)).active, false);
      assert.equal((await request(await sign({ sub: 'U-2' }))).error, 'invalid_grant');
    });

    test('who is unlinked keeps what was obtained, until it is revoked as docs/end_access.md says', async () => {
      const links = [{ provider: 'staff', issuer: IDP, sub: 'U-5' }];
      writeFileSync(join(server.folder, 'erin.jsonl'), JSON.stringify({ username: 'erin', links }));
      await command('user', 'import', 'erin.jsonl');
      const { access_token: token } = await request(await sign({ sub: 'U-5' }));
      const unused = await sign({ sub: 'U-5' });
      const [, , unlink = '', revoke = ''] =
        /leaves(.*)`npx grantd (user unlink .*?)`.*`npx grantd (token revoke .*?)`/.exec(END_ACCESS) ?? [];
      const {
        links: [link],
      } = JSON.parse(await command('user', 'show', 'erin', '--json'));
      await command(...unlink.replace('bob', 'erin').replace('LINK', link.id).split(' '));
      assert.equal((await request(unused)).error, 'invalid_grant');
      assert.equal((await explained(token)).active, true);
      await command(...revoke.replace('U-1', 'U-5').split(' '));
      assert.equal((await explained(token)).active, false);
    });
  });
