// Begins early: it waits until contacts are old. An attacker between a follower and the feed of endings (docs/follow.md).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createSecureServer, type Http2ServerRequest } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { AccessTokenFollower } from '@grantd/protect';
import { SignJWT } from 'jose';
import { newCertificate } from '../../core/test/harness/certificates.ts';
import { clientKey } from '../../core/test/harness/client_keys.ts';

const ISSUER = 'https://id.example';
const AUDIENCE = 'https://api.example';
const BOUND_MS = 2000;
/** An attack lasts until so long after the bound. */
const AFTER_MS = 1000;
const HEARTBEAT_MS = 400;
/** Longer than an attack. */
const LONG_MS = 10_000;

/** Of what happens in time on a machine that is not too busy. */
const MOST_TRIES = 400;

const NOW = Math.floor(Date.now() / 1000);
/** The token that ends. */
const CLAIMS = {
  ...{ iss: ISSUER, aud: AUDIENCE, sub: 'alice', client_id: 'web' },
  ...{ iat: NOW, exp: NOW + 3600, jti: '1' },
};

const keyOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 8);

interface Message {
  readonly text: string;
  readonly event: 'begin' | 'endings' | 'heartbeat';
  /** Whether it has the end of the token, and is no begin. */
  readonly isTheEnd: boolean;
}

/** What an attacker sends instead of a message. */
type StreamAttack = (message: Message, path: Path) => string;

const truncates =
  (at: (text: string) => number): StreamAttack =>
  ({ text, isTheEnd }) =>
    isTheEnd ? text.slice(0, at(text)) : text;

const STREAM_ATTACKS: Readonly<Record<string, StreamAttack>> = {
  'passes messages': ({ text }) => text,
  'drops the end': ({ text, isTheEnd }) => (isTheEnd ? '' : text),
  'drops all endings': ({ text, event }) => (event === 'endings' ? '' : text),
  'drops all messages': () => '',
  'delays the end': ({ text, isTheEnd }, path) => (isTheEnd ? path.later(text) : text),
  'delays all messages': ({ text }, path) => path.later(text),
  'reorders the end and its successor'({ text, isTheEnd }, path) {
    const held = path.held;
    path.held = isTheEnd ? text : '';
    return isTheEnd ? '' : text + held;
  },
  'replays a message in place of the end': ({ text, isTheEnd }, { before }) =>
    isTheEnd ? before.heartbeat : text,
  'replays a message in place of all': (_, { before }) => before.heartbeat,
  'replays a begin in place of the end': ({ text, isTheEnd }, { before }) => (isTheEnd ? before.begin : text),
  'breaks the stream, and replays its begin'({ text, isTheEnd, event }, path) {
    if (isTheEnd) path.breakStream();
    return isTheEnd ? '' : event === 'begin' ? path.before.begin : text;
  },
  'truncates the end to nothing but its event': truncates((text) => text.indexOf('id')),
  'truncates the end in its number': truncates((text) => text.indexOf('.')),
  'truncates the end in its digest': truncates((text) => text.indexOf('\ndata')),
  'truncates the end before its data': truncates((text) => text.indexOf('{')),
  'truncates the end in its data': truncates((text) => text.indexOf('keys')),
  'truncates the end in its keys': truncates((text) => text.indexOf(']')),
  'truncates the end before its last line': truncates((text) => text.length - 1),
  'truncates the end, and breaks the stream'({ text, isTheEnd }, path) {
    if (isTheEnd) path.breakStream();
    return isTheEnd ? text.slice(0, text.indexOf(']')) : text;
  },
};

/** What an attacker answers to a nonce; `undefined`: nothing. */
type NonceAttack = (answer: string, path: Path) => Promise<string | undefined>;

const NONCE_ATTACKS: Readonly<Record<string, NonceAttack>> = {
  'passes nonces': async (answer) => answer,
  'drops nonces': async () => undefined,
  'delays answers within the bound': (answer) => pause(BOUND_MS - 500, answer),
  'delays answers beyond the bound': (answer) => pause(BOUND_MS + 500, answer),
  async 'reorders answers'(answer, path) {
    const earlier = path.before.answer;
    path.before.answer = answer;
    return earlier;
  },
  'replays an answer': async (_, { before }) => before.answer,
  'truncates answers in the nonce': async (answer) => answer.slice(0, 20),
  'truncates answers in the mark': async (answer) => answer.slice(0, -4),
};

