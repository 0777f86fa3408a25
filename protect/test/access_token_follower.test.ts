// A follower and a feed that does as each test says. Servers are in server/test/follow.test.ts.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  AccessTokenFollower,
  type AccessTokenFollowerOptions,
  AuthorizationServerFault,
  type Fetch,
  OAuthError,
} from '@grantd/protect';
import { SignJWT } from 'jose';
import { clientKey } from '../../core/test/harness/client_keys.ts';

const ISSUER = 'https://id.example';
const AUDIENCE = 'https://api.example';

const keyOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 8);
const GRANT = keyOf('grant\nweb\nalice');

interface Begin {
  readonly mark: string;
  readonly complete: boolean;
  readonly kept_for: number;
  readonly keys: readonly string[];
}

const COMPLETE: Begin = { mark: '10.a', complete: true, kept_for: 3600, keys: [] };

/** An authorization server in the test’s own process. */
class FakeServer {
  begin = COMPLETE;
  /** The mark that a nonce is answered with. */
  mark = COMPLETE.mark;
  status = 200;
  isActive = true;
  introspections = 0;
  beforeKeys: () => Promise<unknown> = async () => undefined;
  #keys: unknown;
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(keys: unknown) {
    this.#keys = keys;
  }

  readonly fetch: Fetch = async (url, init) => {
    const nonce = new URL(url).searchParams.get('nonce');
    if (url.endsWith('/introspect')) {
      this.introspections += 1;
      const active = { iss: ISSUER, aud: AUDIENCE, sub: 'alice', client_id: 'web', token_type: 'Bearer' };
      return Response.json(
        this.isActive ? { active: true, exp: 9_999_999_999, ...active } : { active: false },
      );
    }
    if (url.endsWith('/jwks')) {
      await this.beforeKeys();
      return Response.json(this.#keys);
    }
    if (this.status !== 200) return new Response('', { status: this.status });
    if (nonce !== null) return Response.json({ nonce, mark: this.mark });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#stream = controller;
        init.signal?.addEventListener('abort', () => controller.error(init.signal?.reason));
        const { mark, ...data } = this.begin;
        this.send('begin', mark, { version: 1, pass: 'pass', ...data });
      },
    });
    return new Response(body);
  };

  /** @param keys what has ended since the message before */
  end(mark: string, keys: readonly string[], since = this.mark): void {
    this.send('endings', mark, { since, keys });
  }

  send(event: string, mark: string, data: unknown): void {
    this.mark = mark;
    const text = `event: ${event}\nid: ${mark}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#stream?.enqueue(new TextEncoder().encode(text));
  }

  endStream(): void {
    this.#stream?.close();
  }
}

async function open(t: TestContext, options: Partial<AccessTokenFollowerOptions> = {}, begin = COMPLETE) {
  const { privateKey, publicJwk } = await clientKey('ES256');
  const server = new FakeServer({ keys: [publicJwk] });
  server.begin = begin;
  const follower = new AccessTokenFollower({
    ...{ issuer: ISSUER, audience: AUDIENCE, fetch: server.fetch },
    credentials: { clientId: 'api', clientSecret: 'a secret' },
    introspectionEndpoint: `${ISSUER}/token/introspect`,
    jwksUri: `${ISSUER}/jwks`,
    ...options,
  });
  t.after(() => follower.close());
  const token = (seconds = 3600, sub = 'alice') => {
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub, client_id: 'web' })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: publicJwk.kid ?? '' })
      .setIssuedAt(now)
      .setExpirationTime(now + seconds)
      .setJti('1')
      .sign(privateKey);
  };
  const isAccepted = async (text: string) => {
    try {
      await follower.verify(text);
      return true;
    } catch (error) {
      if (error instanceof OAuthError && error.reason === 'not_active') return false;
      throw error;
    }
  };
  /** Ends the stream, and waits for the next one. */
  const again = async (next: Partial<Begin>) => {
    server.begin = { ...server.begin, ...next };
    server.mark = server.begin.mark;
    server.endStream();
    await until(() => !follower.status().isInContact);
    await until(() => follower.status().isInContact);
  };
  return { server, follower, token, isAccepted, again };
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    assert.ok(tries < 2000, 'in time');
    await pause(5);
  }
}

test('a follower that knows nothing asks about each token, also before the first event', async (t) => {
  for (const mark of ['0.', '7.a']) {
    const { server, follower, token, isAccepted } = await open(t, {}, { ...COMPLETE, mark, complete: false });
    await follower.ready();
    server.isActive = false;
    assert.equal(await isAccepted(await token()), false, mark);
  }
});

test('an ending that arrives again, from another process, does not hide a later one', async (t) => {
  const { server, follower, token, isAccepted } = await open(t);
  await follower.ready();
  const text = await token();
  server.end('12.a', [GRANT]);
  await until(() => follower.status().endings === 1);
  assert.equal(await isAccepted(text), true);
  assert.equal(server.introspections, 1);
  server.isActive = false;
  server.end('14.a', [GRANT]);
  server.end('11.a', [GRANT, keyOf('client\nother')], '10.a');
  await until(() => follower.status().endings === 2);
  assert.equal(await isAccepted(text), false);
});

test('after another lifetime of tokens, what was known is asked again, because endings were kept for another time', async (t) => {
  for (const kept_for of [60, 86_400]) {
    const { server, follower, token, isAccepted, again } = await open(t);
    await follower.ready();
    const text = await token();
    assert.equal(await isAccepted(text), true);
    assert.equal(server.introspections, 0);
    await again({ mark: '11.a', kept_for });
    server.isActive = false;
    assert.equal(await isAccepted(text), false, String(kept_for));
    await again({ mark: '12.a' });
    assert.equal(server.introspections, 1, 'the same lifetime changes nothing');
  }
});

test('contact that is lost while keys are fetched is no contact', async (t) => {
  const { server, follower, token, isAccepted } = await open(t, { maxSilence: 2 });
  await follower.ready();
  server.isActive = false;
  server.beforeKeys = async () => {
    server.status = 503;
    await until(() => follower.status().ageMs > 2000);
  };
  assert.equal(await isAccepted(await token()), false);
});

test('a suspended process, and a clock that is set, make a contact old', async (t) => {
  let aheadMs = 0;
  const { server, follower, token, isAccepted } = await open(t, { clock: () => Date.now() + aheadMs });
  await follower.ready();
  const text = await token();
  server.isActive = false;
  aheadMs = 60_000;
  assert.equal(await isAccepted(text), false, 'it slept');
  aheadMs = -60_000;
  await until(() => follower.status().isInContact);
  assert.equal(follower.status().ageMs >= 0, true);
});

test('a token that lives longer than endings are kept is asked about', async (t) => {
  const { server, follower, token, isAccepted } = await open(t);
  await follower.ready();
  server.isActive = false;
  assert.equal(await isAccepted(await token(3601)), false);
  assert.equal(await isAccepted(await token(3600)), true);
});

test('a closed follower introspects, and one that is closed while it connects ends at once', async (t) => {
  const { server, follower, token, isAccepted } = await open(t);
  const ready = follower.ready();
  await follower.close();
  await assert.rejects(ready, /closed/);
  server.isActive = false;
  assert.equal(await isAccepted(await token()), false);
  assert.equal(follower.status().isInContact, false);
});

test('a refusal that lasts ends the wait for contact and says what to do, and later contact counts', async (t) => {
  const { server, follower } = await open(t);
  for (const [status, advice] of [
    [401, /credentials/],
    [403, /an API/],
    [404, /followEndpoint/],
  ] as const) {
    server.status = status;
    await assert.rejects(follower.ready(), advice);
  }
  assert.match(String(follower.status().fault), /status 404/);
  server.status = 200;
  await follower.ready();
  assert.equal(follower.status().isInContact, true);
});

test('the host learns when contact cannot begin, begins and is lost, but not that a stream was replaced', async (t) => {
  const reports: (readonly [isInContact: boolean, fault: string])[] = [];
  const { server, follower, again } = await open(t, {
    maxSilence: 2,
    onContact({ isInContact, fault }) {
      reports.push([isInContact, fault instanceof Error ? fault.message : '']);
      throw new Error('of the host');
    },
  });
  t.mock.method(console, 'error', () => {});
  server.status = 401;
  await assert.rejects(follower.ready());
  server.status = 200;
  await follower.ready();
  await again({ mark: '11.a' });
  server.status = 503;
  server.endStream();
  await until(() => reports.length === 3);
  server.status = 200;
  await until(() => reports.length === 4);
  server.status = 503;
  await follower.close();
  await pause(2100);
  assert.deepEqual(reports, [
    [false, 'the feed of endings answered with status 401: check the credentials'],
    [true, ''],
    [false, 'the feed of endings answered with status 503'],
    [true, ''],
  ]);
});

test('without contact and without introspection, there is no answer', async (t) => {
  const { follower, token } = await open(t, {
    fetch: async () => {
      throw new TypeError('fetch failed');
    },
  });
  await assert.rejects(follower.verify(await token()), AuthorizationServerFault);
});
