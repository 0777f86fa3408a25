import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axeCore from 'axe-core';
import type { Page } from 'playwright-core';

/** Runs inside the page. */
declare const axe: typeof axeCore;

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const RULES = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations', 'incomplete'],
} satisfies axeCore.RunOptions;

/** Everything except decorative drawings: their letters are not text. */
const LOOKED_AT = { exclude: ['svg[aria-hidden="true"]'] };

/** The violations that axe finds, or cannot decide, each with its elements. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, because the page's own policy allows no script.
  await page.evaluate(AXE);
  const { violations, incomplete } = await page.evaluate(([context, rules]) => axe.run(context, rules), [
    LOOKED_AT,
    RULES,
  ] as const);
  return [...violations.map(told), ...incomplete.map((result) => `undecided: ${told(result)}`)];
}

function told({ id, help, nodes }: axeCore.Result): string {
  return `${id}: ${help}: ${nodes.map(({ html }) => html).join(', ')}`;
}
