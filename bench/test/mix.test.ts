import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlannedRequest } from '../load/request_file.ts';
import { mixed, revokingBoth } from '../works/mix.ts';

const request = (path: string): PlannedRequest => ({ method: 'POST', path });

test('a hundred requests are 95 introspections, 4 issues and 1 revocation, each of another token', () => {
  const introspections = Array.from({ length: 100 }, (_, index) => request(`/introspect/${index}`));
  const revocations = [request('/revoke/0'), request('/revoke/1')];
  const paths = [...mixed({ introspections, issue: request('/token'), revocations })].map(({ path }) => path);

  assert.equal(paths.length, 200);
  assert.equal(paths.filter((path) => path === '/token').length, 8);
  assert.deepEqual(
    paths.filter((path) => path.startsWith('/revoke')),
    ['/revoke/0', '/revoke/1'],
  );
  assert.deepEqual(
    paths.filter((path) => path.startsWith('/introspect')),
    Array.from({ length: 190 }, (_, index) => `/introspect/${index % 100}`),
  );
});

test('half of the revocations are of users’ tokens', () => {
  const of = (whom: string) => [0, 1].map((number) => request(`/revoke/${whom}/${number}`));
  assert.deepEqual(
    revokingBoth(of('machine'), of('person')).map(({ path }) => path),
    ['/revoke/machine/0', '/revoke/person/0', '/revoke/machine/1', '/revoke/person/1'],
  );
});
