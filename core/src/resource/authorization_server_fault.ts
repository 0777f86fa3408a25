import { DocumentError } from '../protocol/fetch_document.ts';
import { StorageFault } from '../protocol/oauth_error.ts';

/** The authorization server could not be asked, or did not answer as it must. It says nothing about the token. */
export class AuthorizationServerFault extends Error {
  readonly status = 503;
  readonly headers: Readonly<Record<string, string>> = { 'cache-control': 'no-store', 'retry-after': '1' };

  constructor(cause: unknown) {
    super('the authorization server cannot be asked', { cause });
    this.name = 'AuthorizationServerFault';
  }
}

/** What kept an authorization server from answering, elsewhere or in the same process, as that fault; else the same. */
export function asFault(error: unknown): unknown {
  const isOutage = error instanceof DocumentError || error instanceof StorageFault;
  return isOutage ? new AuthorizationServerFault(error) : error;
}

/**
 * What the authorization server was asked for.
 * @throws {AuthorizationServerFault} it could not be asked, or its storage could not
 */
export async function answerOf<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    throw asFault(error);
  }
}
