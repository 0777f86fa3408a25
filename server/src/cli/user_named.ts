import { type AdminCalls, call } from '../admin/in_process.ts';
import { OperationRefused } from '../admin/operation_refused.ts';
import type { User } from '../admin/users.ts';

/** The user with a name, as operators type it. @throws {OperationRefused} there is none */
export async function userNamed(admin: AdminCalls, name: string): Promise<User> {
  const { items } = await call(admin, 'listUsers', { username: name });
  const [user] = items;
  if (user === undefined)
    throw new OperationRefused('not_found', ['no_user', name], 'grantd user list shows all users.');
  return user;
}
