import type { Act, AdministrableStorage, ClientRegistry } from '@grantd/core';
import type { ScopeTexts } from '../data/consents.ts';
import type { People } from '../data/people.ts';
import { askStorage } from '../data/tables.ts';

/** Through whom something is done: a command, or a running server. */
export type ActorKind = 'cli' | 'server';

interface Audited {
  readonly storage: AdministrableStorage;
  readonly people: People;
  readonly scopeTexts: ScopeTexts;
}

/**
 * The same parts of an instance, which record each act that has succeeded as an event. What ends tokens writes its own
 * event, in its own transaction. Clients that a server changes have registered themselves, except for the demo's.
 */
export function audited({ storage, people, scopeTexts }: Audited, kind: ActorKind): Audited {
  const record = (type: Act['type'], target: string, actor: string = kind): Promise<void> =>
    askStorage(() => storage.recordAct({ type, target, actor }));
  /** @returns the outcome, once it is recorded if it is a success */
  const recorded = async <T>(outcome: T, isDone: boolean, ...act: Parameters<typeof record>): Promise<T> => {
    if (isDone) await record(...act);
    return outcome;
  };

  return {
    storage: {
      ...storage,
      clients: auditedClients(storage.clients, record, kind),
      keys: {
        ...storage.keys,
        async rotate(currentKid, next) {
          const isDone = await storage.keys.rotate(currentKid, next);
          return recorded(isDone, isDone, 'key_rotated', currentKid);
        },
      },
    },
    people: {
      ...people,
      async add(person) {
        const added = await people.add(person);
        return recorded(added, added !== undefined, 'person_added', added?.subject ?? '');
      },
      async update(person) {
        const outcome = await people.update(person);
        return recorded(outcome, outcome === 'updated', 'person_changed', person.subject);
      },
      async setPasswordHash(subject, hash) {
        const isDone = await people.setPasswordHash(subject, hash);
        return recorded(isDone, isDone, 'person_password_set', subject);
      },
      async beginRemoval(subject, nowMs) {
        await people.beginRemoval(subject, nowMs);
        await record('person_removed', subject);
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
  };
}

/** Milliseconds. A client that registered itself could fill the database with events of its changes. */
const OWN_CHANGE_RECORDED_EVERY_MS = 60_000;

/** Clients whose last own change is remembered; whoever forgets one records its next change. */
const MOST_REMEMBERED = 10_000;

function auditedClients(
  clients: ClientRegistry,
  record: (type: Act['type'], target: string, actor?: string) => Promise<void>,
  kind: ActorKind,
): ClientRegistry {
  const actor = kind === 'server' ? 'registration' : kind;
  const ownChanges = new Map<string, number>();
  const isToBeRecorded = (clientId: string): boolean => {
    if (kind !== 'server') return true;
    const nowMs = Date.now();
    const sinceMs = Math.abs(nowMs - (ownChanges.get(clientId) ?? Number.NEGATIVE_INFINITY));
    if (sinceMs < OWN_CHANGE_RECORDED_EVERY_MS) return false;
    if (ownChanges.size >= MOST_REMEMBERED) ownChanges.clear();
    ownChanges.set(clientId, nowMs);
    return true;
  };
  return {
    ...clients,
    async add(client, mostRegistered) {
      const isDone = await clients.add(client, mostRegistered);
      if (isDone) await record('client_added', client.id, client.registrationTokenDigest ? actor : kind);
      return isDone;
    },
    async replace(client, basis) {
      const isDone = await clients.replace(client, basis);
      if (isDone && isToBeRecorded(client.id)) await record('client_changed', client.id, actor);
      return isDone;
    },
    async replaceSecrets(clientId, secrets, basis) {
      const isDone = await clients.replaceSecrets(clientId, secrets, basis);
      // A server only notes when a secret was used, and under which of its own secrets it is hashed.
      if (isDone && kind === 'cli') await record('client_secret_rotated', clientId);
      return isDone;
    },
    async remove(clientId) {
      const isDone = await clients.remove(clientId);
      if (isDone) await record('client_removed', clientId, actor);
      return isDone;
    },
  };
}