type Request = IncomingMessage | Http2ServerRequest;
/** What Node’s responses have in both versions of HTTP. */
interface Response {
  readonly destroyed: boolean;
  setHeader(name: string, value: string): unknown;
  write(text: string): unknown;
  end(text: string): unknown;
  destroy(): unknown;
  on(event: 'error', listener: () => void): unknown;
}

/** A server of one follower, and the attacker before it. */
class Path {
  readonly #attack: { readonly stream: StreamAttack; readonly nonces: NonceAttack };
  #isUnderAttack = false;
  #hasEnded = false;
  #stream: Response | undefined;
  #number = 10;
  #lastEnding = 10;
  readonly #endings: { readonly number: number; readonly key: string }[] = [];
  /** What passed before the attack. */
  readonly before = { begin: '', heartbeat: '', answer: '' };
  held = '';
  /** That it has begun. */
  streams = 0;

  constructor(attack: { readonly stream: StreamAttack; readonly nonces: NonceAttack }) {
    this.#attack = attack;
  }

  async answer(path: string, request: Request, response: Response): Promise<void> {
    let body = '';
    for await (const chunk of request) body += chunk;
    const form = new URLSearchParams(body);
    const nonce = new URL(request.url ?? '', ISSUER).searchParams.get('nonce');
    response.setHeader(
      'content-type',
      path === '/follow' && nonce === null ? 'text/event-stream' : 'application/json',
    );
    // On a busy machine, a follower may have to ask before the token ends. It keeps what it is told.
    if (path === '/introspect')
      return void response.end(
        JSON.stringify(this.#hasEnded ? { active: false } : { active: true, ...CLAIMS }),
      );
    if (nonce === null) return this.#open(form.get('after'), response);
    const honest = JSON.stringify({ nonce, mark: `${this.#lastEnding}.a` });
    const answer = this.#isUnderAttack ? await this.#attack.nonces(honest, this) : honest;
    if (!this.#isUnderAttack) this.before.answer = honest;
    if (answer !== undefined && !response.destroyed) response.end(answer);
  }

  /** The token ends, and another one shortly after it. */
  async endToken(): Promise<void> {
    this.#isUnderAttack = true;
    this.#hasEnded = true;
    this.#end('grant\nweb\nalice', true);
    await pause(100);
    this.#end('grant\nweb\nbob', false);
  }

  heal(): void {
    this.#isUnderAttack = false;
    this.breakStream();
  }

  beat(): void {
    this.#send('heartbeat', { since: `${this.#lastEnding}.a` });
  }

  later(text: string): string {
    const stream = this.#stream;
    setTimeout(() => stream?.destroyed || stream?.write(text), LONG_MS).unref();
    return '';
  }

  breakStream(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    // After what was written in the same turn.
    setImmediate(() => stream?.destroy());
  }

  #open(since: string | null, response: Response): void {
    this.#stream = response;
    this.streams += 1;
    const known = Number.parseInt(since ?? '0', 10);
    const keys = this.#endings.filter(({ number }) => number > known).map(({ key }) => key);
    this.#send('begin', { version: 1, complete: true, kept_for: 3600, pass: 'pass', keys });
  }

  #end(text: string, isTheEnd: boolean): void {
    const since = `${this.#lastEnding}.a`;
    this.#number += 2;
    this.#lastEnding = this.#number;
    const key = keyOf(text);
    this.#endings.push({ number: this.#number, key });
    this.#send('endings', { since, keys: [key] }, isTheEnd);
  }

  #send(event: Message['event'], data: unknown, isTheEnd = false): void {
    const text = `event: ${event}\nid: ${this.#number}.a\ndata: ${JSON.stringify(data)}\n\n`;
    const stream = this.#stream;
    if (!this.#isUnderAttack && event !== 'endings') this.before[event] = text;
    const sent = this.#isUnderAttack ? this.#attack.stream({ text, event, isTheEnd }, this) : text;
    if (sent !== '' && stream !== undefined && !stream.destroyed) stream.write(sent);
  }
}

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    assert.ok(tries < MOST_TRIES, what);
    await pause(50);
  }
}

