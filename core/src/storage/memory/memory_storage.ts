// The memory store: clients, keys, one-time identifiers, pending rows and sweeping.

import { secondsOf } from '../../platform/environment.ts';
import { hasResource, type SigningAlgorithm } from '../../protocol/client_metadata.ts';
import {
  anyFunction,
  anyText,
  type KindsOf,
  oneOf,
  requireKinds,
  trueOrFalse,
  wholeNumber,
} from '../../protocol/option_kinds.ts';
import type { PendingKind } from '../../protocol/pending.ts';
import { MOST_ALIVE, NO_TOKEN, withResources } from '../../protocol/record_rules.ts';
import type { ApiRecord, ClientRecord, GrantRecord, KeyRecord } from '../../protocol/records.ts';
import { originOf } from '../../protocol/redirect_uri.ts';
import { requireClientRecord } from '../client_record.ts';
import type {
  AdministrableClients,
  AdministrableStorage,
  ClientBasis,
  KeyRepository,
  OneTimeIdentifiers,
  PendingRepository,
  PrincipalState,
  RevocationTarget,
} from '../contract.ts';
import { asFault, ContractBreach, unguarded } from '../faults.ts';
import {
  canContinue,
  DEFAULT_EVENT_RETENTION_SECONDS,
  EXCHANGE_END_MARGIN,
  RETIRED_KEY_SECONDS,
} from '../issuing.ts';
import {
  addEvent,
  type CodeRow,
  emptyTables,
  exchangeKey,
  type GrantRow,
  type Grants,
  isTaken,
  type MemoryHandle,
  memoryAuthorizationCodes,
  memoryIssuing,
  memoryPrincipals,
  memoryRevoking,
  memoryTokens,
  type PrincipalRow,
  type Principals,
  principalKey,
  type RevokeBy,
  type Revoking,
  remember,
  snapshot,
  type TokenRow,
} from './tokens.ts';

export interface MemoryStorageOptions {
  /** The issuer of the records, for messages; one memory store has one issuer. */
  readonly issuer?: string;
  /** Returns milliseconds since 1970. Default: the system clock. */
  readonly clock?: () => number;
  /** How a revocation is stored. Default: `flag`. */
  readonly revokeBy?: RevokeBy;
  /**
   * Whether the store has `isAccessTokenRevoked`. Its records then do not contain revocations, like those of a host
   * that stores revocations separately.
   */
  readonly answersIsAccessTokenRevoked?: boolean;
  /** The age in seconds at which events are swept. Default: 30 days. */
  readonly eventRetentionSeconds?: number;
}

const OPTIONS: KindsOf<MemoryStorageOptions> = {
  issuer: anyText,
  clock: anyFunction,
  revokeBy: oneOf('flag', 'deletion', 'zero_expiry'),
  answersIsAccessTokenRevoked: trueOrFalse,
  eventRetentionSeconds: wholeNumber(0, Number.MAX_SAFE_INTEGER),
};

/**
 * Opens a store in the memory of this process, for tests and for hosts that can lose their tokens at a restart. Its
 * operations run synchronously, so each is atomic.
 */
