import type { AssertionAudience } from '../../protocol/client_metadata.ts';
import type { GrantType } from '../../protocol/records.ts';
import type { SigningAlgorithm } from '../../protocol/signing_algorithm.ts';
import type { Registrant } from './read_document.ts';

/** What a client may be, by who describes it and by what the server can do. */
export interface RegistrationPolicy {
  readonly registrant: Registrant;
  /** `undefined` is all. */
  readonly scopes: readonly string[] | undefined;
  readonly grantTypes: readonly GrantType[];
  /** What the server can sign with. */
  readonly signingAlgorithms: readonly SigningAlgorithm[];
  /** Whether the server can ask for what clients name by URL. */
  readonly canFetch: boolean;
  /** Why the server would never ask for a URL; a literal. */
  readonly refusalOf: (url: string) => string | undefined;
  readonly hasPairwiseSubjects: boolean;
  /** Development alone: http, and applications on the very machine of the browser. */
  readonly allowInsecureUris: boolean;
  /** Of clients that sign assertions, where nobody says otherwise. */
  readonly assertionAudience: AssertionAudience;
  /** Of confidential clients, where nobody says otherwise. */
  readonly insecureAllowMissingPkce: boolean;
}
