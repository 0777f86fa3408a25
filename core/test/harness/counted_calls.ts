/** The same repository, with methods that record their names. */
export function counted<T extends object>(repository: T, tell: (method: string) => void): T {
  return new Proxy(repository, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]): unknown => {
        tell(String(name));
        return Reflect.apply(method, target, args);
      };
    },
  });
}
