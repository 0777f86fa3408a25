import type { Form } from '../../protocol/form.ts';
import type { ClaimedCredentials } from './credentials.ts';

/**
 * Credentials in the form body (RFC 6749 §2.3.1).
 * @returns `undefined` where the body lacks one of the two
 */
export function clientSecretPost(form: Form): ClaimedCredentials | undefined {
  const clientId = form.get('client_id');
  const secret = form.get('client_secret');
  if (clientId === undefined || secret === undefined) return undefined;
  return { method: 'client_secret_post', clientId, secrets: [secret] };
}
