/** What the suites use of `node:test`, for runtimes that lack it or lack parts of it. */

/** What one test came to. Its title begins with its file, and with what it is described under. */
export interface Outcome {
  readonly title: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped, or how it failed. */
  readonly reason?: string;
}

/** Thrown where the runtime lacks what a test needs of it: the test is skipped, for this reason. */
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

/** Counts the calls of methods until they are restored. */
const mock = {
  method(owner: Record<string, unknown>, name: string) {
    const original = owner[name] as AnyMethod;
    const isItsOwn = Object.hasOwn(owner, name);
    let calls = 0;
    owner[name] = function counting(this: unknown, ...args: unknown[]): unknown {
      calls++;
      return original.apply(this, args);
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
  readonly mock = mock;
  readonly #afterwards: (() => unknown)[] = [];

  after(run: () => unknown): void {
    this.#afterwards.push(run);
  }

  async end(): Promise<void> {
    for (const run of this.#afterwards) await run();
  }
}

/**
 * Runs what was declared, one test after the other.
 * @param lacking why tests cannot be run here, by their titles
 */
export async function runDeclared(
  lacking: Readonly<Record<string, string>> = {},
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { title, skip: ownSkip, run } of declared) {
    const skip = lacking[title] ?? ownSkip;
    outcomes.push(skip === false ? await outcomeOf(title, run) : { title, outcome: 'skipped', reason: skip });
  }
  return outcomes;
}

/** The titles of what was declared; nothing is run. */
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
