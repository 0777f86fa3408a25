// The contract of a client authentication method, and its errors.
import { invalidRequest, OAuthError, type OAuthErrorDetails, type RefusalReason } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import type { HttpRequest } from '../http/http.ts';
import type { ClientMetadata } from '../protocol/client_members.ts';
import type { AssertionAlgorithm, AuthenticationMethod } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { ClientContext } from './client.ts';

/**
 * A client authentication method. `METHODS` of authentication.ts lists all.
 */
export interface ClientAuthenticationMethod {
  /**
   * What proves the client's identity. Clients without proof are public (RFC 6749 §2.1). A certificate can be
   * there for other reasons, so it is no second credential.
   */
  readonly proof: 'secret' | 'key' | 'certificate' | 'nothing';
  /** Whether the server must be able to read the client's secret, so that it is also stored sealed. */
  readonly readsSecret?: true;
  /** Whether only an operator can register it. */
  readonly isForOperators?: true;
  /** Algorithms of its assertions. Absent if the method has none. */
  readonly assertionAlgorithms?: readonly AssertionAlgorithm[];
  /** Returns why this server cannot support the method. Absent if every server can. */
  unsupported?(context: SupportingContext): RefusalReason | undefined;
  /**
   * Returns what a client's metadata lacks for this method, such as keys. In the message it follows the method's name.
   */
  missingFrom?(metadata: ClientMetadata): string | undefined;
  /** Form parameters with the credentials. `find` runs only if one is present. Absent: it always runs. */
  readonly parameters?: readonly string[];
  /**
   * Finds credentials of this method in a request. Only one method may find some, except methods that only read the
   * client's identifier.
   * @throws {OAuthError} `invalid_client`: the credentials are malformed and could belong to several methods
   */
  find(request: HttpRequest, form: Form, context: SupportingContext): FoundCredentials | undefined;
}

/** What the support of a method depends on. */
export type SupportingContext = Pick<ClientContext, 'storage' | 'clientCertificates' | 'trustedIssuers'>;

/**
 * Reads the credentials that were found.
 * @returns `undefined` if they name no client
 * @throws {OAuthError} `invalid_client`, `invalid_request`: they are malformed
 */
export type FoundCredentials = () => Claim | undefined;

/** Credentials that have not been checked yet. */
export interface Claim {
  readonly method: AuthenticationMethod;
  readonly clientId: string;
  /** What they name instead of a client, for logs. Then `verify` also says why there is no client. */
  readonly named?: string;
  /**
   * Checks the credentials. It takes the same time without a client, so that timing does not reveal which exist.
   * @param client the client, if it is registered for this method. Without one, the result is ignored.
   * @throws {DocumentError} the client's keys cannot be fetched at the moment
   */
  verify(context: ClientContext, client: ClientRecord | undefined, call: Call): Promise<Verdict>;
}

export type Verdict =
  | { readonly reason: RefusalReason; readonly cause?: unknown }
  | {
      readonly reason?: undefined;
      readonly cause?: undefined;
      /**
       * Runs last, if the client is enabled. For example, it marks an assertion as used.
       * @param beforeUse what can still refuse the request. Credentials that work once run it before they are used up.
       * @returns until when the same credentials are accepted without effects, in milliseconds since 1970. Default: they have effects
       * @throws {OAuthError} `invalid_client`
       */
      accept?(client: ClientRecord, beforeUse: () => Awaitable<unknown>): Awaitable<number | undefined>;
    };

/** All failures have one description, which does not reveal which clients exist. */
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

/** A request may contain only one credential (RFC 6749 §2.3). */
export function repeatedCredentials(): OAuthError {
  return invalidRequest('the request carries more than one client credential', 'credentials_repeated');
}
