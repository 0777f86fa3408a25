import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CpuProfile, timeByPart } from '../profile/cpu_profile.ts';
import { partOfRequest } from '../profile/parts_of_a_request.ts';

const node = (id: number, functionName: string, url: string, children: readonly number[] = []) => ({
  id,
  callFrame: { functionName, url },
  children,
});

test('the time of a part is that of its calls, whatever they call, within the time that is asked about', () => {
  const profile: CpuProfile = {
    nodes: [
      node(1, '(root)', '', [2, 5, 6]),
      node(2, 'answer', 'file:///core/src/introspection/introspection.ts', [3]),
      node(3, 'readForm', 'file:///core/src/http/form.ts', [4]),
      node(4, 'URLSearchParams', 'node:internal/url'),
      node(5, '(idle)', ''),
      node(6, '(garbage collector)', ''),
    ],
    startTime: 1000,
    samples: [2, 4, 3, 5, 6, 2],
    timeDeltas: [0, 100, 100, 100, 100, 100],
  };
  const times = timeByPart(profile, { from: 1000, until: 1400 }, partOfRequest);
  assert.deepEqual(Object.fromEntries(times), {
    endpoint: 100,
    form: 200,
    'garbage collection': 100,
  });
  assert.deepEqual(Object.fromEntries(timeByPart(profile, { from: 1100, until: 1100 }, partOfRequest)), {
    form: 100,
  });
});

test('a hash of the caller’s secret is part of the caller, the token’s is not', () => {
  const hash = 'sha256 file:///core/src/crypto/node.ts';
  const caller = 'indexOfMatch file:///core/src/clients/client_secret.ts';
  const verify = 'verify file:///core/src/tokens/jwt.ts';
  assert.equal(partOfRequest([hash, caller]), 'client authentication');
  assert.equal(partOfRequest([hash, verify]), 'token digest');
  assert.equal(partOfRequest([verify]), 'signature check, or its cache');
  assert.equal(partOfRequest(['something file:///elsewhere.ts']), 'other');
});
