// The dashboard and the alert rules in docs/monitoring/ name metrics and labels that a real scrape has.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { PAGE_REASONS } from '../src/log/page_events.ts';
import { labelsOf, METRICS, type MetricName } from '../src/monitoring/metrics.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { introspect } from './harness/protocol.ts';
import { type Scrape, scrape } from './harness/scrape.ts';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');
const ALERTS = join(DOCS, 'monitoring', 'alerts.yml');
const GUIDE = readFileSync(join(DOCS, 'monitoring.md'), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const rules: readonly Rule[] = parse(readFileSync(ALERTS, 'utf8')).groups.flatMap(
  ({ rules }: { rules: readonly Rule[] }) => rules,
);
const panels: readonly Panel[] = JSON.parse(
  readFileSync(join(DOCS, 'monitoring', 'grafana.json'), 'utf8'),
).panels;
const expressions = [
  ...rules.map(({ alert, expr }) => ({ name: alert, expr })),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ name: title, expr }))),
];

const workbench = new Workbench();
after(() => workbench.clear());

let server: RunningServer;
let found: Scrape;
before(async () => {
  server = await workbench.start(workbench.folder(), ['--demo', '--metrics-port', '0']);
  await introspect(server.url, 'unknown');
  found = await scrape(server);
});

/** Labels that Prometheus adds to every target. */
const OF_THE_TARGET = ['job', 'instance'];

/** Names that look like metrics, with the labels that select their series. */
const SELECTED = /\b((?:grantd|http|db|nodejs|v8js|process|up)(?:_\w+)?)\b(?:\{([^}]*)\})?/g;

/** The metric of the table that a name in an expression belongs to. */
function metricOf(name: string): MetricName | undefined {
  return [name, name.replace(/_(bucket|count|sum)$/, '')].find((one): one is MetricName => one in METRICS);
}

test('every metric that the dashboard and the alerts name is in a real scrape, with the labels that they select', () => {
  assert.ok(rules.length >= 10 && panels.length >= 20);
  let selected = 0;
  for (const { name, expr } of expressions) {
    // A label after `by` is no metric.
    const bare = expr.replaceAll(/\b(?:by|on|without|ignoring) \([^)]*\)/g, '');
    const series = [...bare.matchAll(SELECTED)];
    assert.ok(series.length > 0, `${name} selects nothing: ${expr}`);
    for (const [, metric = '', labels = ''] of series) {
      if (metric === 'up') continue;
      const own = metricOf(metric);
      assert.ok(own !== undefined && found.kinds[own] !== undefined, `${name}: there is no metric ${metric}`);
      const isPart = metric !== own;
      assert.equal(found.kinds[own] === 'histogram', isPart, `${name}: ${metric}`);
      for (const [, label = ''] of labels.matchAll(/(\w+)(?:=~|!~|!=|=)"/g))
        assert.ok([...OF_THE_TARGET, ...labelsOf(own)].includes(label), `${name}: ${metric} has no ${label}`);
      selected += 1;
    }
  }
  assert.ok(selected > 40);
});

test('labels that the dashboard and the alerts group by or show belong to their metrics', () => {
  const shown = panels.flatMap(({ title, targets = [] }) =>
    targets.flatMap(({ expr, legendFormat }) =>
      [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => ({ name: title, expr, label })),
    ),
  );
  const grouped = expressions.flatMap(({ name, expr }) =>
    [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) =>
      labels.split(', ').map((label) => ({ name, expr, label })),
    ),
  );
  const inAlerts = rules.flatMap(({ alert, expr, annotations }) =>
    [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => ({
      name: alert,
      expr,
      label,
    })),
  );
  assert.ok(shown.length > 10 && grouped.length > 10 && inAlerts.length > 3);
  for (const { name, expr, label } of [...shown, ...grouped, ...inAlerts]) {
    const metrics = [...expr.matchAll(SELECTED)].flatMap(([, metric = '']) => metricOf(metric) ?? []);
    const labels = [...OF_THE_TARGET, 'le', ...metrics.flatMap(labelsOf)];
    assert.ok(labels.includes(label), `${name}: ${label} is not a label of ${metrics.join(', ')}`);
  }
});

test('reasons of sign-ins in the alerts are reason codes', () => {
  const [, pattern = ''] =
    /grantd_sign_ins_total\{result=~"([^"]+)"\}/.exec(rules.map(({ expr }) => expr).join('\n')) ?? [];
  const reasons = pattern.split('|');
  assert.ok(reasons.length > 1);
  for (const reason of reasons) assert.ok(reason in PAGE_REASONS, reason);
});

test('every panel has an id of its own, and every metric is on the dashboard', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const all = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n');
  for (const name of Object.keys(METRICS)) assert.ok(all.includes(name), `${name} is on no panel`);
});

test('the guide says for every alert what to do', () => {
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity, /^(critical|warning|info)$/);
    assert.equal(annotations.runbook, `docs/monitoring.md#${alert.toLowerCase()}`);
    assert.match(GUIDE, new RegExp(`^### ${alert}\n\n\\S`, 'm'));
  }
  const headings = [...GUIDE.matchAll(/^### (Grantd\w+)$/gm)].map(([, alert]) => alert);
  assert.deepEqual(
    headings,
    rules.map(({ alert }) => alert),
  );
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

test('promtool accepts the alert rules and the text of a scrape', {
  skip: hasPromtool ? false : 'there is no promtool on this machine (package prometheus)',
}, () => {
  const checked = spawnSync('promtool', ['check', 'rules', ALERTS], { encoding: 'utf8' });
  assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  const linted = spawnSync('promtool', ['check', 'metrics'], { encoding: 'utf8', input: found.text });
  assert.equal(linted.status, 0, linted.stdout + linted.stderr);
  const config = join(workbench.folder(), 'prometheus.yml');
  const [, example = ''] = /^ {3}```yaml\n(.*?)^ {3}```/ms.exec(GUIDE) ?? [];
  writeFileSync(config, example.replaceAll(/^ {3}/gm, '').replace('- alerts.yml', `- ${ALERTS}`));
  const configured = spawnSync('promtool', ['check', 'config', config], { encoding: 'utf8' });
  assert.equal(configured.status, 0, configured.stdout + configured.stderr);
});
