// Derives keys from the server's secret.
import * as base64url from 'jose/base64url';
import * as errors from 'jose/errors';
import { compactDecrypt } from 'jose/jwe/compact/decrypt';
import { CompactEncrypt } from 'jose/jwe/compact/encrypt';
import { derivedKey } from '#crypto';
import { ConfigurationError } from '../http/errors.ts';
import type { Bytes } from '../platform/environment.ts';
import { isLiveSecret } from '../protocol/record_rules.ts';
import type { ClientRecord } from '../protocol/records.ts';

/** Purposes for which the library derives keys. */
export type SecretUse =
  | 'client_secret'
  | 'client_secret_seal'
  | 'signing_key'
  | 'refresh_successor'
  | 'pairwise_subject'
  | 'pairwise_session'
  | 'initial_access_token'
  | 'dpop_nonce'
  | 'registration_place'
  | 'user_code'
  | 'ending_key';

export const EXPECTED_SECRET = 'a text of at least 32 characters, or a list of such texts, newest first';

/**
 * The server's secret, or a list of secrets: the first is used, all are accepted. Each use has its own key, derived by
 * HKDF (RFC 5869). Hosts can derive keys too, for uses whose names differ from the library's (ADR 43).
 */
export class ServerSecret<Use extends string = SecretUse> {
  #secrets: readonly string[];
  readonly #derived = new Map<Use, Promise<readonly Bytes[]>>();

  #fingerprints: Promise<readonly string[]> | undefined;

  /** @throws {ConfigurationError} no secret, or one with fewer than 32 characters */
  constructor(secret: string | readonly string[]) {
    this.#secrets = Array.isArray(secret) ? [...secret] : [secret];
    if (
      this.#secrets.length === 0 ||
      this.#secrets.some((secret) => typeof secret !== 'string' || secret.length < 32)
    ) {
      throw new ConfigurationError('secret', EXPECTED_SECRET);
    }
  }

  /** Of a server whose options need no secret. It has no keys. */
  static none(): ServerSecret {
    const none = new ServerSecret('-'.repeat(32));
    none.#secrets = [];
    return none;
  }

  /** Returns one key of 32 bytes for each secret, in their order. */
  keys(use: Use): Promise<readonly Bytes[]> {
    let keys = this.#derived.get(use);
    if (keys === undefined) {
      keys = Promise.all(this.#secrets.map((secret) => deriveKey(secret, use)));
      this.#derived.set(use, keys);
    }
    return keys;
  }

  /** Returns 8 characters for each secret, in their order. They identify a secret without revealing it. */
  fingerprints(): Promise<readonly string[]> {
    this.#fingerprints ??= Promise.all(this.#secrets.map(fingerprint));
    return this.#fingerprints;
  }

  /** Returns the key of 32 bytes for new values. */
  async key(use: Use): Promise<Bytes> {
    const [first] = await this.keys(use);
    if (first === undefined) throw new Error('the option secret is missing');
    return first;
  }

  /**
   * Encrypts a text under the newest secret.
   * @param name what the text belongs to, in the protected header, so that sealed texts cannot be swapped
   */
  async seal(use: Use, name: string, text: string): Promise<string> {
    return new CompactEncrypt(new TextEncoder().encode(text))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: name })
      .encrypt(await this.key(use));
  }

  /**
   * Opens what `seal` returned.
   * @returns the text, and the index of the secret that opens it; `undefined` if none does, or the name is another
   */
  async unseal(
    use: Use,
    name: string,
    sealed: string,
  ): Promise<{ readonly index: number; readonly text: string } | undefined> {
    for (const [index, key] of (await this.keys(use)).entries()) {
      const opened = await decryptWith(key, sealed);
      if (opened?.name === name) return { index, text: opened.text };
    }
    return undefined;
  }
}

async function decryptWith(
  key: Uint8Array,
  sealed: string,
): Promise<{ readonly name: unknown; readonly text: string } | undefined> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(sealed, key);
    return { name: protectedHeader.kid, text: new TextDecoder().decode(plaintext) };
  } catch (error) {
    if (error instanceof errors.JWEDecryptionFailed) return undefined; // try the next server secret
    throw error;
  }
}

async function fingerprint(secret: string): Promise<string> {
  return base64url.encode(await deriveKey(secret, 'fingerprint')).slice(0, 8);
}

async function deriveKey(secret: string, use: string): Promise<Bytes> {
  return derivedKey(secret, `grantd ${use}`);
}

/** Clients and keys that stop working if a server secret is dropped. */
export interface DependentsOfSecret {
  /** Identifiers of clients with a live secret that is hashed under it. */
  readonly clients: readonly string[];
  /** `kid` of signing keys that are sealed under it. */
  readonly signingKeys: readonly string[];
}

/** What depends on each server secret. */
export interface SecretDependents {
  /** In the order of the secrets. */
  readonly secrets: readonly ({ readonly fingerprint: string } & DependentsOfSecret)[];
  /** Hashes of an older schema, which do not say which secret they are under until their client authenticates. */
  readonly unknown: DependentsOfSecret;
  /** Under a secret that the server no longer has: these clients cannot authenticate, and these keys cannot sign. */
  readonly lost: DependentsOfSecret;
}

export function secretDependents(
  clients: readonly ClientRecord[],
  seals: ReadonlyMap<string, number>,
  { fingerprints, nowMs }: { readonly fingerprints: readonly string[]; readonly nowMs: number },
): SecretDependents {
  const isUnder = ({ secrets = [] }: ClientRecord, fits: (fingerprint: string | undefined) => boolean) =>
    secrets.some((secret) => isLiveSecret(secret, nowMs) && fits(secret.serverSecret));
  const clientsWhere = (fits: (fingerprint: string | undefined) => boolean) =>
    clients.filter((client) => isUnder(client, fits)).map(({ id }) => id);
  const keysAt = (index: number) => [...seals].filter(([, at]) => at === index).map(([kid]) => kid);
  return {
    secrets: fingerprints.map((fingerprint, index) => ({
      fingerprint,
      clients: clientsWhere((item) => item === fingerprint),
      signingKeys: keysAt(index),
    })),
    unknown: { clients: clientsWhere((item) => item === undefined), signingKeys: [] },
    lost: {
      clients: clientsWhere((item) => item !== undefined && !fingerprints.includes(item)),
      signingKeys: keysAt(-1),
    },
  };
}