export function memoryStorage(options: MemoryStorageOptions = {}): AdministrableStorage {
  requireKinds(options, OPTIONS);
  const { revokeBy = 'flag', answersIsAccessTokenRevoked: tellsRevokedByMethod = false } = options;
  const tables = emptyTables();
  let isClosed = false;
  const handle: MemoryHandle = {
    clock: options.clock ?? Date.now,
    tables() {
      if (isClosed)
        throw asFault(new Error(`the memory store of ${options.issuer ?? 'this server'} is closed`));
      return tables;
    },
  };

  const principals = memoryPrincipals(handle);
  const raisesGrants = revokeBy === 'flag' && !tellsRevokedByMethod;
  const revoking = memoryRevoking(handle, principals, revokeBy, raisesGrants);
  const grants = memoryGrants(handle, principals, revoking);
  const issuing = memoryIssuing(handle, principals, grants);

  const clients = unguarded(memoryClients(handle, principals));
  return {
    clients,
    keys: unguarded(memoryKeys(handle)),
    tokens: unguarded({
      ...memoryTokens(handle, { issuing, principals, revoking, tellsRevokedByMethod }),
      joinedClients: clients,
    }),
    authorizationCodes: unguarded(
      memoryAuthorizationCodes(handle, { issuing, grants, principals, revoking }),
    ),
    oneTimeIdentifiers: unguarded(memoryOneTimeIdentifiers(handle)),
    pending: unguarded(memoryPending(handle)),
    ...memoryAdministration(handle, principals),
    grantsOf: grants.grantsOf,
    revokeGrants: grants.revokeGrants,
    sweep: memorySweep(handle, options.eventRetentionSeconds ?? DEFAULT_EVENT_RETENTION_SECONDS),
    close() {
      isClosed = true;
    },
  };
}

function memoryGrants(handle: MemoryHandle, principals: Principals, revoking: Revoking): Grants {
  const { tables, clock } = handle;

  const isUnrevoked = ({ record, generations }: GrantRow): boolean => {
    const { standing = {} } = principals.standingsOf({ ...record, grantId: record.id }, generations);
    const keepUntil = principals.find('grant', record.id)?.keepUntil ?? 0;
    return (
      keepUntil * 1000 > clock() &&
      Object.values(standing).every(
        ({ copied, current, disabledAtMs }) => copied >= current && disabledAtMs === undefined,
      )
    );
  };

  const unrevokedOf = (subject: string): readonly GrantRecord[] =>
    [...tables().grants.values()]
      .filter((row) => row.record.subject === subject && isUnrevoked(row))
      .map(({ record }) => record);

  const isLeft = ({ record, generations }: TokenRow | CodeRow): boolean =>
    canContinue({ ...record, ...principals.standingsOf(record, generations) }, clock());

  /** Exchanged tokens live only as long as another one. */
  const leftTokensOf = (grantId: string) =>
    [...tables().tokens.values()].filter(
      (row) =>
        row.record.grantId === grantId &&
        row.record.supersededAtMs === undefined &&
        row.record.ancestors === undefined &&
        isLeft(row),
    );

  const hasUse = ({ id }: GrantRecord): boolean => {
    const { authorizationCodes } = tables();
    return (
      leftTokensOf(id).length > 0 ||
      [...authorizationCodes.values()].some(
        (row) => row.record.grantId === id && row.record.redeemedAtMs === undefined && isLeft(row),
      )
    );
  };

  return {
    begin({ grantId, clientId, subject, scopes, sessionId, issuedAtMs }, generations) {
      const { grants } = tables();
      if (grantId === undefined || subject === undefined) return;
      const known = grants.get(grantId);
      if (known !== undefined && isUnrevoked(known)) return;
      const record = snapshot({
        id: grantId,
        clientId,
        subject,
        scopes,
        ...(sessionId !== undefined && { sessionId }),
        createdAtMs: issuedAtMs,
      });
      grants.set(grantId, { record, generations });
    },
    grantsOf(subject) {
      const resourcesOf = ({ id }: GrantRecord) =>
        leftTokensOf(id).flatMap(({ record }) => record.resources ?? []);
      return unrevokedOf(subject)
        .filter(hasUse)
        .toSorted(newestFirst)
        .map((grant) => withResources(grant, resourcesOf(grant)));
    },
    revokeGrants(subject, clientId) {
      const ended = unrevokedOf(subject).filter((grant) => grant.clientId === clientId);
      for (const { id } of ended) {
        principals.raise('grant', id);
        addEvent(handle, 'grant_revoked', id);
      }
      const { clients, tokens, exchangeEnds } = tables();
      if (clients.has(clientId)) {
        const keptUntil = [...tokens.values()].map(({ keepUntil }) => keepUntil);
        const keepUntil =
          EXCHANGE_END_MARGIN + keptUntil.reduce((one, other) => Math.max(one, other), secondsOf(clock()));
        exchangeEnds.set(exchangeKey(clientId, subject), { endedAtMs: clock(), keepUntil });
      }
      const isExchanged = ({ record }: TokenRow) =>
        record.subject === subject && record.clientId === clientId && record.ancestors !== undefined;
      const exchanged = [...tokens.values()].filter(
        (row) => isExchanged(row) && row.record.expiresAt * 1000 > clock(),
      );
      const revoked = revoking.endTokens(exchanged);
      if (revoked > 0) addEvent(handle, 'exchanges_revoked', clientId);
      return ended.length + revoked;
    },
  };
}

