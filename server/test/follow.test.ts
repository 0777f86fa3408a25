// Begins early: it waits for contact that is lost.
// Followers of endings: APIs that verify tokens themselves, and learn from the server whom to ask about (ADR 175).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { AccessTokenFollower, AuthorizationServerFault, type Fetch, OAuthError } from '@grantd/protect';
import { signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import {
  authorizationUrl,
  basic,
  newPkce,
  payloadOf,
  postForm,
  redeem,
  type Tokens,
} from './harness/protocol.ts';

const AUDIENCE = 'http://localhost:4003';
const CREDENTIALS = { clientId: 'demo-api', clientSecret: 'demo-api-secret' };
const CLIENT = 'demo-spa';
const REDIRECT_URI = 'http://localhost:4002/callback';

const OPTIONS = ['--demo', '--workers', '2', '--registration', 'open'];

/** Generous, because other tests may run at the same time, and longer than any `maxSilence` here. */
const LONGEST_MS = 8000;

for (const database of DATABASES) {
  describe(`followers of a server with ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    let server: RunningServer;
    const followers: AccessTokenFollower[] = [];
    const streams: ReadableStreamDefaultReader[] = [];
    let introspections = 0;
    const fetch: Fetch = (url, init) => {
      if (url.endsWith('/introspect')) introspections += 1;
      return globalThis.fetch(url, init);
    };
    const follow = async (options: object = {}) => {
      const follower = new AccessTokenFollower({
        ...{ issuer: server.url, audience: AUDIENCE, credentials: CREDENTIALS, fetch },
        ...options,
      });
      followers.push(follower);
      await follower.ready();
      return follower;
    };
    before(async () => {
      server = await workbench.start(await workbench.home(), OPTIONS);
    });
    after(async () => {
      await Promise.all(followers.map((one) => one.close()));
      await Promise.all(streams.map((one) => one.cancel().catch(() => undefined)));
      await workbench.clear();
    });

    async function signedIn(name: string, scope = 'openid api:read') {
      const { who, browser } = await newPerson(server, name);
      const pkce = newPkce();
      const url = authorizationUrl(server.url, pkce, {
        client_id: CLIENT,
        redirect_uri: REDIRECT_URI,
        scope,
      });
      const callback = await signInAndConsent(browser, url, who);
      const redeemed = () => redeem(server.url, pkce, callback, CLIENT);
      return { name, browser, redeemed, tokens: await redeemed() };
    }

    /** Whether a follower accepts a token. Everything but `not_active` is a failure. */
    async function isAccepted(follower: AccessTokenFollower, token: string): Promise<boolean> {
      try {
        await follower.verify(token);
        return true;
      } catch (error) {
        if (error instanceof OAuthError && error.reason === 'not_active') return false;
        throw error;
      }
    }

    async function requireRefused(token: string, way: string, by = followers): Promise<void> {
      const endedAt = performance.now();
      for (const follower of by)
        while (await isAccepted(follower, token)) {
          assert.ok(performance.now() - endedAt < LONGEST_MS, way);
          await pause(1);
        }
    }

    type Person = Awaited<ReturnType<typeof signedIn>>;
    const command = (...args: string[]) => grantdPrints(server.folder, args);
    const revoke = (token = '') => postForm(`${server.url}/token/revoke`, { token, client_id: CLIENT });
    const refresh = async (refresh_token = ''): Promise<Tokens> => {
      const form = { grant_type: 'refresh_token', refresh_token, client_id: CLIENT };
      return (await (await postForm(`${server.url}/token`, form)).json()) as Tokens;
    };
    const signOut = async ({ browser }: Person) => {
      const page = await browser.get(`${server.url}/logout`);
      await browser.submit(page, { decision: 'yes' });
    };

    /** How a token ends, and whose other tokens are asked about again: those of the same user, or all. */
    const WAYS: readonly (readonly [
      way: string,
      isOfAll: boolean,
      end: (person: Person) => Promise<unknown>,
    ])[] = [
      ['its revocation', false, ({ tokens }) => revoke(tokens.access_token)],
      ['the revocation of its refresh token', false, ({ tokens }) => revoke(tokens.refresh_token)],
      [
        'a second use of its refresh token',
        false,
        async ({ tokens }) => {
          const { refresh_token } = await refresh(tokens.refresh_token);
          await refresh(refresh_token);
          await refresh(tokens.refresh_token);
        },
      ],
      ['a second use of its code', false, ({ redeemed }) => redeemed()],
      ['the end of its session', false, signOut],
      [
        'the revocation of all tokens of its user',
        false,
        ({ name }) => command('token', 'revoke', '--user', name),
      ],
      ['a disabled user', false, ({ name }) => command('user', 'disable', name)],
      ['a removed user', false, ({ name }) => command('user', 'remove', name, '--yes')],
      ['a disabled client', true, () => command('client', 'disable', CLIENT)],
      [
        'a cutoff in time',
        true,
        () => command('token', 'revoke', '--issued-before', new Date().toISOString()),
      ],
    ];

    test('every way to end a token is noticed, and other tokens stay, each for at most one question', async () => {
      await Promise.all([follow(), follow()]);
      const [follower = assert.fail()] = followers;
      const bystander = await signedIn('bystander');
      for (const [at, [way, isOfAll, end]] of WAYS.entries()) {
        const scope = way.includes('refresh') ? 'openid offline_access api:read' : 'openid api:read';
        const person = await signedIn(`user-${at}`, scope);
        const { access_token: token } = person.tokens;
        for (const one of followers) assert.equal(await isAccepted(one, token), true, way);
        const others = bystander.tokens.access_token;
        assert.equal(isOfAll || (await isAccepted(follower, others)), true, way);
        const before = introspections;
        await end(person);
        await requireRefused(token, way);
        if (isOfAll) await command('client', 'enable', CLIENT);
        if (isOfAll) continue;
        assert.equal(await isAccepted(follower, others), true, way);
        // Of each follower about the token that has ended, and again if it asked before the end.
        assert.ok(
          introspections - before <= 2 * followers.length,
          `${way}: ${introspections - before} questions`,
        );
      }
    });

    test('a follower that lacks contact asks about each token, whatever is lost, delayed or repeated on the way', async () => {
      const line = new Line();
      const follower = await follow({ maxSilence: 2, fetch: line.fetch });
      const endings = follower.status().endings;
      for (const [at, fault] of FAULTS.entries()) {
        const { tokens } = await signedIn(`cut-off-${at}`);
        assert.equal(await isAccepted(follower, tokens.access_token), true, fault);
        line.fault = fault;
        await revoke(tokens.access_token);
        await requireRefused(tokens.access_token, fault, [follower]);
        line.fault = undefined;
        await untilInContact(follower);
      }
      assert.ok(follower.status().endings > endings, 'it has caught up');
    });

    test('what ends while a server restarts is known after it, and without any server the answer is no answer', async () => {
      const follower = await follow({ maxSilence: 2, timeoutMs: 1000 });
      const [ended, lasting] = [await signedIn('ended'), await signedIn('lasting')];
      for (const { tokens } of [ended, lasting])
        assert.equal(await isAccepted(follower, tokens.access_token), true);
      const { port, folder } = server;
      await server.stop();
      await pause(2500);
      await assert.rejects(follower.verify(lasting.tokens.access_token), AuthorizationServerFault);
      await command('token', 'revoke', '--user', 'ended');
      server = await workbench.start(folder, [...OPTIONS, '--port', String(port)]);
      await untilInContact(follower);
      const before = introspections;
      assert.equal(await isAccepted(follower, ended.tokens.access_token), false);
      assert.equal(await isAccepted(follower, lasting.tokens.access_token), true);
      assert.equal(introspections, before + 1, 'it was told what it missed');
    });

    test('a nonce is answered by every process, for the pass of a stream', async () => {
      const { begin, id } = await openStream();
      // More than one connection, so that both workers answer.
      const answers = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const response = await sendNonce(begin.pass);
          assert.equal(response.headers.get('cache-control'), 'no-store');
          return [response.status, ((await response.json()) as { nonce: string }).nonce];
        }),
      );
      assert.deepEqual(new Set(answers.flat()), new Set([200, NONCE]));
      const { mark } = (await (await sendNonce(begin.pass)).json()) as { mark: string };
      assert.ok(Number.parseInt(mark, 10) >= 1 && Number.parseInt(mark, 10) <= Number.parseInt(id, 10));
      for (const [pass, nonce, status] of [
        [begin.pass, 'too short', 400],
        [`${begin.pass.slice(0, -2)}AA`, NONCE, 401],
        ['', NONCE, 401],
      ])
        assert.equal((await sendNonce(pass, nonce)).status, status, nonce);
    });

    test('a nonce that is answered has no line in the log, and a refused one has', async () => {
      const lines = () => server.log().filter(({ operation }) => operation === 'follow').length;
      const { begin } = await openStream();
      const before = lines();
      for (let times = 0; times < 20; times++) assert.equal((await sendNonce(begin.pass)).status, 200);
      assert.equal((await sendNonce(begin.pass, 'x')).status, 400);
      await until(() => lines() > before, 'a line');
      // Streams of other tests may end meanwhile.
      assert.ok(lines() < before + 20, `${lines() - before} lines`);
      assert.doesNotMatch(JSON.stringify(server.log()), new RegExp(`${NONCE}|${begin.pass}`));
    });

    test('a stream ends with the right of its client, and begins where the follower was', async () => {
      const { tokens } = await signedIn('seen');
      const first = await openStream();
      assert.deepEqual(first.begin, {
        ...{ version: 1, mark: first.id, complete: true, kept_for: 3600, keys: first.begin.keys },
        pass: first.begin.pass,
      });
      await revoke(tokens.access_token);
      const later = await openStream({ after: first.id });
      assert.equal(later.begin.complete, true);
      // With that of exchanged tokens.
      assert.equal(later.begin.keys.length, 2);
      assert.ok(later.begin.keys.includes(grantKey(tokens.access_token)));
      const [number = ''] = first.id.split('.');
      for (const after of [`${number}.AAAAAAAA`, '999999999.AAAAAAAA', 'x', '']) {
        const { begin } = await openStream({ after });
        assert.deepEqual(begin, {
          ...{ version: 1, mark: later.id, complete: false, kept_for: 3600, keys: [], pass: begin.pass },
        });
      }
      await command('client', 'rotate-secret', 'demo-api');
      await first.ended;
      assert.equal((await sendNonce(first.begin.pass)).status, 401);
      const again = await openStream();
      await command('client', 'disable', 'demo-api');
      await again.ended;
      assert.equal((await sendNonce(again.begin.pass)).status, 401);
      await assert.rejects(openStream(), /401/);
      await command('client', 'enable', 'demo-api');
    });

    test('a client follows for its own resource, and with follow_all for every audience, such as the issuer', async () => {
      const follows = async (who: string, ...resources: string[]) => {
        const form = new URLSearchParams(resources.map((resource) => ['resource', resource]));
        const response = await globalThis.fetch(`${server.url}/token/follow`, {
          ...{ method: 'POST', headers: { authorization: who }, body: form },
        });
        await response.body?.cancel();
        return response.status;
      };
      assert.equal(await follows(API, `${AUDIENCE}/`.toUpperCase().replace('HTTP', 'http')), 200);
      assert.equal(await follows(API, server.url), 403);
      assert.equal(await follows(API, AUDIENCE, 'https://other.example'), 403);
      const added = JSON.parse(
        await command('client', 'add', 'gateway', '--grant', 'client_credentials', '--json'),
      );
      const credentials = { clientId: 'gateway', clientSecret: added.client_secret };
      const gateway = basic('gateway', added.client_secret);
      assert.equal(await follows(gateway), 403);
      await assert.rejects(follow({ audience: server.url, credentials }), /403: .*follow_all/);
      await command('client', 'update', 'gateway', '--follow-all');
      assert.equal(await follows(gateway, AUDIENCE, server.url), 200);
      const follower = await follow({ audience: server.url, credentials });
      const form = { grant_type: 'client_credentials' };
      const { access_token: token } = (await (
        await postForm(`${server.url}/token`, form, gateway)
      ).json()) as Tokens;
      assert.equal(payloadOf(token).aud, server.url);
      assert.equal(await isAccepted(follower, token), true);
      await postForm(`${server.url}/token/revoke`, { token }, gateway);
      await requireRefused(token, 'for the issuer', [follower]);
      const silent = JSON.parse(await command('client', 'add', 'silent', '--follow-all', '--json'));
      assert.deepEqual(silent.grant_types, [], 'it needs no grant');
      const first = basic('silent', silent.client_secret);
      const many = await Promise.all(Array.from({ length: 40 }, () => follows(first, server.url)));
      assert.deepEqual([...new Set(many)], [200], 'the first use of its secret is no change');
      await command('client', 'update', 'gateway', '--unset', 'follow-all');
      await until(() => !follower.status().isInContact, 'its stream ends with its right');
      await follower.close();
    });

    test('a client that registered itself never follows, whatever an operator adds to it', async () => {
      const metadata = { client_name: 'Self', redirect_uris: ['https://self.example/cb'] };
      const response = await globalThis.fetch(`${server.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(metadata),
      });
      const { client_id: id, client_secret: secret } = await response.json();
      await command('client', 'update', id, '--follow-all', '--resource', 'https://self.example');
      assert.equal((await postForm(`${server.url}/token/follow`, {}, basic(id, secret))).status, 403);
    });

    test('streams beyond the limit of a client are refused with a time to try again', async () => {
      const many = await Promise.all(
        Array.from({ length: 230 }, () => postForm(`${server.url}/token/follow`, {}, API)),
      );
      const refused = many.filter(({ status }) => status === 503);
      // Each of two workers has a hundred, and perhaps those of other tests.
      assert.ok(refused.length >= 30, `${refused.length} refused`);
      for (const { headers } of refused) assert.equal(headers.get('retry-after'), '5');
      assert.match(await (refused[0] ?? assert.fail()).text(), /^{"error":"temporarily_unavailable"/);
      await Promise.all(many.map(({ body }) => (body?.locked ? undefined : body?.cancel())));
      assert.equal(server.log().filter(({ event }) => event === 'failure').length, 0);
    });

    test('only an API that an operator has added may follow', async () => {
      const form = { after: '0.' };
      const answers = {
        nobody: await postForm(`${server.url}/token/follow`, form),
        'a wrong secret': await postForm(`${server.url}/token/follow`, form, basic('demo-api', 'wrong')),
        'a public client': await postForm(`${server.url}/token/follow`, { ...form, client_id: CLIENT }),
        'a client that is no API': await postForm(
          `${server.url}/token/follow`,
          form,
          basic('demo-machine', 'demo-machine-secret'),
        ),
        'a nonce with the credentials': await globalThis.fetch(`${server.url}/token/follow?nonce=${NONCE}`, {
          headers: { authorization: API },
        }),
        'another method': await globalThis.fetch(`${server.url}/token/follow`, { method: 'PUT' }),
      };
      assert.deepEqual(
        Object.fromEntries(Object.entries(answers).map(([who, { status }]) => [who, status])),
        {
          nobody: 401,
          'a wrong secret': 401,
          'a public client': 401,
          'a client that is no API': 403,
          'a nonce with the credentials': 401,
          'another method': 405,
        },
      );
    });

    test('an opaque token is asked about once, and so is each JWT with checkIssued, and again after an ending', async () => {
      const form = { grant_type: 'client_credentials', scope: 'api:read', resource: AUDIENCE };
      for (const [id, options] of [
        ['opaque', {}],
        ['jwt', { checkIssued: true }],
      ] as const) {
        const secret = await command(
          ...['client', 'add', id, '--grant', 'client_credentials', '--scope', 'api:read'],
          ...['--api', AUDIENCE, '--access-token-format', id, '--json'],
        );
        const credentials = basic(id, JSON.parse(secret).client_secret);
        const response = await postForm(`${server.url}/token`, form, credentials);
        const { access_token: token } = (await response.json()) as Tokens;
        const follower = await follow(options);
        const before = introspections;
        for (let times = 0; times < 3; times++) assert.equal((await follower.verify(token)).sub, id);
        assert.equal(introspections, before + 1, id);
        await postForm(`${server.url}/token/revoke`, { token }, credentials);
        await requireRefused(token, id, [follower]);
      }
    });

    const sendNonce = (pass: string, nonce = NONCE) =>
      globalThis.fetch(`${server.url}/token/follow?nonce=${encodeURIComponent(nonce)}`, {
        headers: { authorization: `Bearer ${pass}` },
      });

    /** Opens a stream, and reads its first message. */
    async function openStream(form: Readonly<Record<string, string>> = {}) {
      const response = await postForm(`${server.url}/token/follow`, form, API);
      if (response.status !== 200 || response.body === null) throw new Error(`status ${response.status}`);
      const reader = response.body.getReader();
      streams.push(reader);
      const { value } = await reader.read();
      const [, id = '', data = '{}'] =
        /^event: begin\nid: (.*)\ndata: (.*)\n\n/.exec(new TextDecoder().decode(value)) ?? [];
      const ended = (async () => {
        while (!(await reader.read()).done);
      })();
      ended.catch(() => undefined);
      return { id, begin: JSON.parse(data), ended };
    }
  });
}

