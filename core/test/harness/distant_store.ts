import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AdministrableStorage } from '@grantd/core';
import type { StoreKind } from './stores.ts';

/**
 * A store as over a network: every call and every result takes some ticks of the event loop, so requests overtake each
 * other between any two steps. The order is the same in every run.
 */
export function distant(kind: StoreKind): StoreKind {
  return {
    name: `a distant ${kind.name}`,
    async open(issuer, clock) {
      const { storage, dispose } = await kind.open(issuer, clock);
      const turns = pseudoRandom(7);
      const away = <T extends object>(repository: T): T =>
        new Proxy(repository, {
          get(target, name) {
            const member: unknown = Reflect.get(target, name, target);
            if (typeof member !== 'function') return member;
            return async (...args: unknown[]) => {
              await pass(turns());
              const answer: unknown = await Reflect.apply(member, target, args);
              await pass(turns());
              return answer;
            };
          },
        });
      const clients = away(storage.clients);
      const distantStorage: AdministrableStorage = {
        ...storage,
        clients,
        tokens: { ...away(storage.tokens), joinedClients: clients },
        authorizationCodes: away(storage.authorizationCodes),
        keys: away(storage.keys),
      };
      return { storage: distantStorage, dispose };
    },
  };
}

async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
}

/** Whole numbers from 0 up to a limit, the same in every run (a linear congruential generator). */
function pseudoRandom(limit: number): () => number {
  let state = 20260101;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % limit;
  };
}
