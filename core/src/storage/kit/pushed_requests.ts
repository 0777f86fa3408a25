import type { PushedRequest } from '../../protocol/records.ts';
import type { PushedRequestRepository } from '../contract.ts';
import { type KitCase, type KitGroup, kitCase } from './case.ts';
import { expect, expectEqual, expectRejection } from './failure.ts';
import { PARALLEL } from './race.ts';
import type { Stage } from './stage.ts';

const SECONDS = 60;

/** A case of a part that a storage may lack. */
function caseOf(
  group: KitGroup,
  title: string,
  check: (stage: Stage, requests: PushedRequestRepository) => Promise<void>,
): KitCase {
  return kitCase(group, title, async (stage) => {
    const { pushedRequests } = stage.storage;
    if (pushedRequests !== undefined) await check(stage, pushedRequests);
  });
}

function request(stage: Stage, id: string): PushedRequest {
  return {
    id,
    clientId: 'https://client.example/a b',
    parameters: {
      state: 'né "quoted" \\ \u0000 \u{1f511}',
      response_type: 'code',
      empty: '',
      claims: '{"id_token":{"acr":null}}',
    },
    expiresAt: stage.now + SECONDS,
  };
}

export const pushedRequests: readonly KitCase[] = [
  caseOf(
    'records',
    'every field of a pushed request comes back, until it is removed',
    async (stage, requests) => {
      const one = request(stage, 'one');
      await requests.add(one);
      await requests.add(request(stage, 'two'));
      expectEqual(await requests.get('one'), one, 'a stored request');
      expectEqual(await requests.get('one'), one, 'a request that was read before');
      await requests.remove('one');
      expect((await requests.get('one')) == null, 'a request that was removed is absence');
      await requests.remove('one');
      await requests.remove('unknown');
      expect((await requests.get('unknown')) == null, 'an unknown request is absence');
      expectEqual(await requests.get('two'), request(stage, 'two'), 'another one');
    },
  ),

  caseOf(
    'concurrency',
    `${PARALLEL} can remove one pushed request at once, after which no handle finds it`,
    async (stage, requests) => {
      await requests.add(request(stage, 'one'));
      const attempts = Array.from({ length: PARALLEL }, () => async (storage: Stage['storage']) => {
        const own = storage.pushedRequests ?? requests;
        await own.remove('one');
        return (await own.get('one')) ?? undefined;
      });
      const found = (await stage.parallel(attempts)).filter((one) => one !== undefined);
      expectEqual(found, [], 'what was found after the removal');
    },
  ),

  caseOf('expiry', 'a pushed request is found also when it is over', async (stage, requests) => {
    const pushed = request(stage, 'one');
    await requests.add(pushed);
    stage.advance(SECONDS + 1);
    expectEqual(await requests.get('one'), pushed, 'an expired request');
  }),

  kitCase(
    'administration',
    'pushed requests are swept when they are over, a few a call, and not before',
    async (stage) => {
      const store = stage.administration;
      for (const id of ['a', 'b', 'c']) await store.pushedRequests.add(request(stage, id));
      const later = { ...request(stage, 'later'), expiresAt: stage.now + SECONDS + 1 };
      await store.pushedRequests.add(later);
      stage.advance(SECONDS - 1);
      expectEqual(await store.sweep(100), 0, 'rows swept while none is over');
      stage.advance(1);
      expectEqual(
        [await store.sweep(2), await store.sweep(2), await store.sweep(2)],
        [2, 1, 0],
        'rows swept',
      );
      expect((await store.pushedRequests.get('a')) == null, 'a request that was swept is not there');
      expectEqual(await store.pushedRequests.get('later'), later, 'a request that is not over');
    },
  ),

  caseOf(
    'faults',
    'a store that cannot be asked neither takes pushed requests nor gives or removes them',
    async (stage, requests) => {
      await requests.add(request(stage, 'one'));
      await stage.break();
      await expectRejection(() => requests.add(request(stage, 'two')), 'adding another one');
      await expectRejection(() => requests.get('one'), 'reading one');
      await expectRejection(() => requests.get('unknown'), 'reading an unknown one');
      await expectRejection(() => requests.remove('one'), 'removing one');
    },
  ),
];