function newestFirst(one: GrantRecord, other: GrantRecord): number {
  return other.createdAtMs - one.createdAtMs || (one.id < other.id ? 1 : -1);
}

type Administration = Pick<
  AdministrableStorage,
  | 'revokeAll'
  | 'countAlive'
  | 'aliveOfClient'
  | 'setDisabled'
  | 'getPrincipalState'
  | 'disabledSubjects'
  | 'recordAct'
  | 'eventsAfter'
>;

function memoryAdministration(handle: MemoryHandle, principals: Principals): Administration {
  const { tables, clock } = handle;

  const isAlive = ({ record, generations }: TokenRow): boolean =>
    record.supersededAtMs === undefined &&
    record.tokenType !== NO_TOKEN &&
    canContinue({ ...record, ...principals.standingsOf(record, generations) }, clock());

  return {
    revokeAll(target) {
      const held = tables();
      if ('issuedBeforeMs' in target) {
        if (target.issuedBeforeMs <= (held.notBeforeMs ?? 0)) return false;
        held.notBeforeMs = target.issuedBeforeMs;
        addEvent(handle, 'issued_before_revoked', String(target.issuedBeforeMs));
        return true;
      }
      if (!principals.raise(target.principal, target.id)) return false;
      addEvent(handle, `${target.principal}_revoked`, target.id);
      return true;
    },
    countAlive(target) {
      const alive = [...tables().tokens.values()].filter((row) => isOf(target, row.record) && isAlive(row));
      const count = Math.min(alive.length, MOST_ALIVE);
      return { count, hasMore: count < alive.length };
    },
    aliveOfClient(clientId, most) {
      const rows = [...tables().tokens.values()].filter(
        (row) => row.record.clientId === clientId && isAlive(row),
      );
      return { tokens: rows.slice(0, most).map(({ record }) => record), hasMore: rows.length > most };
    },
    setDisabled(principal, id, disabled) {
      if (!principals.setDisabled(principal, id, disabled)) return;
      addEvent(handle, `${principal}_${disabled ? 'disabled' : 'enabled'}`, id);
    },
    getPrincipalState(principal, id) {
      const row = principals.find(principal, id);
      return row && principalState(row);
    },
    disabledSubjects(subjects) {
      const states = subjects.map((id) => [id, principals.find('subject', id)?.disabledAtMs] as const);
      return new Map(states.filter((state): state is readonly [string, number] => state[1] !== undefined));
    },
    recordAct({ type, target, actor }) {
      addEvent(handle, type, target, actor);
    },
    eventsAfter(sequence, limit) {
      return tables()
        .events.filter((event) => event.sequence > sequence)
        .slice(0, limit);
    },
  };
}

function principalState({ raisedAtMs, disabledAtMs }: PrincipalRow): PrincipalState {
  return {
    ...(raisedAtMs !== undefined && { raisedAtMs }),
    ...(disabledAtMs !== undefined && { disabledAtMs }),
  };
}

