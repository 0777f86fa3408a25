import { hash } from 'node:crypto';
import { CLIENTS } from '../load/registrations.ts';
import {
  application,
  type Format,
  type Row,
  SAMPLE_NAME,
  SAMPLE_SESSION,
  type Samples,
  type Value,
} from './scale_samples.ts';

/**
 * Rows of a server that has issued tokens for 30 days. Of 20 grants, 10 have one pair of tokens, 6 were refreshed once and
 * 4 were refreshed four times, a day apart. A user has four grants in two sessions. Beside each 20 grants, clients have got
 * 16 tokens for themselves. Half of the access tokens are opaque, the others are JWTs. A refresh token lives for 27 days, so
 * a tenth of the rows has expired, but no more than 100,000 tokens. The last access token of a grant lives as long as its refresh token.
 */
export const GRANTS_PER_ROUND = 20;
const USERS_PER_ROUND = GRANTS_PER_ROUND / 4;
const MACHINE_TOKENS_PER_ROUND = 16;
const PAIRS = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 5, 5, 5, 5];
const MAX_PAIRS = 5;
const ROWS_PER_ROUND = MACHINE_TOKENS_PER_ROUND + 2 * PAIRS.reduce((sum, pairs) => sum + pairs, 0);
const DAYS = 30;
const KEPT_DAYS = 27;
/** After this time, a server has deleted the session of a browser. */
const IDLE_MS = 4 * 3_600_000;
/** More would take too long to sweep. Later rows that have expired are kept for another day. */
const MAX_EXPIRED_ROUNDS = 1000;
const DAY_MS = 86_400_000;

export interface ScaleOrder {
  readonly tokens: number;
  /** The number of applications that are registered besides `CLIENTS.web`, which has half of the grants. */
  readonly applications: number;
  /** When the last token is issued, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** Receives each row with its table. */
export type Take = (table: string, row: Row) => void;

/** The rows of a population, and the values of its opaque tokens. All of them follow from the order. */
export class ScaleRows {
  readonly #samples: Samples;
  readonly #order: ScaleOrder;
  readonly rounds: number;
  readonly #roundsPerDay: number;
  #sequence: number;

  constructor(samples: Samples, order: ScaleOrder) {
    this.#samples = samples;
    this.#order = order;
    this.rounds = Math.ceil(order.tokens / ROWS_PER_ROUND);
    this.#roundsPerDay = Math.max(1, Math.floor(this.rounds / DAYS));
    this.#sequence = 1000; // after the events of the samples
  }

  get grants(): number {
    return this.rounds * GRANTS_PER_ROUND;
  }

  get users(): number {
    return this.rounds * USERS_PER_ROUND;
  }

  /** The number of the last event. */
  get lastSequence(): number {
    return this.#sequence;
  }

  /** Rows that were kept until then are surely swept by a server that starts now. Seconds since 1970. */
  get sweptUntil(): number {
    return Math.floor(this.#order.nowMs / 1000) - 60;
  }

  /** When the rows of a round were written, in milliseconds since 1970. */
  #timeOf(round: number): number {
    const { nowMs } = this.#order;
    return Math.floor(nowMs - DAYS * DAY_MS * (1 - (round + 1) / this.rounds));
  }

  /** Seconds. */
  #keptUntil(round: number): number {
    const keptMs = this.#timeOf(round) + KEPT_DAYS * DAY_MS;
    const leastMs = round < MAX_EXPIRED_ROUNDS ? 0 : this.#order.nowMs + DAY_MS;
    return Math.floor(Math.max(keptMs, leastMs) / 1000);
  }

  /** Writes the rows of a round: new users, grants and tokens, and the pairs of earlier grants that refresh now. */
  write(round: number, take: Take): void {
    for (let place = 0; place < USERS_PER_ROUND; place++)
      this.#writeUser(round * USERS_PER_ROUND + place, round, take);
    for (let place = 0; place < GRANTS_PER_ROUND; place++) {
      const grant = round * GRANTS_PER_ROUND + place;
      if (grant % 2 === 0) this.#writeSession(grant / 2, round, take);
      this.#writeGrant(grant, round, take);
      this.#writePair(grant, 0, take);
    }
    for (let pair = 1; pair < MAX_PAIRS; pair++) {
      const begun = round - pair * this.#roundsPerDay;
      for (let place = 0; begun >= 0 && place < GRANTS_PER_ROUND; place++) {
        if (pair < (PAIRS[place] ?? 0)) this.#writePair(begun * GRANTS_PER_ROUND + place, pair, take);
      }
    }
    for (let place = 0; place < MACHINE_TOKENS_PER_ROUND; place++)
      this.#writeMachineToken(round * MACHINE_TOKENS_PER_ROUND + place, round, take);
  }

