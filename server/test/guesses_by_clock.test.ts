// Limits of guesses, and requests that are performed once, in processes whose clocks differ (ADR 230).
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { ClockWatch } from '../src/data/clock_watch.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { EmailCodes, GUESSES_OF_CODE, newCodeRequest } from '../src/people/email_codes.ts';
import { OwnPasswords } from '../src/people/own_passwords.ts';
import { CODE_LIMITS } from '../src/people/second_factors.ts';
import { ATTEMPTS_OF_NAME, AttemptLimits, FAILURES_OF_ADDRESS } from '../src/people/sign_in.ts';
import { DATABASES, type TestDatabase } from './harness/databases.ts';
import { addPerson, openDatabases } from './harness/program_data.ts';

const SECRET = new ServerSecret<ProgramSecretUse>('s'.repeat(32));
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const SKEWS_MS = [-40 * DAY_MS, -20 * MINUTE_MS, -5 * MINUTE_MS, 5 * MINUTE_MS, 20 * MINUTE_MS, 40 * DAY_MS];
const LIMITS = [ATTEMPTS_OF_NAME, FAILURES_OF_ADDRESS, GUESSES_OF_CODE, ...CODE_LIMITS];
/** Of clocks, which may differ. */
const MARGIN_S = 61;

/** Processes on one database, each with a clock that the test sets. The first one is right. */
async function processesAt(t: TestContext, database: TestDatabase, skewsMs: readonly number[]) {
  const opened = await openDatabases(t, database, skewsMs.length);
  const [right] = opened;
  // Something that was recorded at the right time.
  await addPerson(right ?? assert.fail(), 'alice');
  return Promise.all(
    opened.map(async (one, index) => {
      const time = { skewMs: skewsMs[index] ?? 0 };
      const wrongClock = () => Date.now() + time.skewMs;
      const watch = new ClockWatch(one, { clock: wrongClock });
      await watch.look();
      const clock = () => one.sharedTime.now(wrongClock());
      return {
        ...one,
        time,
        watch,
        wrongClock,
        clock,
        limits: new AttemptLimits(one.attempts, SECRET, clock),
      };
    }),
  );
}

type Process = Awaited<ReturnType<typeof processesAt>>[number];

for (const database of DATABASES)
  describe(`processes with other clocks on ${database.name}`, { skip: database.absence }, () => {
    // A clock that is behind is told by a database server only. The processes of a file share one.
    const skews = database.name === 'SQLite' ? SKEWS_MS.filter((ms) => ms > 0) : SKEWS_MS;

    for (const skewMs of skews)
      test(`a clock that is off by ${skewMs / MINUTE_MS} minutes gives no more guesses, and locks for no longer`, async (t) => {
        const [right, wrong] = await processesAt(t, database, [0, skewMs]);
        assert.ok(right && wrong);
        for (const [index, most] of LIMITS.entries())
          for (const isRightFirst of [true, false]) {
            const order: readonly Process[] = isRightFirst ? [right, wrong] : [wrong, right];
            const count = { name: `limit ${index}`, place: String(isRightFirst), most };
            let admitted = 0;
            let reached = false;
            for (let attempt = 0; attempt < most.attempts / 2 + 5; attempt += 1)
              for (const process of order) {
                const outcome = await process.limits.begin(count);
                if (outcome === undefined) admitted += 1;
                else {
                  reached = true;
                  const expected = most.windowMs / 1000;
                  assert.ok(
                    Math.abs(outcome.secondsToWait - expected) <= MARGIN_S,
                    `${outcome.secondsToWait}`,
                  );
                }
              }
            assert.deepEqual([admitted, reached], [most.attempts, true], `limit ${index}`);
          }
      });

    test('a clock that steps forward and back while the process runs gives no more guesses', async (t) => {
      const [process] = await processesAt(t, database, [0]);
      assert.ok(process);
      const { time, limits, watch } = process;
      const count = { name: 'alice', place: 'here', most: ATTEMPTS_OF_NAME };
      let admitted = 0;
      for (const stepMs of [0, 20 * MINUTE_MS, 0, 40 * DAY_MS, 0, 5 * MINUTE_MS, 0]) {
        time.skewMs = stepMs;
        for (let attempt = 0; attempt < 12; attempt += 1)
          if ((await limits.begin(count)) === undefined) admitted += 1;
        await watch.look();
      }
      assert.equal(admitted, ATTEMPTS_OF_NAME.attempts);
    });

    test('an email that a process with another clock sends again brings no used code back', async (t) => {
      for (const skewMs of skews) {
        const [right, wrong] = await processesAt(t, database, [0, skewMs]);
        assert.ok(right && wrong);
        const claims = { email: 'ada@example.com', email_verified: true };
        const ada = await right.people.add({ name: 'ada', passwordHash: 'hash', claims });
        const codesOf = (process: Process) =>
          new EmailCodes({
            ...{ ...process, links: process.mailedLinks, secret: SECRET, clock: process.wrongClock },
            ...{ onlyGroups: undefined, withoutCodes: undefined, takesAddresses: true },
            passwords: new OwnPasswords({ providers: [], identities: process.upstreamIdentities }),
          });
        const request = newCodeRequest('browser', undefined);
        const place = { name: '192.0.2.1', isKnown: false };
        const made = await codesOf(right).make('ada', request, place.name);
        const redeem = (process: Process) =>
          codesOf(process).redeem({ ...request, typed: 'ada' }, made?.code ?? '', place);
        const used = await redeem(right);
        assert.ok('person' in used && used.person.subject === ada?.subject);
        assert.equal(await codesOf(wrong).make('ada', request, place.name), undefined, `${skewMs}`);
        for (const process of [right, wrong])
          assert.deepEqual(await redeem(process), { refused: 'email_code_wrong' });
      }
    });

    test('a request is performed once, whatever the clocks of the processes say', async (t) => {
      const processes = await processesAt(t, database, [0, ...SKEWS_MS]);
      for (const keptMs of [10_000, 60 * MINUTE_MS, DAY_MS]) {
        const begin = ({ apiRequests, clock }: Process) =>
          apiRequests.begin(`key ${keptMs}`, '', clock(), clock() + keptMs);
        let performed = 0;
        for (const process of processes) if ('attempt' in (await begin(process))) performed += 1;
        assert.equal(performed, 1);
      }
    });
  });
