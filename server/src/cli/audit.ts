import type { Command } from 'commander';
import { type AdminCalls, call } from '../admin/in_process.ts';
import { OperationRefused } from '../admin/operation_refused.ts';
import type { Input } from '../admin/table.ts';
import { Refused } from '../config/refused.ts';
import { operationCommands } from './operation_commands.ts';
import { userNamed } from './user_named.ts';

export function auditCommands(): Command {
  return operationCommands(
    'audit',
    'read the audit trail, which records who changed what, and prove that no record is missing',
    { listAudit: { ifEmpty: requireKnown } },
  );
}

/** @throws {OperationRefused} there is no such user or client */
async function requireKnown(
  { subject, client_id: clientId }: Input<'listAudit'>,
  admin: AdminCalls,
): Promise<void> {
  const isUnknown =
    subject !== undefined && (await refusalOf(() => call(admin, 'getUser', { sub: subject }))) !== undefined;
  const refusal =
    (isUnknown ? await refusalOf(() => userNamed(admin, subject)) : undefined) ??
    (clientId === undefined
      ? undefined
      : await refusalOf(() => call(admin, 'getClient', { client_id: clientId })));
  if (refusal !== undefined) throw refusal;
}

/** @returns `undefined` if the thing exists, or the caller may not look it up */
async function refusalOf(lookUp: () => Promise<unknown>): Promise<OperationRefused | undefined> {
  try {
    await lookUp();
  } catch (error) {
    if (error instanceof OperationRefused && error.kind === 'not_found') return error;
    if (!(error instanceof Refused)) throw error;
  }
  return undefined;
}
