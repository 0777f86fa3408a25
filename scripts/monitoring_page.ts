import { readFileSync } from 'node:fs';
import { labelsOf, METRIC_NAMES, METRICS } from '../server/src/monitoring/metrics.ts';

const TABLE =
  /(?<=^\| metric \| kind \| labels \| what it measures \|\n\| --- \| --- \| --- \| --- \|\n)(?:\|.*\n)*/m;

/** `docs/monitoring.md` with a row for each metric. */
export function monitoringPage(): string {
  const page = readFileSync('docs/monitoring.md', 'utf8');
  if (!TABLE.test(page)) throw new Error('docs/monitoring.md has no table of metrics');
  const rows = METRIC_NAMES.map((name) => {
    const labels = labelsOf(name).map((label) => `\`${label}\``);
    return `| \`${name}\` | ${METRICS[name].kind} | ${labels.join(', ')} | ${METRICS[name].about} |\n`;
  });
  return page.replace(TABLE, rows.join(''));
}
