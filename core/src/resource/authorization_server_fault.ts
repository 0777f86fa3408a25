import { DocumentError } from '../protocol/fetch_document.ts';

/** The authorization server could not be asked, or did not answer as it must. It says nothing about the token. */
export class AuthorizationServerFault extends Error {
  readonly status = 503;
  readonly headers: Readonly<Record<string, string>> = { 'cache-control': 'no-store', 'retry-after': '1' };

  constructor(cause: unknown) {
    super('the authorization server cannot be asked', { cause });
    this.name = 'AuthorizationServerFault';
  }
}

/**
 * What the authorization server was asked for.
 * @throws {AuthorizationServerFault} where `question` rejects with a `DocumentError`
 */
export async function answerOf<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    if (error instanceof DocumentError) throw new AuthorizationServerFault(error);
    throw error;
  }
}
