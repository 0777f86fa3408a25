// Cases about clients that registered themselves.
import type { NewClient } from '../contract.ts';
import {
  administrationOf,
  expectEqual,
  type KitCase,
  kitCase,
  ONE_TIME_SECONDS,
  PARALLEL,
  type Stage,
} from './stage.ts';

const REGISTERED_AT = 1_700_000_000;

const REGISTERED = {
  grantTypes: ['authorization_code'],
  scopes: [],
  redirectUris: ['https://self.example/callback'],
  registrationTokenDigest: 'digest',
  registeredAt: REGISTERED_AT,
} as const satisfies Partial<NewClient>;

async function unusedSince(stage: Stage, since: number, limit = 100): Promise<readonly string[]> {
  return (await stage.administration.clients.listUnused(since, limit)).map(({ id }) => id);
}

export const registrations: readonly KitCase[] = [
  kitCase(
    'administration',
    'no more clients of a place are let in than may come from there',
    async (stage) => {
      const { clients } = stage.administration;
      const { id } = await stage.client();
      const add = (name: string, place: string, most: number) =>
        clients.add({ ...REGISTERED, id: `${id}-${name}` }, { mostRegistered: 100, from: { place, most } });
      const outcomes = await stage.parallel(
        Array.from({ length: PARALLEL }, (_, index) => (storage) => {
          const limits = { mostRegistered: 100, from: { place: 'here', most: 3 } };
          return administrationOf(storage).clients.add({ ...REGISTERED, id: `${id}-${index}` }, limits);
        }),
      );
      expectEqual(outcomes.filter((isAdded) => isAdded).length, 3, 'additions');
      expectEqual(await add('full', 'here', 3), false, 'from a full place');
      expectEqual(await add('there', 'there', 3), true, 'from another place');
      expectEqual(await add('more', 'here', 4), true, 'where one more may');
      const of = { ...REGISTERED, id: `${id}-all` };
      const limits = { mostRegistered: 5, from: { place: 'nowhere', most: 3 } };
      expectEqual(await clients.add(of, limits), false, 'where the limit for all is reached');
      const all = await clients.list();
      const first = all.find((client) => client.registrationTokenDigest && client.id !== `${id}-there`);
      const { generation: _, revision: __, registrationRevision: ___, ...described } = first ?? { ...of };
      expectEqual(await clients.replace({ ...described, name: 'Shop' }, first ?? {}), true, 'replacing');
      expectEqual(await add('after', 'here', 4), false, 'after a replacement');
      expectEqual(await clients.remove(described.id), true, 'removing');
      expectEqual(await add('again', 'here', 4), true, 'in the place of one that was removed');
    },
  ),

  kitCase(
    'administration',
    'what permits one registration is used up with the client, and by nothing that was refused',
    async (stage) => {
      const { clients } = stage.administration;
      const { id } = await stage.client();
      const once = { id: `${id}-once`, expiresAt: stage.now + ONE_TIME_SECONDS };
      const full = { mostRegistered: 0 };
      const refused = { ...REGISTERED, id: `${id}-refused` };
      expectEqual(await clients.add(refused, full, once), false, 'where a limit is reached');
      expectEqual(
        await clients.add({ ...REGISTERED, id }, undefined, once),
        false,
        'with a taken identifier',
      );
      const outcomes = await stage.parallel(
        Array.from({ length: PARALLEL }, (_, index) => (storage) => {
          const client = { ...REGISTERED, id: `${id}-${index}` };
          return administrationOf(storage).clients.add(client, { mostRegistered: 100 }, once);
        }),
      );
      expectEqual(outcomes.filter((outcome) => outcome === true).length, 1, 'additions');
      expectEqual(outcomes.filter((outcome) => outcome === 'already_used').length, PARALLEL - 1, 'refusals');
      const others = (await clients.list()).filter((client) => client.id.startsWith(`${id}-`));
      expectEqual(others.length, 1, 'the clients that are stored');
      expectEqual(await clients.add(refused, undefined, once), 'already_used', 'afterwards');
      const { expiresAt } = once;
      const another = { id: `${id}-another`, expiresAt };
      expectEqual(await clients.add(refused, undefined, another), true, 'with what was not used');
    },
  ),

  kitCase('administration', 'a registration is unused once its last use is over', async (stage) => {
    const { clients } = stage.administration;
    const { id } = await stage.client(REGISTERED);
    await stage.client();
    expectEqual(await unusedSince(stage, REGISTERED_AT), [], 'when it registered');
    expectEqual(await unusedSince(stage, REGISTERED_AT + 1), [id], 'a second later');
    const before = await clients.get(id);
    await clients.noteUse(id, REGISTERED_AT + 100);
    await clients.noteUse(id, REGISTERED_AT + 50);
    await clients.noteUse('unknown', REGISTERED_AT + 100);
    const after = await clients.get(id);
    expectEqual(after?.usedUntil, REGISTERED_AT + 100, 'the end of its use');
    expectEqual(after?.revision, before?.revision, 'its revision');
    expectEqual(await unusedSince(stage, REGISTERED_AT + 100), [], 'while it is in use');
    expectEqual(await unusedSince(stage, REGISTERED_AT + 101), [id], 'after its use');
    const {
      generation: _,
      revision: __,
      registrationRevision: ___,
      usedUntil: ____,
      ...described
    } = after ?? { ...REGISTERED, id };
    expectEqual(await clients.replace({ ...described, name: 'Shop' }, after ?? {}), true, 'replacing');
    expectEqual((await clients.get(id))?.usedUntil, REGISTERED_AT + 100, 'after a replacement');
  }),

  kitCase('administration', 'the time at which a document was valid only rises', async (stage) => {
    const { clients } = stage.administration;
    const { registrationTokenDigest: _, ...described } = REGISTERED;
    const { id } = await stage.client({ ...described, documentValidAt: REGISTERED_AT });
    const other = await stage.client(REGISTERED);
    const before = await clients.get(id);
    await Promise.all([50, 100, 75].map((later) => clients.noteDocument(id, REGISTERED_AT + later)));
    for (const name of [other.id, 'unknown']) await clients.noteDocument(name, REGISTERED_AT + 100);
    const after = await clients.get(id);
    expectEqual(after?.documentValidAt, REGISTERED_AT + 100, 'the time');
    expectEqual(after?.revision, before?.revision, 'its revision');
    expectEqual((await clients.get(other.id))?.documentValidAt, undefined, 'a client without a document');
    const both = await unusedSince(stage, REGISTERED_AT + 1);
    expectEqual(both.toSorted(), [id, other.id].sort(), 'both are registrations');
  }),

  kitCase(
    'administration',
    'unused registrations are listed, those unused for longest first',
    async (stage) => {
      const { clients, setDisabled } = stage.administration;
      const ids: string[] = [];
      for (const age of [3, 1, 2])
        ids.push((await stage.client({ ...REGISTERED, registeredAt: REGISTERED_AT - age })).id);
      const [oldest = '', newest = '', middle = ''] = ids;
      expectEqual(await unusedSince(stage, REGISTERED_AT), [oldest, middle, newest], 'all');
      expectEqual(await unusedSince(stage, REGISTERED_AT, 2), [oldest, middle], 'as many as asked for');
      await stage.client({ ...REGISTERED, metadata: { set_by_operator: ['scope'] } });
      await stage.client({ ...REGISTERED, resource: 'https://api.example' });
      const named = await stage.client({ ...REGISTERED, metadata: { software_id: 'set_by_operator' } });
      await setDisabled('client', middle, true);
      expectEqual(
        await unusedSince(stage, REGISTERED_AT + 1),
        [oldest, newest, named.id],
        'that are left to themselves',
      );
      await clients.noteUse(oldest, REGISTERED_AT + 10);
      expectEqual(await unusedSince(stage, REGISTERED_AT + 1), [newest, named.id], 'without those in use');
    },
  ),

  kitCase('administration', 'a client is removed as unused only while it is', async (stage) => {
    const { clients } = stage.administration;
    const { id } = await stage.client(REGISTERED);
    const { id: operators } = await stage.client();
    expectEqual(await clients.remove(operators, REGISTERED_AT + 1), false, "an operator's client");
    expectEqual(await clients.remove(id, REGISTERED_AT), false, 'one in use');
    await clients.noteUse(id, REGISTERED_AT + 10);
    expectEqual(await clients.remove(id, REGISTERED_AT + 10), false, 'one that was used meanwhile');
    expectEqual((await clients.get(id))?.id, id, 'the client');
    expectEqual(await clients.hasRedirectOrigin('https://self.example'), true, 'its origin');
    expectEqual(await clients.remove(id, REGISTERED_AT + 11), true, 'one that is unused');
    expectEqual((await clients.get(id)) ?? undefined, undefined, 'the client');
    expectEqual(await clients.hasRedirectOrigin('https://self.example'), false, 'its origin');
    expectEqual(await clients.remove(id, REGISTERED_AT + 11), false, 'once it is gone');
  }),
];
