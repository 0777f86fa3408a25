import { type Act, type AdministrableStorage, type ClientRegistry, unguarded } from '@grantd/core';
import type { ScopeTexts } from '../data/consents.ts';
import type { Factors } from '../data/factors.ts';
import type { Groups, Membership } from '../data/groups.ts';
import type { People } from '../data/people.ts';
import { askStorage } from '../data/tables.ts';
import type { UpstreamIdentities, UpstreamIdentity } from '../data/upstream_identities.ts';

/** What makes a change: a command, a running server, the caller of its admin API, or an operator in its console. */
export type ActorKind = 'cli' | 'server' | `api:${string}` | `console:${string}`;

/** The parts of an instance that record changes. */
export interface Audited extends Recorded {
  /** The same people, for changes that users make to themselves: the actor is `user`. */
  readonly ownPeople: People;
  /** The same factors, likewise. */
  readonly ownFactors: Factors;
}

interface Recorded {
  readonly storage: AdministrableStorage;
  readonly people: People;
  readonly groups: Groups;
  readonly scopeTexts: ScopeTexts;
  readonly upstreamIdentities: UpstreamIdentities;
  readonly factors: Factors;
}

/**
 * Wraps parts of an instance so that every successful change is recorded as an event. Revocations record their own
 * event in their own transaction. A server only changes self-registered clients and those of the demo.
 */
export function audited(
  { storage, people, groups, scopeTexts, upstreamIdentities, factors }: Recorded,
  kind: ActorKind,
): Audited {
  const record = (type: Act['type'], target: string, actor: string = kind): Promise<void> =>
    askStorage(() => storage.recordAct({ type, target, actor }));
  /** @returns the outcome, after recording it if it is a success */
  const recorded = async <T>(outcome: T, isDone: boolean, ...act: Parameters<typeof record>): Promise<T> => {
    if (isDone) await record(...act);
    return outcome;
  };

  const peopleAs = (actor: string): People => ({
    ...people,
    async add(...given) {
      const added = await people.add(...given);
      return recorded(added, added !== undefined, 'person_added', added?.subject ?? '', actor);
    },
    async update(person) {
      const outcome = await people.update(person);
      return recorded(outcome, outcome === 'updated', 'person_changed', person.subject, actor);
    },
    async setPasswordHash(subject, hash, from, notice) {
      const isDone = await people.setPasswordHash(subject, hash, from, notice);
      return recorded(isDone, isDone, 'person_password_set', subject, actor);
    },
    async setDirectoryId(subject, id) {
      const isDone = await people.setDirectoryId(subject, id);
      return recorded(isDone, isDone, 'person_changed', subject, actor);
    },
    // One event for a transaction: fifty thousand events would bury those of revocations.
    async addImported(imported, importId) {
      const added = await people.addImported(imported, importId);
      return recorded(added, added.includes(true), 'people_imported', importId, actor);
    },
    async beginRemoval(subject, nowMs) {
      await people.beginRemoval(subject, nowMs);
      await record('person_removed', subject, actor);
    },
  });

  const factorsAs = (actor: string): Factors => ({
    ...factors,
    async addPasskey(passkey, notice) {
      const isDone = await factors.addPasskey(passkey, notice);
      return recorded(isDone, isDone, 'person_factor_added', passkey.subject, actor);
    },
    async removePasskey(subject, id, notice) {
      const isDone = await factors.removePasskey(subject, id, notice);
      return recorded(isDone, isDone, 'person_factor_removed', subject, actor);
    },
    async addTotp(subject, totp, step, notice) {
      const isDone = await factors.addTotp(subject, totp, step, notice);
      return recorded(isDone, isDone, 'person_factor_added', subject, actor);
    },
    async removeTotp(subject, notice) {
      const isDone = await factors.removeTotp(subject, notice);
      return recorded(isDone, isDone, 'person_factor_removed', subject, actor);
    },
    async setRecoveryCodes(subject, digests, nowMs, notice) {
      const isDone = await factors.setRecoveryCodes(subject, digests, nowMs, notice);
      return recorded(isDone, isDone, 'person_recovery_codes_made', subject, actor);
    },
    async useRecoveryCode(subject, digest) {
      const isDone = await factors.useRecoveryCode(subject, digest);
      return recorded(isDone, isDone, 'person_recovery_code_used', subject, actor);
    },
    async reset(subject, notice) {
      const isDone = await factors.reset(subject, notice);
      return recorded(isDone, isDone, 'person_factors_reset', subject, actor);
    },
  });

  return {
    storage: {
      ...storage,
      clients: auditedClients(storage.clients, record, kind),
      keys: unguarded(
        {
          ...storage.keys,
          async rotate(currentKid, next) {
            const isDone = await storage.keys.rotate(currentKid, next);
            return recorded(isDone, isDone, 'key_rotated', currentKid);
          },
        },
        storage.keys,
      ),
    },
    people: peopleAs(kind),
    ownPeople: peopleAs('user'),
    groups: {
      ...groups,
      async add(group, nowMs) {
        const isDone = await groups.add(group, nowMs);
        return recorded(isDone, isDone, 'group_added', group.name);
      },
      async change(name, ...versions) {
        const isDone = await groups.change(name, ...versions);
        return recorded(isDone, isDone, 'group_changed', name);
      },
      async remove(name) {
        const isDone = await groups.remove(name);
        return recorded(isDone, isDone, 'group_removed', name);
      },
      async addMember(membership, nowMs) {
        const isDone = await groups.addMember(membership, nowMs);
        return recorded(isDone, isDone, 'group_member_added', targetOf(membership));
      },
      async beginEnd(membership, ...rest) {
        const isDone = await groups.beginEnd(membership, ...rest);
        return recorded(isDone, isDone, 'group_member_removed', targetOf(membership));
      },
    },
    scopeTexts: {
      ...scopeTexts,
      async add(text) {
        const isDone = await scopeTexts.add(text);
        return recorded(isDone, isDone, 'scope_texts_changed', text.scope);
      },
      async replace(before, texts) {
        const isDone = await scopeTexts.replace(before, texts);
        return recorded(isDone, isDone, 'scope_texts_changed', before.scope);
      },
      async remove(text) {
        const isDone = await scopeTexts.remove(text);
        return recorded(isDone, isDone, 'scope_texts_changed', text.scope);
      },
    },
    upstreamIdentities: {
      ...upstreamIdentities,
      async link(identity, subject, nowMs, notice) {
        const linked = await upstreamIdentities.link(identity, subject, nowMs, notice);
        return recorded(linked, linked !== undefined, 'person_linked', linkTarget(linked), 'user');
      },
      async addPerson(identity, person, nowMs) {
        const added = await upstreamIdentities.addPerson(identity, person, nowMs);
        if (added === undefined) return undefined;
        await record('person_added', added.person.subject, 'user');
        return recorded(added, true, 'person_linked', linkTarget(added.identity), 'user');
      },
      async unlink(id, subject, evenLast, notice) {
        const unlinked = await upstreamIdentities.unlink(id, subject, evenLast, notice);
        const actor = kind === 'cli' ? kind : 'user';
        return recorded(unlinked, unlinked !== undefined, 'person_unlinked', linkTarget(unlinked), actor);
      },
    },
    factors: factorsAs(kind),
    ownFactors: factorsAs('user'),
  };
}

