import type { ServerSecret } from '@grantd/core';

/** What the program derives keys for of the server's secret, besides the library. */
export type ProgramSecretUse =
  | 'form_token'
  | 'known_browser'
  | 'notice'
  | 'pairwise_secret'
  | 'pending_request'
  | 'sign_in_attempt';

/** The server's secret in the hands of the program. */
export type ProgramSecret = ServerSecret<ProgramSecretUse>;
