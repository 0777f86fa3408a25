import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventOrigin } from '@grantd/core';

/**
 * What makes a change: a command, the server, a user by themselves, the caller of its admin API, or an operator in its
 * console. Events replace `user` with `user:SUBJECT`.
 */
export type ActorKind = 'cli' | 'server' | 'user' | `api:${string}` | `console:${string}`;

/** The request or command that the running code belongs to. */
export interface Cause extends Omit<EventOrigin, 'actor'> {
  readonly actor?: ActorKind;
}

const causes = new AsyncLocalStorage<Cause>();

/** Runs `work` as part of a request. What it changes is recorded with this cause. */
export function within<T>(cause: Cause, work: () => T): T {
  return causes.run(cause, work);
}

/** The cause of what runs now. */
export function currentCause(): Cause {
  return causes.getStore() ?? NO_CAUSE;
}

const NO_CAUSE: Cause = {};

/**
 * Where changes come from, for a database that is opened on behalf of an actor.
 * @param actor who acts outside of requests, unless it is the server
 */
export function originOf(actor: ActorKind | undefined): () => EventOrigin {
  const outside: EventOrigin = actor === undefined || actor === 'server' ? NO_CAUSE : { actor };
  return () => {
    const cause = causes.getStore();
    if (cause === undefined) return outside;
    return cause.actor === undefined && outside.actor !== undefined ? { ...cause, ...outside } : cause;
  };
}

/** The same object, whose methods make their changes on behalf of an actor. So do those of its parts. */
export function actingAs<T extends object>(actor: ActorKind, part: T): T {
  return acting(actor, part, new WeakMap());
}

function acting<T extends object>(actor: ActorKind, part: T, known: WeakMap<object, object>): T {
  const before = known.get(part);
  if (before !== undefined) return before as T;
  const methods = new Map<PropertyKey, unknown>();
  const acted = new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member === 'object' && member !== null && !Array.isArray(member))
        return acting(actor, member, known);
      if (typeof member !== 'function') return member;
      let method = methods.get(name);
      if (method === undefined) {
        method = (...given: readonly unknown[]): unknown =>
          within({ ...currentCause(), actor }, () => Reflect.apply(member, target, given));
        methods.set(name, method);
      }
      return method;
    },
  });
  known.set(part, acted);
  return acted;
}
