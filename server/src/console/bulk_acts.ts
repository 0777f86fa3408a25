// What the console does with several users or clients at once. Each of them has an outcome of its own.
import type { Visit } from './access.ts';

type Act = (visit: Visit, key: string) => Promise<unknown>;

export const BULK_ACTS = {
  users: {
    disable: ({ call }, sub) => call('disableUser', { sub }),
    enable: ({ call }, sub) => call('enableUser', { sub }),
    end_sessions: ({ call }, sub) => call('endSessions', { sub }),
    join: ({ call, form }, sub) => call('addMember', { group: form.get('group') ?? '', sub }),
  },
  clients: {
    disable: ({ call }, id) => call('disableClient', { client_id: id }),
    enable: ({ call }, id) => call('enableClient', { client_id: id }),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Act>>>>;

export type BulkList = keyof typeof BULK_ACTS;

/** @returns `undefined` if the list has no such act */
export function actNamed(list: BulkList, name: string | undefined): Act | undefined {
  const acts: Readonly<Record<string, Act>> = BULK_ACTS[list];
  return name !== undefined && Object.hasOwn(acts, name) ? acts[name] : undefined;
}
