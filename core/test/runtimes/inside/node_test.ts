/** The part of `node:test` that the suites use, for runtimes without it or without parts of it. */

/** The result of a test. Its title starts with its file and its `describe`. */
export interface Outcome {
  readonly title: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** The reason why it was skipped or failed. */
  readonly reason?: string;
}

/** Thrown if the runtime lacks something that a test needs. The test is skipped for this reason. */
export class Lacking extends Error {}

type Run = (t: TestContext) => unknown;

interface Declared {
  readonly title: string;
  readonly skip: string | false;
  readonly run: Run;
}

interface Options {
  readonly skip?: boolean | string;
}

const declared: Declared[] = [];
let under: readonly string[] = [];

/** Tests that are declared while a file loads are titled by its name. */
export async function declareFile(name: string, load: () => Promise<unknown>): Promise<void> {
  under = [name];
  await load();
  under = [];
}

export function describe(title: string, declare: () => void): void {
  const outer = under;
  under = [...outer, title];
  declare();
  under = outer;
}

export { describe as suite };

export function test(sentence: string, ...rest: readonly [Run] | readonly [Options, Run]): void {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  const { skip = false } = options as Options;
  const title = [...under, sentence].join(' › ');
  declared.push({ title, skip: skip === true ? 'it says so' : skip, run: run as Run });
}

type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/** Counts calls of methods until they are restored, and can replace them. */
const mock = {
  method(owner: Record<string, unknown>, name: string, replacement?: AnyMethod) {
    const original = owner[name] as AnyMethod;
    const called = replacement ?? original;
    const isItsOwn = Object.hasOwn(owner, name);
    let calls = 0;
    owner[name] = function counting(this: unknown, ...args: unknown[]): unknown {
      calls++;
      return called.apply(this, args);
    };
    const restore = () => {
      if (isItsOwn) owner[name] = original;
      else delete owner[name];
    };
    return { mock: { callCount: () => calls, restore } };
  },
};

test.mock = mock;

export class TestContext {
  readonly #afterwards: (() => unknown)[] = [];

  readonly mock: typeof mock = {
    method: (...args) => {
      const mocked = mock.method(...args);
      this.after(mocked.mock.restore);
      return mocked;
    },
  };

  after(run: () => unknown): void {
    this.#afterwards.push(run);
  }

  async end(): Promise<void> {
    for (const run of this.#afterwards) await run();
  }
}

/**
 * Runs the declared tests one after another.
 * @param lacking the reasons why tests cannot run here, by title
 */
export async function runDeclared(
  lacking: Readonly<Record<string, string>> = {},
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const test of declared.keys()) outcomes.push(await runTest(test, lacking));
  return outcomes;
}

/** Runs one test, by its index in `declaredTitles`. */
export async function runTest(
  index: number,
  lacking: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const test = declared[index];
  if (test === undefined) throw new Error(`there are only ${declared.length} tests`);
  const { title, skip: ownSkip, run } = test;
  const skip = lacking[title] ?? ownSkip;
  return skip === false ? outcomeOf(title, run) : { title, outcome: 'skipped', reason: skip };
}

/** The titles of the declared tests. Runs nothing. */
export function declaredTitles(): readonly string[] {
  return declared.map(({ title }) => title);
}

async function outcomeOf(title: string, run: Run): Promise<Outcome> {
  const t = new TestContext();
  try {
    await run(t);
    return { title, outcome: 'passed' };
  } catch (error) {
    if (error instanceof Lacking) return { title, outcome: 'skipped', reason: error.message };
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { title, outcome: 'failed', reason: `${error}\n${reason}` };
  } finally {
    await t.end();
  }
}
