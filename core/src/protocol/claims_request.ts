/** How one claim is asked for (OpenID Connect Core §5.5.1); `null` is voluntary, without more. */
export type ClaimRequest = {
  readonly essential?: boolean;
  readonly value?: unknown;
  readonly values?: readonly unknown[];
} | null;

/** The `claims` parameter (OpenID Connect Core §5.5): which claims should be where, by name. */
export interface ClaimsRequest {
  readonly userinfo?: Readonly<Record<string, ClaimRequest>>;
  readonly id_token?: Readonly<Record<string, ClaimRequest>>;
}
