import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { clientOf } from '../client.ts';
import { type Flow, type FlowChanges, type RelyingParty, randomText } from '../relying_party.ts';
import type { Modules } from './module.ts';

/** Errors for requests that would need a page (OpenID Connect Core §3.1.2.6). */
export const NEEDS_A_PAGE = [
  ...['interaction_required', 'login_required', 'account_selection_required', 'consent_required'],
];

/** A long state, which a provider might truncate. */
export const longState = () => randomText(96);

/** A user who has signed in before: when they sign in again, and when not. */
export const SESSIONS: Modules = {
  'oidcc-prompt-login': async (party) => {
    const [first, second] = await twice(party, { afterMs: 1100, request: { prompt: 'login' } });
    checkSignedInAgain(first, second);
  },
  'oidcc-max-age-1': async (party) => {
    const [first, second] = await twice(party, { afterMs: 2100, request: { max_age: '1' } });
    checkSignedInAgain(first, second);
    assert.ok(Date.now() / 1000 - Number(second.identity.auth_time) < 60, 'auth_time is now');
  },
  'oidcc-max-age-10000': async (party) => {
    const [first, second] = await twice(
      party,
      { request: { max_age: '10000' } },
      { request: { max_age: '15000' } },
    );
    checkSameSignIn(first, second);
  },
  'oidcc-prompt-none-logged-in': async (party) => {
    const [first, second] = await twice(party, { request: { prompt: 'none' } });
    checkSameSignIn(first, second);
  },
  'oidcc-id-token-hint': async (party) => {
    const [first, second] = await twice(party, ({ tokens }) => ({
      request: { prompt: 'none', id_token_hint: tokens.idToken },
    }));
    checkSameSignIn(first, second);
  },
  'oidcc-prompt-none-not-logged-in': async (party) => {
    const request = { prompt: 'none', state: longState() };
    const error = await party.refusedFlow(await clientOf(party), { request });
    assert.ok(NEEDS_A_PAGE.includes(error), error);
  },
};

interface Again extends FlowChanges {
  /** Milliseconds after the first flow. */
  readonly afterMs?: number;
}

/** Two runs of the code flow in one browser. */
async function twice(
  party: RelyingParty,
  again: Again | ((first: Flow) => Again),
  before: FlowChanges = {},
): Promise<readonly [first: Flow, second: Flow]> {
  const client = await clientOf(party);
  const first = await party.codeFlow(client, before);
  assert.deepEqual(first.pages, ['login', 'consent']);
  const { afterMs = 0, ...changes } = typeof again === 'function' ? again(first) : again;
  await wait(afterMs);
  return [first, await party.codeFlow(client, changes)];
}

function checkSignedInAgain(first: Flow, second: Flow): void {
  assert.deepEqual(second.pages, ['login']);
  assert.equal(second.identity.sub, first.identity.sub);
  assert.ok(Number(second.identity.auth_time) > Number(first.identity.auth_time), 'auth_time is later');
}

function checkSameSignIn(first: Flow, second: Flow): void {
  assert.deepEqual(second.pages, []);
  assert.equal(second.identity.sub, first.identity.sub);
  assert.equal(typeof first.identity.auth_time, 'number');
  assert.equal(second.identity.auth_time, first.identity.auth_time);
}
