// Requests of devices as pending rows: made, polled, decided once. § refers to RFC 8628.
import { hmacSha256, sha256 } from '#crypto';
import { invalidGrant, OAuthError, type RefusalReason } from '../http/errors.ts';
import { type RandomSource, secondsOf } from '../platform/environment.ts';
import { DEVICE_GRANT } from '../protocol/client_metadata.ts';
import type { DeviceRequestState, PendingRow } from '../protocol/pending.ts';
import { profileOf } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { TokenContext } from '../tokens/context.ts';
import { newOpaque, opaqueKindOf } from '../tokens/opaque_token.ts';

const KIND = 'device_request';

export type DeviceRow = PendingRow<typeof KIND>;

/** Seconds for which a row stays after its codes have expired. A device that still polls then learns why it fails. */
const REMEMBERED_SECONDS = 60 * 60;

/** Seconds by which an early poll lengthens the interval, for good (§3.5). */
const SLOW_DOWN_SECONDS = 5;

/** Requests of clients that wait exactly the interval may arrive closer to each other. */
const LEEWAY_MS = 1000;

/** With a billion open requests, one code in 25 is in use. */
const MOST_TRIES = 10;

/** Whether a client may use the grant. No profile knows it, so it would be a way around what a profile requires. */
export function mayUseGrant(client: Pick<ClientRecord, 'grantTypes' | 'metadata'>): boolean {
  return client.grantTypes.includes(DEVICE_GRANT) && profileOf(client) === undefined;
}

/** Stores a request. @returns its codes */
export async function addRequest(
  context: TokenContext,
  clientId: string,
  request: Pick<DeviceRequestState, 'parameters' | 'place' | 'codesExpireAt' | 'interval'>,
): Promise<{ readonly deviceCode: string; readonly userCode: string }> {
  const deviceCode = newOpaque('device_code', context.random);
  const id = await sha256(deviceCode);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const userCode = newUserCode(context.random);
    const [otherId = ''] = await digestsOf(context, readUserCode(userCode) ?? '');
    const data = { ...request, requestedAtMs: context.clock() };
    const expiresAt = request.codesExpireAt + REMEMBERED_SECONDS;
    if (await pendingOf(context).add({ kind: KIND, id, otherId, clientId, data, expiresAt }))
      return { deviceCode, userCode };
  }
  throw new Error('no user code is free');
}

/** @returns the request of a device code, also if it has expired or was decided */
export async function findByDeviceCode(
  context: TokenContext,
  deviceCode: string,
): Promise<DeviceRow | undefined> {
  return opaqueKindOf(deviceCode) === 'device_code' ? find(context, await sha256(deviceCode)) : undefined;
}

/** @returns the request that waits with the code that a user typed */
export async function findByUserCode(context: TokenContext, typed: string): Promise<DeviceRow | undefined> {
  const letters = readUserCode(typed);
  if (letters === undefined) return undefined;
  for (const digest of await digestsOf(context, letters)) {
    const row = await pendingOf(context).getByOtherId(KIND, digest);
    if (row !== undefined) return isWaiting(context, row) ? row : undefined;
  }
  return undefined;
}

/** @param id of a row */
export async function find(context: TokenContext, id: string): Promise<DeviceRow | undefined> {
  return (await pendingOf(context).get(KIND, id)) as DeviceRow | undefined;
}

/** Whether a user can still decide. */
export function isWaiting(context: TokenContext, { data }: DeviceRow): boolean {
  return data.decision === undefined && !isExpired(context, data);
}

function isExpired({ clock }: TokenContext, { codesExpireAt }: DeviceRequestState): boolean {
  return codesExpireAt <= secondsOf(clock());
}

/**
 * Records the decision of a user. Atomic: of concurrent ones, one counts. Polls meanwhile change nothing about it.
 * @returns `false` if the request was decided before, or has expired
 */
export async function decide(
  context: TokenContext,
  id: string,
  decision: Required<Pick<DeviceRequestState, 'decision'>> & Pick<DeviceRequestState, 'codeId'>,
): Promise<boolean> {
  for (;;) {
    const row = await find(context, id);
    if (row === undefined || !isWaiting(context, row)) return false;
    if (await pendingOf(context).change({ ...row, data: { ...row.data, ...decision } })) return true;
  }
}

