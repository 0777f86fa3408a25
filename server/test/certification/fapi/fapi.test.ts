// Begins early: some modules wait for seconds.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { longestFirst } from '../plans.ts';
import { discovered } from '../provider.ts';
import { present, verdictOf } from '../verdict.ts';
import { FapiParty } from './fapi_party.ts';
import { FAPI_MODULES } from './modules.ts';
import { type FapiOperator, startFapiOperator } from './operator.ts';
import { FAPI_PLANS, modulesIn } from './plans.ts';

/** Two modules wait for some seconds while others run. */
const MODULES_AT_ONCE = 4;

describe('FAPI 2.0 certification', { concurrency: FAPI_PLANS.length }, () => {
  for (const plan of FAPI_PLANS) {
    describe(plan.name, { concurrency: plan.variants.length }, () => {
      let operator: FapiOperator;
      before(async () => {
        operator = await startFapiOperator(plan);
      });
      after(() => operator?.close());

      for (const variant of plan.variants)
        describe(`${variant.authentication} + ${variant.binding}`, { concurrency: MODULES_AT_ONCE }, () => {
          for (const { name, result, because } of longestFirst(modulesIn(variant)))
            test(name, async () => {
              const run = present(FAPI_MODULES[name], name);
              const verdict = await verdictOf(async (remarks) => {
                const provider = await discovered(operator.issuer);
                await run(await FapiParty.create({ provider, operator, variant, remarks }));
              });
              assert.deepEqual(verdict, { result, ...(because !== undefined && { because }) });
            });
        });
    });
  }
});

test('the plans have as many modules as version 5.2.4 of the suite', () => {
  const [security, signing] = FAPI_PLANS.map(({ variants: [variant] }) =>
    modulesIn(present(variant, 'a variant')),
  );
  assert.deepEqual([security?.length, signing?.length], [56, 70]);
});