  /** The pair that a grant has now. */
  #lastPair(grant: number): number {
    const left = Math.floor((this.rounds - 1 - Math.floor(grant / GRANTS_PER_ROUND)) / this.#roundsPerDay);
    return Math.min((PAIRS[grant % GRANTS_PER_ROUND] ?? 1) - 1, left);
  }

  #roundOf(grant: number, pair: number): number {
    return Math.floor(grant / GRANTS_PER_ROUND) + pair * this.#roundsPerDay;
  }

  /** @returns `undefined` if the tokens of the grant have expired, or are JWTs */
  liveTokensOf(grant: number): { readonly accessToken: string; readonly refreshToken: string } | undefined {
    const pair = this.#lastPair(grant);
    if (this.#formatOf(grant) !== 'opaque') return undefined;
    // An hour is left.
    if (this.#keptUntil(this.#roundOf(grant, pair)) < this.#order.nowMs / 1000 + 3600) return undefined;
    return { accessToken: accessToken(grant, pair), refreshToken: refreshToken(grant, pair) };
  }

  subjectOf(grant: number): string {
    return subjectOf(this.#userOf(grant));
  }

  #userOf(grant: number): number {
    // Each user comes back later. The factor is prime, so every user gets the same number of sessions.
    return ((grant >> 1) * 7919) % this.users;
  }

  /** The generation of a user: when the row was written. */
  #generationOf(user: number): number {
    return this.#timeOf(Math.floor(user / USERS_PER_ROUND));
  }

  clientOf(grant: number): string {
    const { applications } = this.#order;
    return this.#formatOf(grant) === 'opaque' ? CLIENTS.web.id : application(grant % applications).id;
  }

  #formatOf(grant: number): Format {
    return ((grant >> 1) + Math.floor(grant / GRANTS_PER_ROUND)) % 2 === 0 ? 'opaque' : 'jwt';
  }

  #writeUser(user: number, round: number, take: Take): void {
    const subject = subjectOf(user);
    const name = `user-${user}`;
    const { person } = this.#samples;
    const renamed = Object.fromEntries(
      Object.entries(person).map(([column, value]) => [
        column,
        typeof value === 'string' ? value.replaceAll(SAMPLE_NAME, name) : value,
      ]),
    );
    take('people', { ...renamed, subject, created_at_ms: this.#timeOf(round) });
    take('principals', { ...this.#samples.user, id: subject, generation: this.#generationOf(user) });
  }

  #writeSession(session: number, round: number, take: Take): void {
    const id = sessionOf(session);
    const atMs = this.#timeOf(round);
    const { issuer = null } = this.#samples.person;
    take('principals', {
      ...this.#samples.session,
      id,
      generation: atMs,
      keep_until: this.#keptUntil(round) + 5 * 86_400,
    });
    if (atMs + IDLE_MS < this.#order.nowMs) return;
    take('sessions', {
      ...{ issuer, id, secret_digest: digest(`session ${session}`), subject: this.subjectOf(session * 2) },
      ...{ amr: 'pwd', user_agent: USER_AGENT, network: '203.0.113.0/24' },
      ...{ signed_in_at_ms: atMs, last_seen_at_ms: atMs, expires_at_ms: atMs + IDLE_MS, ended_at_ms: null },
    });
  }

  #writeGrant(grant: number, round: number, take: Take): void {
    const atMs = this.#timeOf(round);
    const last = this.#keptUntil(this.#roundOf(grant, this.#lastPair(grant)));
    const of = this.#tiesOf(grant);
    const { grant: principal, grantDetails, code } = this.#samples;
    take('principals', { ...principal, id: of.grant_id, generation: atMs, keep_until: last });
    take('grants', { ...grantDetails, ...of, created_at_ms: atMs });
    take('authorization_codes', {
      ...code,
      ...of,
      id: digest(`code ${grant}`),
      claims: withClaims(code, { sub: of.subject }),
      issued_at_ms: atMs,
      expires_at: Math.floor(atMs / 1000) + 60,
      keep_until: this.#keptUntil(round),
      redeemed_at_ms: atMs,
    });
  }

  /** The columns that tie rows to the grant, and its copies of generations. */
  #tiesOf(grant: number) {
    const begunAtMs = this.#timeOf(Math.floor(grant / GRANTS_PER_ROUND));
    return {
      client_id: this.clientOf(grant),
      subject: this.subjectOf(grant),
      session_id: sessionOf(grant >> 1),
      grant_id: timed(begunAtMs, `grant ${grant}`),
      subject_generation: this.#generationOf(this.#userOf(grant)),
      session_generation: begunAtMs,
      grant_generation: begunAtMs,
    };
  }

  #writePair(grant: number, pair: number, take: Take): void {
    const round = this.#roundOf(grant, pair);
    const atMs = this.#timeOf(round);
    const iat = Math.floor(atMs / 1000);
    const kept = this.#keptUntil(round);
    const isLast = pair === this.#lastPair(grant);
    const { grant_id: grantId, ...others } = this.#tiesOf(grant);
    const ties = {
      ...{ ...others, grant_id: grantId, pair_id: timed(atMs, `pair ${grant} ${pair}`) },
      family_id: timed(this.#timeOf(this.#roundOf(grant, 0)), `family ${grant}`),
      ...{ issued_at_ms: atMs, keep_until: kept },
    };
    const format = this.#formatOf(grant);
    const access = this.#samples.access[format];
    const refresh = this.#samples.refresh[format];
    const accessDigest = digest(accessToken(grant, pair));
    const accessId = format === 'opaque' ? accessDigest : timed(atMs, `jti ${grant} ${pair}`);
    const exp = isLast ? kept : iat + 3600;
    const refreshId = digest(refreshToken(grant, pair));
    const jti = timed(atMs, `jti ${grant} ${pair}`);
    take('tokens', {
      ...{ ...access, ...ties, id: accessId, digest: accessDigest, expires_at: exp },
      claims: withClaims(access, { sub: ties.subject, iat, exp, jti }),
    });
    take('tokens', {
      ...{ ...refresh, ...ties, id: refreshId, digest: refreshId, expires_at: kept },
      claims: withClaims(refresh, { sub: ties.subject, iat, exp: kept, jti }),
      superseded_at_ms: isLast ? null : this.#timeOf(this.#roundOf(grant, pair + 1)),
      successor_id: isLast ? null : digest(refreshToken(grant, pair + 1)),
    });
    this.#writeEvent(this.#samples.events.pair, take, {
      ...{
        at_ms: atMs,
        target: `${accessId} ${refreshId}`,
        client_id: ties.client_id,
        subject: ties.subject,
      },
      reason: pair === 0 ? 'authorization_code' : 'refresh_token',
    });
  }

  #writeMachineToken(number: number, round: number, take: Take): void {
    const sample = this.#samples.machine[number % 2 === 0 ? 'opaque' : 'jwt'];
    const atMs = this.#timeOf(round);
    const exp = this.#keptUntil(round);
    const value = digest(machineToken(number));
    const jti = timed(atMs, `machine jti ${number}`);
    const id = number % 2 === 0 ? value : jti;
    take('tokens', {
      ...{ ...sample, id, digest: value, issued_at_ms: atMs, expires_at: exp, keep_until: exp },
      claims: withClaims(sample, { iat: Math.floor(atMs / 1000), exp, jti }),
    });
    const { client_id = null } = sample;
    this.#writeEvent(this.#samples.events.machine, take, { at_ms: atMs, target: id, client_id });
  }

  #writeEvent(sample: Row, take: Take, changed: Row): void {
    this.#sequence += 1;
    take('events', {
      ...{ ...sample, ...changed, sequence: this.#sequence, address: '203.0.113.77' },
      request_id: spread(`request ${this.#sequence}`).slice(0, 22),
    });
  }
}