/** `PROVIDER/SUBJECT`. Neither contains a slash. */
function linkTarget(identity: UpstreamIdentity | undefined): string {
  return identity === undefined ? '' : `${identity.provider}/${identity.subject}`;
}

/** `GROUP/SUBJECT`. Subject identifiers contain no slash. */
function targetOf({ group, subject }: Membership): string {
  return `${group}/${subject}`;
}

/** Milliseconds. Limits the events of self-registered clients, which could otherwise fill the database. */
const OWN_CHANGE_RECORDED_EVERY_MS = 60_000;

/** Maximum clients whose last change is known. Beyond it, the next change of each client is recorded. */
const MAX_TRACKED_CLIENTS = 10_000;

function auditedClients(
  clients: ClientRegistry,
  record: (type: Act['type'], target: string, actor?: string) => Promise<void>,
  kind: ActorKind,
): ClientRegistry {
  const actor = kind === 'server' ? 'registration' : kind;
  const ownChanges = new Map<string, number>();
  const shouldRecord = (clientId: string): boolean => {
    if (kind !== 'server') return true;
    const nowMs = Date.now();
    const sinceMs = Math.abs(nowMs - (ownChanges.get(clientId) ?? Number.NEGATIVE_INFINITY));
    if (sinceMs < OWN_CHANGE_RECORDED_EVERY_MS) return false;
    if (ownChanges.size >= MAX_TRACKED_CLIENTS) ownChanges.clear();
    ownChanges.set(clientId, nowMs);
    return true;
  };
  const recording: ClientRegistry = {
    ...clients,
    async add(client, mostRegistered) {
      const isDone = await clients.add(client, mostRegistered);
      if (isDone) await record('client_added', client.id, client.registrationTokenDigest ? actor : kind);
      return isDone;
    },
    async replace(client, basis) {
      const isDone = await clients.replace(client, basis);
      if (isDone && shouldRecord(client.id)) await record('client_changed', client.id, actor);
      return isDone;
    },
    async replaceSecrets(clientId, secrets, basis) {
      const isDone = await clients.replaceSecrets(clientId, secrets, basis);
      // A server only records a secret’s last use and the server secret under which it is hashed.
      if (isDone && kind !== 'server') await record('client_secret_rotated', clientId);
      return isDone;
    },
    async remove(clientId) {
      const isDone = await clients.remove(clientId);
      if (isDone) await record('client_removed', clientId, actor);
      return isDone;
    },
  };
  return unguarded(recording, clients);
}
