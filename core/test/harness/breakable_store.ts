import type { AdministrableStorage } from '@grantd/core';
import type { OpenStore, StoreKind } from './stores.ts';

export const FAILURES = ['rejects', 'throws', 'rejects as a thenable', 'rejects after it was done'] as const;
export type Failure = (typeof FAILURES)[number];

/** The driver's error message, which no response may contain. */
export const DRIVER_MESSAGE = 'connect ECONNREFUSED 10.0.0.5:5432 as grantd:hunter2';

const PARTS = ['clients', 'tokens', 'authorizationCodes', 'keys', 'oneTimeIdentifiers', 'pending'] as const;
type Part = (typeof PARTS)[number];

/** A real store whose methods can fail, and which records its calls. */
export class BreakableStore implements StoreKind {
  readonly name: string;
  /** `part.method` of every call. */
  readonly asked = new Set<string>();
  /** Every method of the store, as `part.method`. */
  readonly methods = new Set<string>();
  readonly #kind: StoreKind;
  #broken: { readonly methods: ReadonlySet<string>; readonly failure: Failure } | undefined;

  constructor(kind: StoreKind) {
    this.name = `a breakable ${kind.name}`;
    this.#kind = kind;
  }

  async open(issuer: string, clock: () => number): Promise<OpenStore> {
    const { storage, dispose } = await this.#kind.open(issuer, clock);
    const clients = this.#watch('clients', storage.clients);
    const { joinedClients, ...tokens } = storage.tokens;
    const watched: AdministrableStorage = {
      ...storage,
      clients,
      tokens: {
        ...this.#watch('tokens', tokens),
        ...(joinedClients === storage.clients && { joinedClients: clients }),
      },
      authorizationCodes: this.#watch('authorizationCodes', storage.authorizationCodes),
      keys: this.#watch('keys', storage.keys),
      oneTimeIdentifiers: this.#watch('oneTimeIdentifiers', storage.oneTimeIdentifiers),
      pending: this.#watch('pending', storage.pending),
    };
    return { storage: watched, dispose };
  }

  /** Makes methods fail, and all others work. */
  break(methods: string | Iterable<string>, failure: Failure): void {
    this.#broken = { methods: new Set(typeof methods === 'string' ? [methods] : methods), failure };
  }

  repair(): void {
    this.#broken = undefined;
  }

  #watch<T extends object>(part: Part, repository: T): T {
    const names = Object.keys(repository);
    for (const name of names)
      if (typeof Reflect.get(repository, name) === 'function') this.methods.add(`${part}.${name}`);
    return new Proxy(repository, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) =>
          this.#call(`${part}.${String(name)}`, () => Reflect.apply(member, target, args));
      },
    });
  }

  #call(method: string, call: () => unknown): unknown {
    this.asked.add(method);
    if (!this.#broken?.methods.has(method)) return call();
    const error = new Error(DRIVER_MESSAGE);
    switch (this.#broken.failure) {
      case 'throws':
        throw error;
      case 'rejects':
        return Promise.reject(error);
      case 'rejects as a thenable':
        // biome-ignore lint/suspicious/noThenProperty: query builders answer with such objects
        return { then: (_: unknown, reject: (reason: unknown) => void) => reject(error) };
      case 'rejects after it was done':
        return Promise.resolve(call()).then(() => Promise.reject(error));
    }
  }
}
