import {
  anyFunction,
  anyText,
  type KindsOf,
  oneOf,
  requireKinds,
  trueOrFalse,
  wholeNumber,
} from '../../protocol/option_kinds.ts';
import type { AdministrableStorage } from '../contract.ts';
import { DEFAULT_EVENT_RETENTION_SECONDS } from '../retention.ts';
import { memoryAdministration } from './administration.ts';
import { memoryAuthorizationCodes } from './authorization_codes.ts';
import { memoryClients } from './clients.ts';
import { memoryGrants } from './grants.ts';
import { memoryIssuing } from './issuing.ts';
import { memoryKeys } from './keys.ts';
import { memoryOneTimeIdentifiers } from './one_time_identifiers.ts';
import { memoryPrincipals } from './principals.ts';
import { memoryPushedRequests } from './pushed_requests.ts';
import { memoryRevoking, type RevokeBy } from './revoking.ts';
import { memorySweep } from './sweep.ts';
import { emptyTables, type MemoryHandle } from './tables.ts';
import { memoryTokens } from './tokens.ts';

export interface MemoryStorageOptions {
  /** Whose records these are, for messages; one memory store is one issuer's. */
  readonly issuer?: string;
  /** Milliseconds; the system's clock unless said otherwise. */
  readonly clock?: () => number;
  /** How a revocation is stored; `flag` unless said otherwise. */
  readonly revokeBy?: RevokeBy;
  /**
   * Whether the store has `isAccessTokenRevoked`. Its revoked records then say nothing of it themselves, as with a
   * host that keeps revocations apart from its tokens.
   */
  readonly answersIsAccessTokenRevoked?: boolean;
  /** Age in seconds at which events are swept; 30 days unless said otherwise. */
  readonly eventRetentionSeconds?: number;
}

/**
 * A store in the memory of this process, for tests and for hosts that can lose their tokens with a restart. Its
 * operations run at once, so each is atomic.
 */
const OPTIONS: KindsOf<MemoryStorageOptions> = {
  issuer: anyText,
  clock: anyFunction,
  revokeBy: oneOf('flag', 'deletion', 'zero_expiry'),
  answersIsAccessTokenRevoked: trueOrFalse,
  eventRetentionSeconds: wholeNumber(0, Number.MAX_SAFE_INTEGER),
};

export function memoryStorage(options: MemoryStorageOptions = {}): AdministrableStorage {
  requireKinds(options, OPTIONS);
  const { revokeBy = 'flag', answersIsAccessTokenRevoked: tellsRevokedByMethod = false } = options;
  const tables = emptyTables();
  let isClosed = false;
  const handle: MemoryHandle = {
    clock: options.clock ?? Date.now,
    tables() {
      if (isClosed) throw new Error(`the memory store of ${options.issuer ?? 'this server'} is closed`);
      return tables;
    },
  };

  const principals = memoryPrincipals(handle);
  const grants = memoryGrants(handle, principals);
  const issuing = memoryIssuing(handle, principals, grants);
  const raisesGrants = revokeBy === 'flag' && !tellsRevokedByMethod;
  const revoking = memoryRevoking(handle, principals, revokeBy, raisesGrants);

  return {
    clients: memoryClients(handle, principals),
    keys: memoryKeys(handle),
    tokens: memoryTokens(handle, { issuing, principals, revoking, tellsRevokedByMethod }),
    authorizationCodes: memoryAuthorizationCodes(handle, { issuing, grants, principals, revoking }),
    oneTimeIdentifiers: memoryOneTimeIdentifiers(handle),
    pushedRequests: memoryPushedRequests(handle),
    ...memoryAdministration(handle, principals),
    grantsOf: grants.grantsOf,
    revokeGrants: grants.revokeGrants,
    sweep: memorySweep(handle, options.eventRetentionSeconds ?? DEFAULT_EVENT_RETENTION_SECONDS),
    close() {
      isClosed = true;
    },
  };
}
