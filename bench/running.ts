import type { Generator, LoadResult } from './load/generator.ts';
import { startBeside } from './processes/beside.ts';
import { countCommits } from './processes/commits.ts';
import { watch } from './processes/cpu_watch.ts';
import { type MeasuredProcess, startMeasured } from './processes/measured_process.ts';
import { residentBytes } from './processes/process_usage.ts';
import type { Contestant, Work, Workload } from './works/work.ts';

const LONGEST_FIRST_SECONDS = 300;
/** The minimum warm-up with a program's own requests, after any others. */
const SHORTEST_WARM_UP_SECONDS = 2;
/** A shorter round, because the requests ran out, means nothing. */
const SHORTEST_SECONDS = 0.2;
/** The maximum warm-up with requests that can be sent only once, after others. */
const PART_FOR_WARM_UP = 0.2;

/** Seconds of warm-up before the measurement. */
export interface WarmUp {
  /** What it is measured with. */
  readonly own: number;
  readonly other: number;
}

/** The result of one contestant in one round. */
export interface Measurement {
  readonly round: number;
  readonly contestant: string;
  /** Right responses. */
  readonly perSecond: number;
  readonly load: LoadResult;
  /** The share of one core that the program used; the sum of several processes. */
  readonly serverCpu: number | undefined;
  /** The use of other programs on the machine. */
  readonly othersCpu: number | undefined;
  readonly residentBytes: number | undefined;
  /** Before the first round. */
  readonly warmUpSeconds: WarmUp;
  /** Commits to the database that only this program changes. */
  readonly commitsPerSecond?: number;
  /** Operations per second of the program that runs next to it. */
  readonly besidePerSecond?: number;
}

/** A started contestant of a work. */
export class Running {
  readonly #work: Pick<Work, 'name' | 'connections'>;
  readonly #contestant: Contestant;
  readonly #generator: Generator;
  readonly #process: MeasuredProcess;
  /** The number of its requests that were sent. */
  #sent = 0;
  #warmUpSeconds: WarmUp = { own: 0, other: 0 };

  private constructor(
    work: Pick<Work, 'name' | 'connections'>,
    contestant: Contestant,
    { generator, process }: { readonly generator: Generator; readonly process: MeasuredProcess },
  ) {
    this.#work = work;
    this.#contestant = contestant;
    this.#generator = generator;
    this.#process = process;
  }

  static async start(work: Work, contestant: Contestant, generator: Generator): Promise<Running> {
    contestant.beforeStart?.();
    return new Running(work, contestant, { generator, process: await startMeasured(contestant.process) });
  }

  end(): Promise<void> {
    return this.#process.end();
  }

  /**
   * Sends the first requests, then the substitutes for warming up, if any, and then its own, until the time is up.
   * Requests that can be sent only once are limited.
   */
  async warmUp(seconds: number): Promise<void> {
    const { first, warmUp, requests, requestCount, onlyOnce = false } = this.#contestant;
    const took = { own: 0, other: 0 };
    const left = () => seconds - took.own - took.other;
    if (first !== undefined) {
      const result = await this.#send(first, { seconds: LONGEST_FIRST_SECONDS, count: first.requestCount });
      took[first.requests === requests ? 'own' : 'other'] += result.seconds;
    }
    if (warmUp !== undefined)
      took.other += (
        await this.#send(warmUp, { seconds: atLeast(left() - SHORTEST_WARM_UP_SECONDS, 1) })
      ).seconds;
    const own = await this.#ask(atLeast(left()), onlyOnce ? requestCount * PART_FOR_WARM_UP : undefined);
    took.own += own.seconds;
    this.#warmUpSeconds = took;
  }

  async measure(
    round: number,
    { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
  ): Promise<Measurement> {
    const { name, requestCount, onlyOnce = false, database, servants = [] } = this.#contestant;
    const { wakeUpSeconds, warmUp, beside: command } = this.#contestant;
    const { pid } = this.#process;
    if (wakeUpSeconds !== undefined)
      await (warmUp ? this.#send(warmUp, { seconds: wakeUpSeconds }) : this.#ask(wakeUpSeconds));
    const beside = command && (await startBeside(command));
    try {
      const watched = watch({
        server: pid,
        servants: [...servants, ...(beside?.pid === undefined ? [] : [beside.pid])],
      });
      const commits = database === undefined ? undefined : countCommits(database);
      // The rounds share requests that can be sent only once.
      const load = await this.#ask(seconds, onlyOnce ? this.#left() / (rounds - round) : undefined);
      const committed = commits?.();
      const { serverSeconds, othersCpu } = watched();
      if (load.seconds < SHORTEST_SECONDS)
        throw new Error(
          `${this.#work.name}: ${name} has used up its ${requestCount} requests in rounds of ${load.seconds.toFixed(1)} s; use --tokens with more`,
        );
      return {
        round,
        contestant: name,
        perSecond: Object.values(load.right).reduce((sum, count) => sum + count, 0) / load.seconds,
        load,
        serverCpu: serverSeconds === undefined ? undefined : serverSeconds / load.seconds,
        othersCpu,
        residentBytes: residentBytes(pid),
        warmUpSeconds: this.#warmUpSeconds,
        ...(committed !== undefined && { commitsPerSecond: committed / load.seconds }),
        ...(beside !== undefined && { besidePerSecond: await beside.end() }),
      };
    } finally {
      await beside?.end();
    }
  }

  /** The number of its unsent requests. Requests that are pending when a run ends would be sent twice. */
  #left(): number {
    const { requestCount } = this.#contestant;
    return requestCount - this.#sent - 2 * this.#work.connections;
  }

  async #ask(seconds: number, most?: number): Promise<LoadResult> {
    const { name, requestCount } = this.#contestant;
    const count = most === undefined ? undefined : Math.floor(Math.min(most, this.#left()));
    if (count !== undefined && count <= 0)
      throw new Error(`${this.#work.name}: ${name} has used up its ${requestCount} requests`);
    const result = await this.#send(this.#contestant, { seconds, from: this.#sent, ...(count && { count }) });
    this.#sent += result.sent;
    return result;
  }

  async #send(
    { requests, answers }: Workload,
    limits: { readonly seconds: number; readonly from?: number; readonly count?: number },
  ): Promise<LoadResult> {
    const { address } = this.#process;
    const { connections, name } = this.#work;
    const result = await this.#generator.run({ address, requests, answers, connections, from: 0, ...limits });
    requireRight(name, this.#contestant.name, result);
    return result;
  }
}

/** The generators measure whole seconds. */
function atLeast(seconds: number, shortest = SHORTEST_WARM_UP_SECONDS): number {
  return Math.ceil(Math.max(shortest, seconds));
}

/** A wrong response is no throughput, so the whole result is void. */
export function requireRight(
  work: string,
  name: string,
  { wrong, firstWrong, errors, right }: LoadResult,
): void {
  if (wrong > 0) throw new Error(`${work}: ${name} answered ${wrong} times wrongly, first: ${firstWrong}`);
  if (errors > 0) throw new Error(`${work}: ${errors} connections to ${name} failed`);
  if (Object.values(right).every((count) => count === 0))
    throw new Error(`${work}: ${name} answered nothing`);
}
