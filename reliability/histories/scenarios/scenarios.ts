import { MASS_REVOCATIONS } from './mass_revocations.ts';
import { PAIRS } from './pairs.ts';
import type { Scenario } from './scenario.ts';
import { SINGLE_TOKENS } from './single_tokens.ts';

export const SCENARIOS: readonly Scenario[] = [...SINGLE_TOKENS, ...PAIRS, ...MASS_REVOCATIONS];

/** Random, in proportion to the shares. */
export function anyScenario(): Scenario {
  const weights = SCENARIOS.map(({ share, histories }) => share / histories);
  let left = Math.random() * weights.reduce((sum, weight) => sum + weight);
  for (const [index, scenario] of SCENARIOS.entries()) {
    left -= weights[index] ?? 0;
    if (left < 0) return scenario;
  }
  throw new Error('there is no scenario');
}
