import { type ActorKind, currentCause, within } from '../log/log.ts';

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
        method = (...args: readonly unknown[]): unknown =>
          within({ ...currentCause(), actor }, () => Reflect.apply(member, target, args));
        methods.set(name, method);
      }
      return method;
    },
  });
  known.set(part, acted);
  return acted;
}
