import type { Form } from '../../protocol/form.ts';
import type { ClaimedCredentials } from './credentials.ts';

/**
 * A public client, which only names itself (RFC 6749 §3.2.1).
 * @returns `undefined` where it does not
 */
export function none(form: Form): ClaimedCredentials | undefined {
  const clientId = form.get('client_id');
  return clientId === undefined ? undefined : { method: 'none', clientId, secrets: [] };
}
