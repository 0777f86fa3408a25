/** What RFC 7591 §3.2.2 calls what is wrong. */
export type ClientMetadataErrorCode =
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unapproved_software_statement';

/** A client cannot be as it is described. The message has nothing in it but the names of members and literals. */
export class ClientMetadataError extends Error {
  readonly code: ClientMetadataErrorCode;
  /** Name of the member that does not fit, without a language tag. */
  readonly member: string;
  /** What is wrong with it, or was expected; follows the member's name and a colon. */
  readonly problem: string;

  constructor(
    member: string,
    problem: string,
    code: ClientMetadataErrorCode = 'invalid_client_metadata',
    cause?: unknown,
  ) {
    super(`${member}: ${problem}`, cause === undefined ? undefined : { cause });
    this.name = 'ClientMetadataError';
    this.member = member;
    this.problem = problem;
    this.code = code;
  }
}