function isOf(target: RevocationTarget, token: TokenRow['record']): boolean {
  if ('issuedBeforeMs' in target) return token.issuedAtMs < target.issuedBeforeMs;
  const { clientId: client, subject, sessionId: session, grantId: grant } = token;
  return { client, subject, session, grant }[target.principal] === target.id;
}

function memoryClients(handle: MemoryHandle, principals: Principals): AdministrableClients {
  const { tables } = handle;
  const withGeneration = (client: ClientRecord): ClientRecord => {
    const { generation = 0, disabledAtMs } = principals.find('client', client.id) ?? {};
    return { ...client, generation, ...(disabledAtMs !== undefined && { disabledAtMs }) };
  };

  const isAsRead = (client: ClientRecord, { generation = 0, revision = 0 }: ClientBasis): boolean =>
    client.revision === revision && withGeneration(client).generation === generation;

  const enabled = (): ClientRecord[] =>
    [...tables().clients.values()].filter(
      ({ id }) => principals.find('client', id)?.disabledAtMs === undefined,
    );

  const removeOne = (id: string): boolean => {
    const held = tables();
    held.registeredFrom.delete(id);
    const generation = principals.find('client', id)?.generation ?? 0;
    if (!held.clients.delete(id)) return false;
    held.principals.delete(principalKey('client', id));
    held.firstClientGeneration = Math.max(held.firstClientGeneration, generation + 1);
    addEvent(handle, 'client_revoked', id);
    return true;
  };

  return {
    get(id) {
      const client = tables().clients.get(id);
      return client && withGeneration(client);
    },
    hasRedirectOrigin(origin) {
      return enabled().some(({ redirectUris }) => redirectUris.some((uri) => originOf(uri) === origin));
    },
    findApis({ resources, scopes }) {
      const isNamed = (api: ApiRecord) =>
        hasResource(resources, api.resource) || api.scopes.some((scope) => scopes.includes(scope));
      return enabled().flatMap(apiOf).filter(isNamed);
    },
    add(client, limits, once) {
      requireClientRecord(client);
      const { clients, registeredFrom, principals: generations, firstClientGeneration } = tables();
      if (clients.has(client.id)) return false;
      const { mostRegistered = Infinity, from } = limits ?? {};
      const registered = [...clients.values()].filter((other) => other.registrationTokenDigest !== undefined);
      if (registered.length >= mostRegistered) return false;
      const places = [...registeredFrom.values()];
      if (from && places.filter((place) => place === from.place).length >= from.most) return false;
      if (isTaken(handle, once)) return 'already_used';
      remember(handle, once);
      if (from) registeredFrom.set(client.id, from.place);
      clients.set(client.id, snapshot({ ...client, revision: 0, registrationRevision: 0 }));
      const generation = firstClientGeneration;
      generations.set(principalKey('client', client.id), { generation, keepUntil: Infinity });
      return true;
    },
    list() {
      const ids = [...tables().clients.values()];
      return ids.map(withGeneration).sort((one, other) => (one.id < other.id ? -1 : 1));
    },
    replaceSecrets(id, secrets, basis) {
      const client = tables().clients.get(id);
      if (client?.secrets === undefined || !isAsRead(client, basis)) return false;
      tables().clients.set(id, snapshot({ ...client, secrets, revision: after(client.revision) }));
      return true;
    },
    replace(client, basis) {
      requireClientRecord(client);
      const { clients } = tables();
      const stored = clients.get(client.id);
      if (stored === undefined || !isAsRead(stored, basis)) return false;
      const revision = after(stored.revision);
      const registrationRevision = after(stored.registrationRevision);
      const used = stored.usedUntil === undefined ? {} : { usedUntil: stored.usedUntil };
      clients.set(client.id, snapshot({ ...client, ...used, revision, registrationRevision }));
      return true;
    },
    listUnused: (since, limit) =>
      enabled()
        .filter((client) => isUnused(client, since))
        .sort((one, other) => lastUseOf(one) - lastUseOf(other))
        .slice(0, limit)
        .map(withGeneration),
    noteUse(id, until) {
      const client = tables().clients.get(id);
      if (client?.registeredAt === undefined || (client.usedUntil ?? 0) >= until) return;
      tables().clients.set(id, snapshot({ ...client, usedUntil: until }));
    },
    noteDocument(id, validAt) {
      const client = tables().clients.get(id);
      if (client?.documentValidAt === undefined || client.documentValidAt >= validAt) return;
      tables().clients.set(id, snapshot({ ...client, documentValidAt: validAt }));
    },
    remove(id, unusedSince) {
      const isKept = (since: number) => !enabled().some((one) => one.id === id && isUnused(one, since));
      if (unusedSince !== undefined && isKept(unusedSince)) return false;
      return removeOne(id);
    },
    removeAll: (ids) => ids.filter(removeOne).length,
  };
}

