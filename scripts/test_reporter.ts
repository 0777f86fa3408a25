// Prints failures, skipped tests and a line per file. Writes the result of every title for the ledger check.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** How many files are listed, so that the next reader sees where the time goes. */
const SLOWEST = 15;

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const startedAt = performance.now();
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  const titles: Record<string, 'passed' | 'failed'> = {};
  const times: (readonly [file: string, ms: number])[] = [];
  for await (const event of events) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') yield event.data.message;
    if (event.type === 'test:summary' && event.data.file !== undefined) {
      const { passed, cancelled, skipped, tests } = event.data.counts;
      const failed = tests - passed - skipped + cancelled;
      const file = relative(process.cwd(), event.data.file);
      times.push([file, event.data.duration_ms]);
      yield `  ${failed === 0 ? '✔' : '✖'} ${file}: ${passed} passed${note(failed, 'failed')}${note(skipped, 'skipped')} (${seconds(event.data.duration_ms)} s)\n`;
    }
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { name, details, skip, file } = event.data;
    if (details.type === 'suite') continue;
    if (skip !== undefined && skip !== false) {
      total.skipped++;
      yield `  – skipped: ${name}${typeof skip === 'string' ? ` (${skip})` : ''}\n`;
    } else if (event.type === 'test:pass') {
      total.passed++;
      titles[name] ??= 'passed';
    } else {
      total.failed++;
      titles[name] = 'failed';
      yield `\n✖ ${name}\n  ${file ?? ''}\n${indented(event.data.details.error)}\n`;
    }
  }
  writeFileSync('.test-results/titles.json', JSON.stringify(titles));
  if (times.length > SLOWEST) {
    const slowest = times.toSorted(([, one], [, other]) => other - one).slice(0, SLOWEST);
    yield `The slowest files:\n${slowest.map(([file, ms]) => `${seconds(ms).padStart(7)} s  ${file}\n`).join('')}`;
  }
  yield `${seconds(performance.now() - startedAt)} s\n`;
  yield `${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

function note(count: number, word: string): string {
  return count === 0 ? '' : `, ${count} ${word}`;
}

function indented(error: Error): string {
  const { cause } = error;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause ?? error.stack);
  return text.replaceAll(/^/gm, '    ');
}
