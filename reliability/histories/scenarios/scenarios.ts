import { CHAINS } from './chains.ts';
import { MASS_REVOCATIONS } from './mass_revocations.ts';
import { PAIRS } from './pairs.ts';
import type { Scenario } from './scenario.ts';
import { SINGLE_TOKENS } from './single_tokens.ts';

export const SCENARIOS: readonly Scenario[] = [...SINGLE_TOKENS, ...PAIRS, ...CHAINS, ...MASS_REVOCATIONS];

/** Random, in proportion to the shares. @param part of the names; without it, all */
export function anyScenario(part = ''): Scenario {
  const among = SCENARIOS.filter(({ name }) => name.includes(part));
  const weights = among.map(({ share, histories }) => share / histories);
  let left = Math.random() * weights.reduce((sum, weight) => sum + weight);
  for (const [index, scenario] of among.entries()) {
    left -= weights[index] ?? 0;
    if (left < 0) return scenario;
  }
  throw new Error(`there is no scenario with ${part}`);
}