/** Whether a client is unused, as `ClientRegistry.listUnused` says. Only of enabled clients. */
function isUnused(client: ClientRecord, since: number): boolean {
  const { registrationTokenDigest, documentValidAt, resource, metadata } = client;
  const isOwn = (registrationTokenDigest ?? documentValidAt) !== undefined && resource === undefined;
  return isOwn && metadata?.set_by_operator === undefined && lastUseOf(client) < since;
}

function lastUseOf({ usedUntil, registeredAt = Infinity }: ClientRecord): number {
  return usedUntil ?? registeredAt;
}

function apiOf({ id: clientId, resource, metadata }: ClientRecord): readonly ApiRecord[] {
  return resource === undefined ? [] : [{ clientId, resource, scopes: metadata?.api_scopes ?? [] }];
}

function after(revision = 0): number {
  return revision + 1;
}

function memoryKeys({ tables, clock }: MemoryHandle): Required<KeyRepository> {
  const find = (algorithm: SigningAlgorithm, status: KeyRecord['status']): KeyRecord | undefined =>
    [...tables().keys.values()].find(
      ({ record }) => record.algorithm === algorithm && record.status === status,
    )?.record;

  /** Stores a key that is needed until `neededUntil` (seconds) at least, and no shorter than before. */
  const set = (record: KeyRecord, neededUntil = 0): void => {
    const { keys } = tables();
    const before = keys.get(record.kid)?.neededUntil ?? 0;
    keys.set(record.kid, { record: snapshot(record), neededUntil: Math.max(before, neededUntil) });
  };

  return {
    get: (kid) => tables().keys.get(kid)?.record,
    list() {
      return [...tables().keys.values()]
        .map(({ record }) => record)
        .sort((one, other) => one.createdAtMs - other.createdAtMs || (one.kid < other.kid ? -1 : 1));
    },
    currentKeyId(algorithm) {
      return find(algorithm, 'current')?.kid;
    },
    initialize(keys) {
      const missing = keys.filter(({ algorithm }) => find(algorithm, 'current') === undefined);
      for (const key of missing) set(key);
    },
    rotate(currentKid, next) {
      const current = tables().keys.get(currentKid)?.record;
      if (current?.status !== 'current') return false;
      if (next.algorithm !== current.algorithm || next.status !== 'next') {
        throw new ContractBreach(
          `the key to follow ${currentKid} must be a next one for ${current.algorithm}`,
        );
      }
      const promoted = find(current.algorithm, 'next');
      if (promoted === undefined) throw new Error(`no key is ready to follow ${currentKid}`);

      // `neededUntil` already covers the tokens that the key has signed: each issuance updates it.
      const nowMs = clock();
      const retired = { ...current, status: 'retired', retiredAtMs: nowMs } as const;
      set(retired, Math.floor(nowMs / 1000) + RETIRED_KEY_SECONDS);
      set({ ...promoted, status: 'current' });
      set(next);
      return true;
    },
    reseal(kid, sealed, resealed) {
      const record = tables().keys.get(kid)?.record;
      if (record?.sealedPrivateKey !== sealed) return false;
      set({ ...record, sealedPrivateKey: resealed });
      return true;
    },
  };
}

