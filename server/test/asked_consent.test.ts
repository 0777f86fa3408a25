import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientMetadata, ClientRecord } from '@grantd/core';
import { isExempt, isReachedAlone } from '../src/people/consents.ts';

const [TLS, LOOPBACK, OWN_SCHEME] = [
  'https://app.example/cb',
  'http://127.0.0.1:1/cb',
  'com.example.app:/cb',
];

function client(metadata: ClientMetadata, hash?: string): ClientRecord {
  return {
    id: 'app',
    generation: 0,
    grantTypes: ['authorization_code'],
    scopes: [],
    redirectUris: [],
    metadata,
    ...(hash !== undefined && { secrets: [{ hash }] }),
  };
}

test('a redirect URI is exclusive with TLS, client authentication, or a web page on loopback', () => {
  const reached = (...of: Parameters<typeof client>) =>
    [TLS, LOOPBACK, OWN_SCHEME].map((uri) => isReachedAlone(client(...of), uri));
  assert.deepEqual(reached({ token_endpoint_auth_method: 'none' }), [true, false, false]);
  const page: ClientMetadata = { token_endpoint_auth_method: 'none', application_type: 'web' };
  assert.deepEqual(reached(page), [true, true, false]);
  // Without a method, a client has to send its secret, also if the record has lost it.
  for (const hash of [undefined, 'hash']) assert.deepEqual(reached({}, hash), [true, true, true]);
  assert.deepEqual(reached({ token_endpoint_auth_method: 'private_key_jwt' }), [true, true, true]);
  // It has a secret that no test uses.
  assert.deepEqual(reached({ token_endpoint_auth_method: 'none' }, 'hash'), [true, false, false]);
});

test('only the operator exempts a client from consent, and never one that registered itself', () => {
  const own = client({ consent_required: false });
  assert.deepEqual(
    [own, client({}), client({ consent_required: true }), { ...own, registeredAt: 1 }].map(isExempt),
    [true, false, false, false],
  );
});