/**
 * Answers a poll (§3.5). Only while the user decides does it matter how soon it comes. An early poll lengthens the
 * interval, but not from when it counts: then a device that waits the same time after each answer could never wait long
 * enough.
 * @returns `id` of the code that the device may redeem
 * @throws {OAuthError} `authorization_pending`, `slow_down`, `access_denied`, `expired_token`, `invalid_grant`
 */
export async function poll(context: TokenContext, found: DeviceRow): Promise<string> {
  for (let row: DeviceRow | undefined = found; row !== undefined; row = await find(context, row.id)) {
    const { data } = row;
    const { decision, codeId, interval, polledAtMs = -Infinity, codesExpireAt } = data;
    if (decision === 'approved' && codeId !== undefined) return codeId;
    if (decision === 'denied') throw refusal('access_denied', 'the user denied access', 'device_denied');
    if (isExpired(context, data)) throw expired();
    const nowMs = context.clock();
    const waitedMs = nowMs - polledAtMs;
    // A clock that was set back must not make every poll early.
    const isEarly = waitedMs >= 0 && waitedMs < interval * 1000 - LEEWAY_MS;
    const changed = isEarly
      ? { ...data, interval: interval + SLOW_DOWN_SECONDS }
      : { ...data, polledAtMs: nowMs };
    // Once every later poll is early, nothing is left to write, so a flood of polls costs a bounded number of writes.
    const isEarlyToTheEnd = isEarly && polledAtMs + interval * 1000 - LEEWAY_MS >= codesExpireAt * 1000;
    if (isEarlyToTheEnd || (await pendingOf(context).change({ ...row, data: changed }))) {
      if (isEarly) throw refusal('slow_down', 'the device polls too often', 'device_polls_early');
      throw refusal('authorization_pending', 'the user has not decided yet', 'device_pending');
    }
  }
  throw unknown();
}

/** The error for a code that has expired, or whose approval has. */
export function expired(): OAuthError {
  return refusal('expired_token', 'the device code has expired', 'device_code_expired');
}

/** The error for a code that was never issued, or not to this client. */
export function unknown(reason: RefusalReason = 'device_code_unknown'): OAuthError {
  return invalidGrant('the device code is not valid', reason);
}

function refusal(
  code: 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token',
  description: string,
  reason: RefusalReason,
): OAuthError {
  return new OAuthError(code, description, { status: 400, reason });
}

function pendingOf({ storage: { pending } }: TokenContext): NonNullable<TokenContext['storage']['pending']> {
  if (pending === undefined) throw new TypeError('requests of devices need storage.pending');
  return pending;
}

// ── User codes ────────────────────────────────────────────────────────────────────────────────────────────

/** Letters that make no words and look like no others (§6.1). Eight of them have 34.5 bits. */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
const LENGTH = 8;
const USER_CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`);

/** Bytes from this one on would make some letters more likely than others. */
const BYTES_END = 256 - (256 % ALPHABET.length);

/** Returns a random code as users see it, such as `WDJB-MJHT`. */
function newUserCode(random: RandomSource): string {
  let letters = '';
  while (letters.length < LENGTH)
    for (const byte of random(LENGTH - letters.length))
      if (byte < BYTES_END) letters += ALPHABET[byte % ALPHABET.length];
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}

/**
 * Reads what a user typed. Case, spaces and punctuation do not matter (§6.1).
 * @returns the letters alone; `undefined` if this cannot be a code
 */
function readUserCode(typed: string): string | undefined {
  const letters = typed
    .normalize('NFKC')
    .replaceAll(/[\s\p{P}]/gu, '')
    .toUpperCase();
  return USER_CODE.test(letters) ? letters : undefined;
}

/**
 * Returns the digests by which a code is found: one for each server secret, the newest first. They need a key, because
 * anyone can try all codes.
 */
async function digestsOf(
  { secret, issuer }: Pick<TokenContext, 'secret' | 'issuer'>,
  letters: string,
): Promise<readonly string[]> {
  const keys = await secret.keys('user_code');
  return Promise.all(keys.map((key) => hmacSha256(key, `${issuer} ${letters}`)));
}