function memoryOneTimeIdentifiers(handle: MemoryHandle): OneTimeIdentifiers {
  return {
    take(id, expiresAt) {
      if (isTaken(handle, { id, expiresAt })) return false;
      remember(handle, { id, expiresAt });
      return true;
    },
  };
}

function memoryPending({ tables }: MemoryHandle): PendingRepository {
  const keyOf = (kind: PendingKind, id: string): string => `${kind} ${id}`;
  const get = (kind: PendingKind, id: string) => tables().pending.get(keyOf(kind, id));
  const getByOtherId = (kind: PendingKind, otherId: string) =>
    [...tables().pending.values()].find((row) => row.kind === kind && row.otherId === otherId);
  return {
    add(row) {
      const { kind, id, otherId } = row;
      if (get(kind, id) ?? (otherId && getByOtherId(kind, otherId))) return false;
      tables().pending.set(keyOf(kind, id), snapshot({ ...row, version: 0 }));
      return true;
    },
    get,
    getByOtherId,
    take(kind, id) {
      const row = get(kind, id);
      tables().pending.delete(keyOf(kind, id));
      return row;
    },
    change({ kind, id, data, version, expiresAt }) {
      const row = get(kind, id);
      if (row?.version !== version) return false;
      tables().pending.set(keyOf(kind, id), snapshot({ ...row, data, version: version + 1, expiresAt }));
      return true;
    },
  };
}

/**
 * Deletes rows that are no longer needed.
 * @param eventRetentionSeconds the age at which events are deleted
 */
function memorySweep(
  { tables, clock }: MemoryHandle,
  eventRetentionSeconds: number,
): (limit: number, untilMs?: number) => number {
  return (limit, untilMs = Infinity) => {
    const held = tables();
    const { tokens, authorizationCodes, principals, grants, keys, events } = held;
    const nowMs = Math.min(clock(), untilMs);
    const isOver = (seconds: number): boolean => seconds * 1000 <= nowMs;

    let swept = 0;
    swept += deleteWhere(tokens, ({ keepUntil }) => isOver(keepUntil), limit);
    swept += deleteWhere(authorizationCodes, ({ keepUntil }) => isOver(keepUntil), limit);
    swept += deleteWhere(principals, ({ keepUntil }) => isOver(keepUntil), limit);
    swept += deleteWhere(grants, ({ record }) => !principals.has(principalKey('grant', record.id)), limit);
    const isForgotten = (until: number): boolean => {
      if (!isOver(until)) return false;
      held.forgottenUntil = Math.max(held.forgottenUntil, until);
      return true;
    };
    swept += deleteWhere(held.oneTimeIdentifiers, isForgotten, limit);
    swept += deleteWhere(held.exchangeEnds, ({ keepUntil }) => isOver(keepUntil), limit);
    swept += deleteWhere(held.pending, ({ expiresAt }) => isOver(expiresAt), limit);

    const signingKeys = new Set([...tokens.values()].map(({ record }) => record.keyId));
    swept += deleteWhere(
      keys,
      ({ record, neededUntil }) =>
        record.status === 'retired' && isOver(neededUntil) && !signingKeys.has(record.kid),
      limit,
    );

    const kept = events.findIndex(({ atMs }) => atMs > nowMs - eventRetentionSeconds * 1000);
    return swept + events.splice(0, Math.min(limit, kept === -1 ? events.length : kept)).length;
  };
}

function deleteWhere<V>(table: Map<string, V>, isSwept: (value: V) => boolean, limit: number): number {
  let deleted = 0;
  for (const [key, value] of table) {
    if (deleted === limit) break;
    if (isSwept(value) && table.delete(key)) deleted += 1;
  }
  return deleted;
}
