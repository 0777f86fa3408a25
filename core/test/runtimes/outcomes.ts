import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { bundleSuites, hostFolder } from './bundle.ts';
import type { Outcome } from './inside/node_test.ts';

const LONGEST_RUN_MS = 150_000;
/** Before what a bundle says of itself, among whatever else is printed. */
const MARK = 'the bundle says: ';

/** Why tests are skipped on a runtime, by their titles. */
export type Skipped = Readonly<Record<string, string>>;

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

/** The title of the test that counts calls by replacing an export of `node:crypto`. */
export const REPLACES_AN_EXPORT =
  'rfc6749_client_authentication › §2.3.1 an unknown client costs as many look-ups and hashes as a wrong secret';

/**
 * Runs every suite as a program of a runtime that has the modules of Node: by three adapters on memory, and on SQLite.
 * What is skipped is reported as a skipped test each; whatever else has not passed fails the test.
 */
export async function assertSuitesHold(
  t: TestContext,
  command: Command,
  skipped: Skipped = {},
): Promise<void> {
  const folder = hostFolder(t);
  const last = `await declareAll();
console.log(${JSON.stringify(MARK)} + JSON.stringify(await runDeclared(${JSON.stringify(skipped)})));`;
  await bundleSuites(folder, 'suites.mjs', { hasNode: true, last });
  const outcomes: readonly Outcome[] = await said(folder, command, 'suites.mjs');
  await assertOutcomes(t, outcomes, await titlesOnPinnedNode(t, true), skipped);
}

/** Compares with what the pinned Node declares: no title is lost, none is new, and only these are skipped. */
export async function assertOutcomes(
  t: TestContext,
  outcomes: readonly Outcome[],
  titles: readonly string[],
  skipped: Skipped,
): Promise<void> {
  const failed = outcomes.filter(({ outcome }) => outcome === 'failed');
  assert.deepEqual(failed, [], `${failed.length} of ${outcomes.length} failed`);
  assert.deepEqual(outcomes.map(({ title }) => title).sort(), [...titles].sort());
  assert.equal(new Set(titles).size, titles.length, 'each title is there once');
  const reasons = outcomes.flatMap(({ title, outcome, reason }) =>
    outcome === 'skipped' ? [[title, reason] as const] : [],
  );
  assert.deepEqual(Object.fromEntries(reasons), skipped);
  console.log(`${outcomes.length - reasons.length} passed, 0 failed, ${reasons.length} skipped`);
  for (const [title, reason] of reasons) await t.test(title, { skip: reason });
}

/** The titles that the suites have on the Node that runs this. */
export async function titlesOnPinnedNode(t: TestContext, hasNode: boolean): Promise<readonly string[]> {
  const folder = hostFolder(t);
  const last = `await declareAll();
console.log(${JSON.stringify(MARK)} + JSON.stringify(declaredTitles()));`;
  await bundleSuites(folder, 'titles.mjs', {
    hasNode: true,
    places: hasNode ? 'node_places.ts' : 'places.ts',
    last,
  });
  return said(folder, { program: process.execPath, args: [] }, 'titles.mjs');
}

/** Runs a program in a folder, and returns what its marked line says. */
export async function said<T>(folder: string, { program, args }: Command, file: string): Promise<T> {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  const run = spawn(program, [...args, file], { cwd: folder, env, timeout: LONGEST_RUN_MS });
  run.stdin.end();
  const [output, complaints, [status]] = await Promise.all([
    text(run.stdout),
    text(run.stderr),
    once(run, 'exit'),
  ]);
  const line = output.split('\n').find((line) => line.startsWith(MARK));
  if (status !== 0 || line === undefined) {
    throw new Error(`${program} ended with ${status}:\n${output.slice(-4000)}\n${complaints.slice(-4000)}`);
  }
  return JSON.parse(line.slice(MARK.length));
}
