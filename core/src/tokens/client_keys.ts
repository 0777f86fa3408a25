import type { CryptoKey, JWK } from 'jose';
import type { Clock } from '../environment.ts';
import { DocumentError, type FetchDocument } from '../http/fetch_document.ts';
import { type EncryptionAlgorithm, MOST_KEYS, type SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import {
  fitsAlgorithm,
  importPublicKey,
  type KeyAlgorithm,
  keyThatSigned,
  RemoteKeySets,
  readPublicKeys,
} from './public_keys.ts';

/** A key to encrypt to, and how the answer names it. */
export interface EncryptionKey {
  readonly key: CryptoKey;
  readonly keyId: string | undefined;
}

type KeyOwner = Pick<ClientRecord, 'id' | 'metadata'>;

/**
 * The public keys of clients: what they registered as `jwks`, or what their `jwks_uri` answers (RFC 7591 §2). A key
 * that does not fit the algorithm is no key; a symmetric one never is.
 */
export class ClientKeys {
  readonly #remote: RemoteKeySets;

  constructor(parts: { readonly fetchDocument: FetchDocument; readonly clock: Clock }) {
    this.#remote = new RemoteKeySets({ ...parts, mostKeys: MOST_KEYS });
  }

  /**
   * The key that has signed something of the client's, by the `kid` of its header; where it has none, the client's one
   * key of that algorithm (OpenID Connect Core §10.1).
   * @returns `undefined` where the client has no such key, or several and no `kid` says which
   * @throws {DocumentError} its keys cannot be fetched
   */
  async forVerifying(
    client: KeyOwner,
    algorithm: SigningAlgorithm,
    keyId: string | undefined,
  ): Promise<CryptoKey | undefined> {
    const choose = (keys: readonly JWK[]) => keyThatSigned(keys, algorithm, keyId);
    return (await this.#find(client, algorithm, choose))?.key;
  }

  /**
   * The first of the client's keys that something can be encrypted to.
   * @returns `undefined` where the client has none
   * @throws {DocumentError} its keys cannot be fetched
   */
  async forEncrypting(client: KeyOwner, algorithm: EncryptionAlgorithm): Promise<EncryptionKey | undefined> {
    const found = await this.#find(client, algorithm, (keys) =>
      keys.find((jwk) => fitsAlgorithm(jwk, algorithm)),
    );
    return found && { key: found.key, keyId: found.jwk.kid };
  }

  async #find(
    { id, metadata }: KeyOwner,
    algorithm: KeyAlgorithm,
    choose: (keys: readonly JWK[]) => JWK | undefined,
  ): Promise<{ readonly jwk: JWK; readonly key: CryptoKey } | undefined> {
    const { jwks, jwks_uri: uri } = metadata ?? {};
    const jwk =
      uri === undefined
        ? choose(readPublicKeys(jwks, MOST_KEYS) ?? [])
        : await this.#remote.find(uri, choose).catch((error: unknown) => {
            throw error instanceof DocumentError ? error.ofClient(id) : error;
          });
    const key = jwk && (await importPublicKey(jwk, algorithm));
    return jwk && key && { jwk, key };
  }
}