const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

function accessToken(grant: number, pair: number): string {
  return `grantd_at_${spread(`access ${grant} ${pair}`)}`;
}

function refreshToken(grant: number, pair: number): string {
  return `grantd_rt_${spread(`refresh ${grant} ${pair}`)}`;
}

function machineToken(number: number): string {
  return `grantd_at_${spread(`machine ${number}`)}`;
}

function subjectOf(user: number): string {
  return spread(`subject ${user}`).slice(0, 22).replace(/^-/, '_');
}

function sessionOf(session: number): string {
  return spread(`session id ${session}`).slice(0, SAMPLE_SESSION.length).replace(/^-/, '_');
}

/** The digest of a token, which is the key of an opaque one. */
function digest(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** 256 bits that follow from a text. */
function spread(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** As the library's identifiers: milliseconds in base 36, then 128 bits. */
function timed(ms: number, text: string): string {
  return ms.toString(36) + spread(text).slice(0, 22);
}

const parsed = new WeakMap<Row, Readonly<Record<string, unknown>>>();

/** The claims of a sample with others of the same name. A row without claims keeps none. */
function withClaims(sample: Row, changed: Readonly<Record<string, Value>>): Value {
  const { claims = null } = sample;
  if (typeof claims !== 'string') return claims;
  const own = parsed.get(sample) ?? JSON.parse(claims);
  parsed.set(sample, own);
  const known = Object.entries(changed).filter(([name]) => name in own);
  return JSON.stringify({ ...own, ...Object.fromEntries(known) });
}
