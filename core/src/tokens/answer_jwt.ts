// JWTs for clients, which may be encrypted: ID tokens, logout tokens, and responses of introspection, UserInfo and
// authorization.

import { CompactEncrypt } from 'jose/jwe/compact/encrypt';
import { invalidRequest, OAuthError, unexpectedError } from '../http/errors.ts';
import { DocumentError } from '../http/fetch_document.ts';
import { defined } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import type { SigningAlgorithm } from '../protocol/client_metadata.ts';
import {
  type ContentEncryption,
  DEFAULT_CONTENT_ENCRYPTION,
  type EncryptionAlgorithm,
} from '../protocol/client_metadata.ts';
import { usualAlgorithm } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { ClientKeys, EncryptionKey } from './client_keys.ts';
import type { JwtService } from './jwt_service.ts';

/** What a response as a JWT needs. */
export interface AnswerContext {
  readonly jwt: JwtService;
  readonly clientKeys: ClientKeys;
}

/** The client that a response is for. */
type Recipient = Pick<ClientRecord, 'id' | 'metadata' | 'idTokenAlgorithm'>;

/** How a response is protected. */
interface AnswerProtection {
  readonly signing:
    | {
        /** `typ` header. */
        readonly type: string;
        /** The registered algorithm. Default: the usual one of the client. */
        readonly algorithm: SigningAlgorithm | undefined;
      }
    | undefined;
  readonly encryption: AnswerEncryption | undefined;
}

interface AnswerEncryption {
  readonly algorithm: EncryptionAlgorithm;
  readonly content: ContentEncryption;
  /** `iss` header, for recipients that choose their key by it (RFC 7519 §5.3). */
  readonly issuer?: string;
}

/** Combines the two registered members. Returns `undefined` if responses are not encrypted. */
export function registeredEncryption(
  algorithm: EncryptionAlgorithm | undefined,
  content: ContentEncryption = DEFAULT_CONTENT_ENCRYPTION,
): AnswerEncryption | undefined {
  return algorithm && { algorithm, content };
}

/**
 * Makes a JWT for a client: signed by the server, encrypted to the client, or signed and then encrypted as a nested JWT
 * (RFC 7519 §5.2). It never has less protection than registered (ADR 18).
 * @throws {OAuthError} `invalid_request`: the client has no key to encrypt to; or as `requireSigning`
 * @throws {DocumentError} the client's keys cannot be fetched at the moment
 */
export async function answerJwt(
  context: AnswerContext,
  client: Recipient,
  claims: Claims,
  { signing, encryption }: AnswerProtection,
): Promise<string> {
  // Before signing, because a missing key is found faster.
  const key = encryption && (await encryptionKey(context, client, encryption.algorithm));
  const signed = signing && (await sign(context, client, claims, signing));
  if (encryption === undefined || key === undefined) {
    if (signed === undefined) throw new TypeError('a JWT response needs signing, encryption or both');
    return signed;
  }
  const jwe = new CompactEncrypt(
    new TextEncoder().encode(signed ?? JSON.stringify(claims)),
  ).setProtectedHeader({
    alg: encryption.algorithm,
    enc: encryption.content,
    ...defined({ kid: key.keyId, iss: encryption.issuer, cty: signed && 'JWT' }),
  });
  try {
    return await jwe.encrypt(key.key);
  } catch (cause) {
    // Some keys are found wrong only in use, such as a point of low order (RFC 7748 §6.1).
    throw unencryptable(client, 'client_key_missing', cause);
  }
}

async function sign(
  { jwt }: AnswerContext,
  client: Recipient,
  claims: Claims,
  { type, algorithm }: NonNullable<AnswerProtection['signing']>,
): Promise<string> {
  const signing = { type, algorithm: requireSigning(jwt, client, algorithm) };
  return (await jwt.sign(claims, signing)).token;
}

/**
 * Returns the algorithm that signs a response, if the server signs with it.
 * @param registered the client's algorithm for this response. Default: the usual one.
 * @throws {OAuthError} `server_error`: it is registered, so the host's own service has lost it since; otherwise
 *   `invalid_request`, because the client could register another one
 */
export function requireSigning(
  { algorithms }: Pick<JwtService, 'algorithms'>,
  client: Recipient,
  registered: SigningAlgorithm | undefined,
): SigningAlgorithm {
  const algorithm = registered ?? usualAlgorithm(client);
  if (algorithms.includes(algorithm)) return algorithm;
  const details = { reason: 'answer_algorithm_unsupported', clientId: client.id, value: algorithm } as const;
  if (registered !== undefined) throw unexpectedError(details);
  throw new OAuthError(
    'invalid_request',
    'the server does not sign with the algorithm of the client',
    details,
  );
}

async function encryptionKey(
  { clientKeys }: AnswerContext,
  client: Recipient,
  algorithm: EncryptionAlgorithm,
): Promise<EncryptionKey> {
  try {
    const key = await clientKeys.forEncrypting(client, algorithm);
    if (key === undefined) throw unencryptable(client, 'client_key_missing');
    return key;
  } catch (error) {
    if (error instanceof DocumentError && error.outcome === 'refused') {
      throw unencryptable(client, 'client_keys_refused', error);
    }
    throw error;
  }
}

function unencryptable(
  client: Recipient,
  reason: 'client_key_missing' | 'client_keys_refused',
  cause?: unknown,
): OAuthError {
  return invalidRequest('the client has no key to encrypt the response to', reason, {
    clientId: client.id,
    cause,
  });
}
