import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axeCore from 'axe-core';
import type { Page } from 'playwright-core';

/** In the page, once it has been evaluated there. */
declare const axe: typeof axeCore;

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const RULES = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations', 'incomplete'],
} satisfies axeCore.RunOptions;

/** All but drawings that say nothing: letters in them are not text. */
const LOOKED_AT = { exclude: ['svg[aria-hidden="true"]'] };

/** What axe finds wrong with a page, or cannot decide; each with the elements that it is about. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger: the page's own policy runs no script.
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
