// Begins early: some modules wait for half a minute.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { unregister } from './client.ts';
import { MODULES } from './modules/modules.ts';
import { type Operator, startOperator } from './operator.ts';
import { longestFirst, PLANS } from './plans.ts';
import { discovered } from './provider.ts';
import { RelyingParty } from './relying_party.ts';
import { backChannelCommand, clientCommand } from './set_up.ts';
import { present, verdictOf } from './verdict.ts';

/** Some modules wait for half a minute while others run. */
const MODULES_AT_ONCE = 4;

describe('certification', { concurrency: PLANS.length }, () => {
  for (const plan of PLANS) {
    describe(plan.name, { concurrency: MODULES_AT_ONCE }, () => {
      let operator: Operator;
      before(async () => {
        operator = await startOperator(plan);
      });
      after(() => operator?.close());

      for (const { name, result, because, variant } of longestFirst(plan.modules)) {
        test(name, async () => {
          const run = present(MODULES[name], name);
          const verdict = await verdictOf(async (remarks) => {
            const provider = await discovered(operator.issuer);
            const party = new RelyingParty({
              provider,
              operator,
              variant: { ...plan.variant, ...variant },
              remarks,
            });
            try {
              await run(party);
            } finally {
              await Promise.all(party.clients.map(unregister));
            }
          });
          assert.deepEqual(verdict, { result, ...(because !== undefined && { because }) });
        });
      }
    });
  }
});

test('only the client of the Back-Channel plan has a back-channel logout URI', () => {
  const flag = /^--backchannel-logout-uri=/;
  const [added, updated] = [
    clientCommand('suite', 'https://suite.example'),
    backChannelCommand('suite', 'x'),
  ];
  assert.deepEqual(
    [added.some((word) => flag.test(word)), updated.some((word) => flag.test(word))],
    [false, true],
  );
});

test('the plans name their modules as version 5.2.4 of the suite does', () => {
  const names = PLANS.flatMap(({ modules }) => modules.map(({ name }) => String(name)));
  assert.ok(names.includes('oidcc-alternate-happy-flow'));
  assert.ok(!names.includes('oidcc-ensure-other-scope-order-succeeds'));
});
