// Finds public keys of clients.
import type { CryptoKey, JWK } from 'jose';
import { DocumentError, type FetchDocument } from '../http/fetch_document.ts';
import type { Clock } from '../platform/environment.ts';
import { type ClientAlgorithm, type EncryptionAlgorithm, MOST_KEYS } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import {
  fitsAlgorithm,
  importPublicKey,
  type KeyAlgorithm,
  keyThatSigned,
  RemoteKeySets,
  readPublicKeys,
} from './public_keys.ts';

/** A key to encrypt to, and its `kid`. */
export interface EncryptionKey {
  readonly key: CryptoKey;
  readonly keyId: string | undefined;
}

type KeyOwner = Pick<ClientRecord, 'id' | 'metadata'>;

/**
 * Public keys of clients, from their `jwks` or from the document at their `jwks_uri` (RFC 7591 §2). Keys that do not
 * fit the algorithm, and symmetric keys, are ignored (ADR 17).
 */
export class ClientKeys {
  readonly #remote: RemoteKeySets;

  constructor(services: { readonly fetchDocument: FetchDocument; readonly clock: Clock }) {
    this.#remote = new RemoteKeySets({ ...services, mostKeys: MOST_KEYS });
  }

  forgetCached(): void {
    this.#remote.forgetCached();
  }

  /**
   * Finds the key for a signature by `kid`. Without a `kid`, takes the client's only key for the algorithm (OpenID
   * Connect Core §10.1).
   * @returns `undefined` if there is no such key, or several without a `kid` to choose
   * @throws {DocumentError} the keys cannot be fetched
   */
  async forVerifying(
    client: KeyOwner,
    algorithm: ClientAlgorithm,
    keyId: string | undefined,
  ): Promise<CryptoKey | undefined> {
    const choose = (keys: readonly JWK[]) => keyThatSigned(keys, algorithm, keyId);
    return (await this.#find(client, algorithm, choose))?.key;
  }

  /**
   * Finds the client's first key for encryption.
   * @returns `undefined` if the client has none
   * @throws {DocumentError} the keys cannot be fetched
   */
  async forEncrypting(client: KeyOwner, algorithm: EncryptionAlgorithm): Promise<EncryptionKey | undefined> {
    const found = await this.#find(client, algorithm, (keys) =>
      keys.find((jwk) => fitsAlgorithm(jwk, algorithm)),
    );
    return found && { key: found.key, keyId: found.jwk.kid };
  }

  /**
   * Whether the client has such a key.
   * @throws {DocumentError} the keys cannot be fetched
   */
  async hasKey(client: KeyOwner, isWanted: (jwk: JWK) => boolean): Promise<boolean> {
    return (await this.#choose(client, (keys) => keys.find(isWanted))) !== undefined;
  }

  async #choose(
    { id, metadata }: KeyOwner,
    choose: (keys: readonly JWK[]) => JWK | undefined,
  ): Promise<JWK | undefined> {
    const { jwks, jwks_uri: uri } = metadata ?? {};
    if (uri === undefined) return choose(readPublicKeys(jwks, MOST_KEYS) ?? []);
    return this.#remote.find(uri, choose).catch((error: unknown) => {
      throw error instanceof DocumentError ? error.ofClient(id) : error;
    });
  }

  async #find(
    client: KeyOwner,
    algorithm: KeyAlgorithm,
    choose: (keys: readonly JWK[]) => JWK | undefined,
  ): Promise<{ readonly jwk: JWK; readonly key: CryptoKey } | undefined> {
    const jwk = await this.#choose(client, choose);
    const key = jwk && (await importPublicKey(jwk, algorithm));
    return jwk && key && { jwk, key };
  }
}
