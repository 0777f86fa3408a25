// Prints failures, skipped tests and a line per file. Writes the result of every title for the ledger check.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const startedAt = performance.now();
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  const titles: Record<string, 'passed' | 'failed'> = {};
  for await (const event of events) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') yield event.data.message;
    if (event.type === 'test:summary' && event.data.file !== undefined) {
      const { passed, cancelled, skipped, tests } = event.data.counts;
      const failed = tests - passed - skipped + cancelled;
      const seconds = (event.data.duration_ms / 1000).toFixed(1);
      const file = relative(process.cwd(), event.data.file);
      yield `  ${failed === 0 ? '✔' : '✖'} ${file}: ${passed} passed${note(failed, 'failed')}${note(skipped, 'skipped')} (${seconds} s)\n`;
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
  yield `${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`;
  yield `${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`;
}

function note(count: number, word: string): string {
  return count === 0 ? '' : `, ${count} ${word}`;
}

function indented(error: Error): string {
  const { cause } = error;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause ?? error.stack);
  return text.replaceAll(/^/gm, '    ');
}
