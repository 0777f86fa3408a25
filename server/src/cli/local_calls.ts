// The operations of the admin API on the server’s machine, for commands without --url.
import { Caller } from '../admin/caller.ts';
import { type AdminCalls, inProcess } from '../admin/in_process.ts';
import type { AdminParts, OperationParts } from '../admin/operation.ts';
import type { Warn } from '../admin/warning.ts';
import { serverWithoutDatabase } from '../instance/instance.ts';

/** @param warn receives what the operator should look at besides the outcome */
export function localCalls(
  parts: OperationParts,
  warn: Warn = () => {},
  progress?: AdminParts['progress'],
): AdminCalls {
  return inProcess({ ...localParts(parts, warn), ...(progress !== undefined && { progress }) });
}

/** What operations get on the server’s machine. */
export function localParts(parts: OperationParts, warn: Warn = () => {}): Omit<AdminParts, 'requireVersion'> {
  const { configuration, issuer } = parts;
  const settings = { ...configuration.settings, issuer };
  return {
    ...parts,
    caller: Caller.ofCommandLine(settings.adminGroup, warn),
    requireCaller: async () => {},
    ownServer: () => parts.server(),
    // A server over the database would first make its signing keys.
    clientBuilder: () => serverWithoutDatabase({ ...configuration, settings }, 'cli'),
    isReady: async () => true,
    testMail: async (address) => (await import('../mail/test_mail.ts')).testMail(parts, address),
  };
}
