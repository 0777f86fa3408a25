import type { PlannedRequest } from '../load/request_file.ts';
import type { BenchClient } from '../population/clients.ts';
import { ACTIVE, ISSUED } from './answers.ts';
import { introspecting, issuing } from './requests.ts';
import type { Stage } from './stage.ts';
import type { Workload } from './work.ts';

/** As many as the work uses, again and again. */
export const MOST_TOKENS = 20_000;
/** One in this many requests issues a token. */
const ISSUE_EVERY = 10;

interface WarmUpOrder {
  /** Access tokens that live on. */
  readonly tokens: readonly string[];
  /** Gets tokens for itself. */
  readonly client: BenchClient;
  /** Default: the API. */
  readonly introspector?: BenchClient;
}

/**
 * Warms up a program whose own requests can be sent only once. Introspection and issuance use much of the same code:
 * form, client authentication, store.
 * @param name of the request file
 */
export async function warmUpOf(
  stage: Stage,
  name: string,
  { tokens, client, introspector }: WarmUpOrder,
): Promise<Workload> {
  const planned = withIssues(introspecting(tokens.slice(0, MOST_TOKENS), introspector), issuing(client));
  return { ...(await stage.requests(`${name}.warm_up`, planned)), answers: [ACTIVE, ISSUED] };
}

function* withIssues(
  introspections: readonly PlannedRequest[],
  issue: PlannedRequest,
): Generator<PlannedRequest> {
  for (const [index, introspection] of introspections.entries()) {
    yield introspection;
    if (index % (ISSUE_EVERY - 1) === 0) yield issue;
  }
}
