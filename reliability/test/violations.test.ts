import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ending, Issue, Operation, Read } from '../histories/operation.ts';
import { isConclusive, violationsIn } from '../histories/violations.ts';

const ISSUE: Issue = {
  op: 'issue',
  token: 'A1',
  process: 'one',
  startNs: 0,
  endNs: 10,
  livesUntilNs: 1_000_000,
};

function read(startNs: number, endNs: number, answer: Read['answer'], token = 'A1'): Read {
  return { op: 'introspect', token, process: 'two', startNs, endNs, answer };
}

function revocation(startNs: number, endNs: number, answer: Ending['answer'] = 'done'): Ending {
  return { op: 'revoke', tokens: ['A1', 'R1'], process: 'one', startNs, endNs, answer };
}

/** The violations of a history, in short. */
function rules(...operations: readonly Operation[]): readonly string[] {
  return violationsIn([ISSUE, ...operations]).map(({ rule, token, read: { startNs } }) =>
    [rule, token, startNs].join(', '),
  );
}

test('a token that is alive until its revocation and dead from then on is as it must be', () => {
  const before = read(20, 30, 'active');
  const after = read(61, 70, 'inactive');
  assert.deepEqual(rules(before, revocation(40, 60), after), []);
});

test('a token that is active after its revocation was acknowledged is found', () => {
  const stale = read(61, 70, 'active');
  assert.deepEqual(rules(revocation(40, 60), stale), ['active after an acknowledged revocation, A1, 61']);
  const [violation] = violationsIn([ISSUE, revocation(40, 60), stale]);
  assert.deepEqual(violation?.against, revocation(40, 60));
  assert.deepEqual(violation?.read, stale);
});

test('a look that began before the acknowledgement may show either', () => {
  assert.deepEqual(rules(revocation(40, 60), read(60, 70, 'active'), read(41, 42, 'active')), []);
  assert.deepEqual(rules(revocation(40, 60), read(30, 40, 'inactive'), read(59, 61, 'inactive')), []);
});

test('a token that is inactive before any revocation began is found', () => {
  const early = ['inactive before any revocation began, A1, 20'];
  assert.deepEqual(rules(read(20, 39, 'inactive'), revocation(40, 60)), early);
  assert.deepEqual(rules(read(20, 39, 'inactive')), early);
});

test('a token that was never active before its revocation is found', () => {
  const found = rules(read(20, 25, 'inactive'), read(26, 30, 'inactive'), revocation(40, 60));
  assert.equal(found.length, 2);
});

test('a look before the end of the issuance, or after the end of the life, may be inactive', () => {
  assert.deepEqual(rules(read(5, 12, 'inactive'), read(999_990, 1_000_001, 'inactive')), []);
});

test('a token that comes back after it was seen inactive is found, also while the revocation is in flight', () => {
  const back = ['active after it was seen inactive, A1, 51'];
  assert.deepEqual(rules(revocation(40, 90), read(42, 50, 'inactive'), read(51, 55, 'active')), back);
  assert.deepEqual(rules(revocation(40, 90), read(42, 52, 'inactive'), read(51, 55, 'active')), []);
});

test('a revocation whose outcome is unknown may take effect at any time from its start, once', () => {
  const unknown = revocation(40, 60, 'unknown');
  assert.deepEqual(rules(unknown, read(70, 80, 'active')), []);
  assert.deepEqual(rules(unknown, read(70, 80, 'inactive')), []);
  assert.deepEqual(rules(unknown, read(70, 80, 'inactive'), read(81, 90, 'active')), [
    'active after it was seen inactive, A1, 81',
  ]);
  assert.deepEqual(rules(unknown, read(20, 39, 'inactive')), [
    'inactive before any revocation began, A1, 20',
  ]);
});

test('of several revocations the first that begins makes inactive possible, the first acknowledged one certain', () => {
  const lost = revocation(40, 50, 'unknown');
  const again = revocation(60, 70);
  assert.deepEqual(rules(lost, again, read(42, 45, 'inactive')), []);
  assert.deepEqual(rules(lost, again, read(61, 65, 'active')), []);
  assert.deepEqual(rules(lost, again, read(71, 75, 'active')), [
    'active after an acknowledged revocation, A1, 71',
  ]);
});

test('a 503 proves nothing', () => {
  assert.deepEqual(rules(read(20, 30, 'unknown'), revocation(40, 60), read(70, 80, 'unknown')), []);
});

test('each token of a history is judged by what ends it', () => {
  const other: Issue = { ...ISSUE, token: 'A2' };
  const bystander = [other, read(61, 70, 'active', 'A2'), read(61, 70, 'inactive', 'A1')];
  assert.deepEqual(rules(revocation(40, 60), ...bystander), []);
  assert.deepEqual(rules(other, revocation(40, 60), read(61, 70, 'inactive', 'A2')), [
    'inactive before any revocation began, A2, 61',
  ]);
});

test('a history is conclusive if one token was seen alive before its acknowledged end and dead after it', () => {
  const before = read(20, 30, 'active');
  const after = read(70, 80, 'inactive');
  assert.equal(isConclusive([ISSUE, before, revocation(40, 60), after]), true);
  assert.equal(isConclusive([ISSUE, before, revocation(40, 60), read(50, 80, 'inactive')]), false);
  assert.equal(isConclusive([ISSUE, read(20, 50, 'active'), revocation(40, 60), after]), false);
  assert.equal(isConclusive([ISSUE, before, revocation(40, 60, 'unknown'), after]), false);
  assert.equal(isConclusive([ISSUE, before, revocation(40, 60), read(70, 80, 'unknown')]), false);
});
