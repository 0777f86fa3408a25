import { OAuthError, type OAuthErrorDetails, type RefusalReason } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import type { HttpRequest } from '../http/http.ts';
import type { ClientMetadata } from '../protocol/client_members.ts';
import type { AuthenticationMethod } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { TokenContext } from '../tokens/context.ts';
import type { ClientContext } from './client.ts';

/**
 * One way for a client to authenticate. A file describes it completely, and the table `METHODS` in authentication.ts
 * lists it. Token endpoint, metadata document, registration and the program's command line follow from the table.
 */
export interface ClientAuthenticationMethod {
  /** What proves the client's identity. A client that proves nothing is public (RFC 6749 §2.1). */
  readonly proof: 'secret' | 'key' | 'nothing';
  /** `alg` values of the assertions that clients sign for it (RFC 8414 §2); absent if they sign none. */
  readonly assertionAlgorithms?: readonly string[];
  /** Why the storage of this server does not support the method; absent if every storage does. */
  unsupported?(storage: TokenContext['storage']): RefusalReason | undefined;
  /** What the metadata of a client with this method lacks, such as keys; follows the method's name. */
  missingFrom?(metadata: ClientMetadata): string | undefined;
  /** Form parameters that carry its credentials; `find` runs only if one of them is there. Absent: it always runs. */
  readonly parameters?: readonly string[];
  /**
   * Finds credentials of this method in a request. At most one method may find some, apart from those that only read
   * which client the request names.
   * @throws {OAuthError} `invalid_client`: the credentials cannot be told apart from malformed ones of other methods
   */
  find(request: HttpRequest, form: Form): FoundCredentials | undefined;
}

/**
 * Reads the credentials that a request carries.
 * @returns `undefined` if they name no client
 * @throws {OAuthError} `invalid_client`, `invalid_request`: they are malformed
 */
type FoundCredentials = () => Claim | undefined;

/** What a request claims. Nothing is proven yet. */
export interface Claim {
  readonly method: AuthenticationMethod;
  readonly clientId: string;
  /**
   * Checks the credentials. It takes the same time with and without a client, so that the time does not tell which
   * clients exist.
   * @param client the client that is registered for the method; `undefined` if there is none: the result is ignored
   * @throws {DocumentError} the keys of the client cannot be fetched at the moment
   */
  verify(context: ClientContext, client: ClientRecord | undefined, call: Call): Promise<Verdict>;
}

type Verdict =
  | { readonly reason: RefusalReason; readonly cause?: unknown }
  | {
      readonly reason?: undefined;
      /**
       * Runs last, for an enabled client: for example, marks an assertion as used.
       * @throws {OAuthError} `invalid_client`
       */
      accept?(client: ClientRecord): Awaitable<void>;
    };

/** All failures have the same text, so that it does not tell which clients exist. */
export function refusedClient(
  reason: RefusalReason,
  client?: Pick<ClientRecord, 'id'>,
  details: Pick<OAuthErrorDetails, 'value' | 'cause'> = {},
): OAuthError {
  return new OAuthError('invalid_client', 'client authentication failed', {
    reason,
    clientId: client?.id,
    ...details,
  });
}

/** A request carries at most one credential of a client (RFC 6749 §2.3). */
export function repeatedCredentials(): OAuthError {
  return new OAuthError('invalid_request', 'the request carries more than one client credential', {
    reason: 'credentials_repeated',
  });
}