const API = basic('demo-api', 'demo-api-secret');

const NONCE = 'a-nonce-of-a-follower';

/** The key by which the endings of a token’s grant are known. */
function grantKey(token: string): string {
  const { client_id, sub } = payloadOf(token);
  return createHash('sha256').update(`grant\n${client_id}\n${sub}`).digest('base64url').slice(0, 8);
}

async function untilInContact(follower: AccessTokenFollower): Promise<void> {
  await until(() => follower.status().isInContact, 'the follower has contact');
}

const FAULTS = ['streams stall', 'nonces are lost', 'an earlier answer is repeated', 'all is lost'] as const;

/** A connection to the server that can fail. Introspection works. */
class Line {
  fault: (typeof FAULTS)[number] | undefined;
  #answer = '';

  readonly fetch: Fetch = async (url, init) => {
    if (!url.includes('/follow')) return globalThis.fetch(url, init);
    const isNonce = url.includes('?nonce=');
    if (this.fault === 'all is lost' || (isNonce && this.fault === 'nonces are lost'))
      throw new TypeError('fetch failed');
    // Stalled streams alone would be noticed by a nonce; with an earlier answer, only because it is another nonce.
    if (isNonce && this.fault === 'an earlier answer is repeated') return new Response(this.#answer);
    const response = await globalThis.fetch(url, init);
    if (!isNonce) return new Response(response.body?.pipeThrough(this.#stalling()), response);
    this.#answer = await response.clone().text();
    return response;
  };

  #stalling(): TransformStream<Uint8Array, Uint8Array> {
    return new TransformStream({
      transform: async (chunk, controller) => {
        while (this.fault !== undefined) await pause(20);
        controller.enqueue(chunk);
      },
    });
  }
}
