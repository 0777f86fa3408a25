import { type KitCase, kitCase } from './case.ts';
import { expect, expectEqual } from './failure.ts';

export const principalState: readonly KitCase[] = (['client', 'subject'] as const).map((principal) =>
  kitCase(
    'administration',
    `of a ${principal} it is known when its tokens ended, and since when it is disabled`,
    async (stage) => {
      const store = stage.administration;
      const grant = await stage.grant();
      await stage.redeemed(grant);
      const id = principal === 'client' ? grant.clientId : grant.subject;
      const state = async () => {
        const found = await store.getPrincipalState(principal, id);
        return [found?.raisedAtMs ?? null, found?.disabledAtMs ?? null];
      };
      expectEqual(await state(), [null, null], 'at first');

      stage.advance(1);
      const revokedAtMs = stage.clock.nowMs;
      await store.revokeAll({ principal, id });
      expectEqual(await state(), [revokedAtMs, null], 'after a revocation');

      stage.advance(1);
      const disabledAtMs = stage.clock.nowMs;
      await store.setDisabled(principal, id, true);
      expectEqual(await state(), [disabledAtMs, disabledAtMs], 'while disabled');

      stage.advance(1);
      await store.setDisabled(principal, id, false);
      expectEqual(await state(), [disabledAtMs, null], 'once enabled');
      const unknown = await store.getPrincipalState(principal, 'unknown');
      expect(unknown === undefined || unknown === null, `an unknown ${principal} has no state`);
    },
  ),
);
