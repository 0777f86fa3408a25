import assert from 'node:assert/strict';
import type { PublishedKey } from '../jws.ts';

/** Members that each kind of public key has (RFC 7518 §6, RFC 8037 §2), all in base64url. */
const PUBLIC_MEMBERS: Readonly<Record<string, readonly ('n' | 'e' | 'x' | 'y')[]>> = {
  RSA: ['n', 'e'],
  EC: ['x', 'y'],
  OKP: ['x'],
};

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'] as const;

/** Public keys with distinct identifiers and well-formed members (RFC 7517 §4, OpenID Connect Core §10.1). */
export function checkKeys(keys: readonly PublishedKey[]): void {
  assert.ok(keys.length > 0, 'there are keys');
  const identifiers = keys.map(({ kid }) => kid);
  assert.equal(new Set(identifiers).size, keys.length, 'identifiers are distinct');
  for (const key of keys) {
    assert.ok(typeof key.kid === 'string' && key.kid !== '', 'a key has an identifier');
    assert.ok(key.use === undefined || key.use === 'sig' || key.use === 'enc', 'use');
    for (const name of PUBLIC_MEMBERS[key.kty ?? ''] ?? assert.fail(`kty ${key.kty}`)) {
      assert.match(key[name] ?? '', /^[\w-]+$/, `${name} is base64url without padding`);
    }
    for (const name of PRIVATE_MEMBERS) assert.equal(key[name], undefined, `${name} is private`);
  }
}