/** Servers of all paths. The kit’s default is Node’s `fetch`, which uses HTTP/2 with every TLS server that offers it. */
async function serve(t: TestContext, protocol: '1.1' | '2', paths: readonly Path[]): Promise<string> {
  const versions = new Set<string>();
  const answer = (request: Request, response: Response) => {
    versions.add(request.httpVersion);
    response.on('error', () => undefined);
    const [, number, path] = /^\/(\d+)(\/\w+)/.exec(request.url ?? '') ?? [];
    paths[Number(number)]?.answer(path ?? '', request, response).catch(() => response.destroy());
  };
  const names = [{ type: 'dns' as const, value: 'localhost' }];
  const { pem } = await newCertificate({ names });
  if (protocol === '2') setDefaultCACertificates([...getCACertificates(), pem.cert]);
  const server =
    protocol === '2'
      ? createSecureServer({ ...pem }, answer)
      : createServer({ keepAliveTimeout: 60_000 }, answer);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
    assert.deepEqual([...versions], [protocol === '2' ? '2.0' : '1.1']);
  });
  const { port } = server.address() as AddressInfo;
  return `${protocol === '2' ? 'https' : 'http'}://localhost:${port}`;
}

for (const protocol of ['1.1', '2'] as const)
  test(`over HTTP/${protocol}, an attacker who drops, delays, reorders, replays or truncates is noticed within the bound`, async (t) => {
    const { privateKey, publicJwk } = await clientKey('ES256');
    const token = await new SignJWT(CLAIMS)
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: publicJwk.kid ?? '' })
      .sign(privateKey);
    const cases = Object.entries(STREAM_ATTACKS).flatMap(([first, stream]) =>
      Object.entries(NONCE_ATTACKS).map(([second, nonces]) => ({
        name: `it ${first} and ${second}`,
        path: new Path({ stream, nonces }),
      })),
    );
    const address = await serve(
      t,
      protocol,
      cases.map(({ path }) => path),
    );
    const beats = setInterval(() => {
      for (const { path } of cases) path.beat();
    }, HEARTBEAT_MS);
    t.after(() => clearInterval(beats));

    const outcomes = await Promise.allSettled(
      cases.map(async ({ name, path }, number) => {
        const follower = new AccessTokenFollower({
          ...{ issuer: ISSUER, audience: AUDIENCE, maxSilence: BOUND_MS / 1000, timeoutMs: 3000 },
          credentials: { clientId: 'api', clientSecret: 'a secret' },
          fetch(url, init) {
            const { pathname, search } = new URL(url);
            return fetch(`${address}/${number}${pathname}${search}`, init);
          },
          ...{ introspectionEndpoint: `${ISSUER}/introspect`, jwks: { keys: [publicJwk] } },
          followEndpoint: `${ISSUER}/follow`,
        });
        t.after(() => follower.close());
        const isAccepted = async () => {
          try {
            await follower.verify(token);
            return true;
          } catch {
            return false;
          }
        };
        await follower.ready();
        for (let tries = 0; !(await isAccepted()); tries++) {
          assert.ok(tries < MOST_TRIES, `${name}: not accepted at first`);
          await pause(50);
        }
        await path.endToken();
        const endedAtMs = performance.now();
        for (let afterMs = 0; afterMs < BOUND_MS + AFTER_MS; await pause(200)) {
          afterMs = performance.now() - endedAtMs;
          const seen = await isAccepted();
          assert.ok(
            !seen || afterMs <= BOUND_MS,
            `${name}: accepted ${Math.round(afterMs)} ms after the end`,
          );
        }
        const isWhole = () => follower.status().isInContact && follower.status().endings === 2;
        const isAttacked = name !== 'it passes messages and passes nonces';
        if (!isAttacked) assert.equal(path.streams, 1, name);
        else path.heal();
        await until(isWhole, `${name}: no contact afterwards`);
        await follower.close();
      }),
    );
    assert.deepEqual(
      outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : [])),
      [],
    );
  });
