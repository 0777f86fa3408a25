// § refers to RFC 6749.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { bundleSuites } from './bundle.ts';
import type { Outcome } from './inside/node_test.ts';
import { hostFolder } from './package_under_test.ts';

const LONGEST_RUN_MS = 240_000;
/** Marks the bundle's line among other output. */
export const MARK = 'the bundle says: ';

/** The number of skipped tests on a runtime, by reason. */
export type Skipped = Readonly<Record<string, number>>;

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** In addition to those of the tests themselves. */
  readonly env?: Readonly<Record<string, string>>;
}

const PINNED_NODE: Command = { program: process.execPath, args: [] };

const REPLACES_AN_EXPORT =
  'rfc6749_client_authentication › §2.3.1 an unknown client costs as many look-ups and hashes as a wrong secret';

/** The reason for which one test that counts calls is skipped outside Node. Pass it to `runDeclared`. */
export const FIXED_EXPORTS = 'the exports of node:crypto cannot be replaced here';
export const WITHOUT_REPLACING = { [REPLACES_AN_EXPORT]: FIXED_EXPORTS };

/** Tells a bundle of suites to print only its titles. */
const TITLES = '--titles';

/**
 * Runs the suites as a program of a runtime with Node's modules: on SQLite, and through two adapters in memory.
 * Reports skipped tests. Any other test that does not pass fails the run.
 */
export async function assertSuitesHold(
  t: TestContext,
  command: Command,
  { canReplaceExports }: { readonly canReplaceExports: boolean },
): Promise<void> {
  const folder = hostFolder(t);
  const lacking = canReplaceExports ? {} : WITHOUT_REPLACING;
  const last = `await declareAll();
const said = process.argv.includes('${TITLES}') ? declaredTitles() : await runDeclared(${JSON.stringify(lacking)});
console.log(${JSON.stringify(MARK)} + JSON.stringify(said));`;
  await bundleSuites(folder, 'suites.mjs', { hasNode: true, last });
  const outcomes: readonly Outcome[] = await said(folder, command, 'suites.mjs');
  const titles: readonly string[] = await said(folder, PINNED_NODE, 'suites.mjs', [TITLES]);
  await assertOutcomes(t, outcomes, titles, canReplaceExports ? {} : { [FIXED_EXPORTS]: 1 });
}

/** Compares with the pinned Node: no title is missing, none is new, and only the expected tests are skipped. */
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
  const lacking = outcomes.filter(({ outcome }) => outcome === 'skipped');
  const byReason = Object.entries(Object.groupBy(lacking, ({ reason = '' }) => reason));
  assert.deepEqual(Object.fromEntries(byReason.map(([reason, tests]) => [reason, tests?.length])), skipped);
  console.log(`${t.name}: ${outcomes.length - lacking.length} passed, 0 failed, ${lacking.length} skipped`);
  for (const { title, reason } of lacking) await t.test(title, { skip: reason ?? true });
}

/** The titles of suites at the places of a Worker, on the current Node. */
export async function titlesOnPinnedNode(t: TestContext): Promise<readonly string[]> {
  const folder = hostFolder(t);
  const last = `await declareAll();
console.log(${JSON.stringify(MARK)} + JSON.stringify(declaredTitles()));`;
  await bundleSuites(folder, 'titles.mjs', { hasNode: true, places: 'places.ts', last });
  return said(folder, PINNED_NODE, 'titles.mjs');
}

/** Runs a program in a folder. Returns the content of its marked line. */
export async function said<T>(
  folder: string,
  command: Command,
  file: string,
  ofFile: readonly string[] = [],
): Promise<T> {
  const { program, args } = command;
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...inherited } = process.env;
  const env = { ...inherited, ...command.env };
  const run = spawn(program, [...args, file, ...ofFile], { cwd: folder, env, timeout: LONGEST_RUN_MS });
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
