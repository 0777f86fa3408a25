/** How a client says who it is: names as registered with IANA for `token_endpoint_auth_method`. */
export type ClientAuthenticationMethod = 'client_secret_basic' | 'client_secret_post' | 'none';

/** What a request claims; nothing of it is proven yet. */
export interface ClaimedCredentials {
  readonly method: ClientAuthenticationMethod;
  readonly clientId: string;
  /** The texts that may be the secret, the likelier first; empty where there is none. */
  readonly secrets: readonly string[];
}
