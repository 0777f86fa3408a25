/** What a request claims; nothing of it is proven yet. */
export interface ClaimedCredentials {
  readonly clientId: string;
  /** The texts that may be the secret, the likelier first; empty where there is none. */
  readonly secrets: readonly string[];
}
