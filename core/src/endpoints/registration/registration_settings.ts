import type { AssertionAudience } from '../../protocol/client_metadata.ts';
import type { GrantType } from '../../protocol/records.ts';
import type { Awaitable, ClientRegistry } from '../../storage/contract.ts';

/** Dynamic registration of clients (RFC 7591), with what they may do to their registration later (RFC 7592). */
export interface RegistrationOptions {
  /**
   * Who may register: whoever reaches the endpoint; whoever shows an initial access token that
   * `newInitialAccessToken` made; or whoever shows one that the host knows (RFC 7591 §3).
   */
  readonly openTo: 'anyone' | 'initial_access_token' | ((initialAccessToken: string) => Awaitable<boolean>);
  /**
   * Scopes that such clients may obtain. Default: those of OpenID Connect with `offline_access`, which a person
   * consents to, and no scope of an API.
   */
  readonly scopes?: readonly string[];
  /**
   * Grants that they may use. Default: `authorization_code` and `refresh_token`; with `client_credentials` a stranger
   * would have tokens without any person.
   */
  readonly grantTypes?: readonly GrantType[];
  /** Lets them use http and localhost, so that codes can be read on the way: for development alone. Default: `false`. */
  readonly allowInsecureUris?: boolean;
  /**
   * What their assertions may name as their audience: the issuer alone, or also the URL of the endpoint, by which
   * another server could be meant as well. A client keeps what was so when it registered. Default: `issuer`.
   */
  readonly assertionAudience?: AssertionAudience;
  /**
   * How many clients there can be that have registered themselves; who comes later is refused. They are counted at each
   * registration. Default: 10,000.
   */
  readonly mostClients?: number;
}

/** What registering needs of storage. */
export type RegistrableClients = Pick<ClientRegistry, 'add' | 'replace' | 'remove'>;

export interface ResolvedRegistration {
  readonly openTo: RegistrationOptions['openTo'];
  readonly scopes: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly allowInsecureUris: boolean;
  readonly assertionAudience: AssertionAudience;
  readonly mostClients: number;
  readonly clients: RegistrableClients;
}
