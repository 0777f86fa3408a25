import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadOrder } from '../load/generator.ts';
import { wrkResult } from '../load/wrk.ts';
import { ACTIVE, ISSUED } from '../works/answers.ts';

const ORDER: LoadOrder = {
  address: 'http://127.0.0.1:1',
  requests: 'requests',
  from: 0,
  answers: [ACTIVE, ISSUED],
  connections: 32,
  seconds: 2,
};

const SAID = `Running 2s test @ http://127.0.0.1:1
= sent 1040
= wrong 0
= first_wrong
= right_1 1000
= right_2 8
= errors 0
= microseconds 2000000
= p50 1500
= p90 2500
= p99 9000
= max 12000
= ticks 50
`;

test('what wrk’s script says becomes a result', () => {
  assert.deepEqual(wrkResult('wrk 4', ORDER, SAID), {
    generator: 'wrk 4',
    sent: 1040,
    right: { active: 1000, issued: 8 },
    wrong: 0,
    errors: 0,
    seconds: 2,
    latencyMs: { p50: 1.5, p90: 2.5, p99: 9, max: 12 },
    generatorCpu: 0.25,
  });
});

test('the first wrong response is reported without anything that may be a token', () => {
  const token = 'a'.repeat(40);
  const said = SAID.replace('= wrong 0', '= wrong 3').replace(
    '= first_wrong',
    `= first_wrong 401 {"x":"${token}"}`,
  );
  assert.equal(wrkResult('wrk 4', ORDER, said).firstWrong, '401 {"x":"…"}');
});

test('a script that has not said everything has measured nothing', () => {
  assert.throws(() => wrkResult('wrk 4', ORDER, SAID.replace('= errors 0\n', '')), /did not say errors/);
});

test('if the system does not report the time of processes, the generator’s share is unknown', () => {
  assert.equal(wrkResult('wrk 4', ORDER, SAID.replace('= ticks 50\n', '')).generatorCpu, undefined);
});
