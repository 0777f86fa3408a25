import type { AssertionAudience } from '../../protocol/client_metadata.ts';
import type { GrantType } from '../../protocol/records.ts';
import type { Awaitable } from '../../storage/contract.ts';
import type { RegistrableClients } from '../../storage/required_methods.ts';

/** Who may register (RFC 7591 §3); the function says whether the host accepts an initial access token. */
export type OpenTo = 'anyone' | 'initial_access_token' | ((initialAccessToken: string) => Awaitable<boolean>);

/** The option `registration` with its defaults. */
export interface ResolvedRegistration {
  readonly openTo: OpenTo;
  readonly scopes: readonly string[];
  readonly apis: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly allowInsecureUris: boolean;
  readonly assertionAudience: AssertionAudience;
  readonly insecureAllowMissingPkce: boolean;
  readonly mostClients: number;
  readonly clients: RegistrableClients;
}
