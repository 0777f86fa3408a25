// The text of a scrape, in the Prometheus text format.
import packageJson from '../../package.json' with { type: 'json' };
import type { Snapshot } from './meter.ts';
import { labelsOf, METRIC_NAMES, METRICS, type Metric, type MetricName } from './metrics.ts';

/** The media type of the Prometheus text format. */
export const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = readonly (readonly [name: string, value: string])[];

/** Writes values as Prometheus text. */
export function prometheusText(snapshot: Snapshot): string {
  // Also those without a value, so that a scrape says which metrics there are.
  return [...targetLines(), ...METRIC_NAMES.flatMap((name) => linesOf(name, snapshot))]
    .join('\n')
    .concat('\n');
}

/** What all metrics are about, as OpenTelemetry writes its resource for Prometheus. */
function targetLines(): readonly string[] {
  const labels: Labels = [
    ['service_name', process.env.OTEL_SERVICE_NAME || 'grantd'],
    ['service_version', packageJson.version],
    ['process_runtime_version', process.versions.node],
  ];
  return [...headOf('target_info', 'gauge', 'Target metadata'), sample('target_info', labels, 1)];
}

function linesOf(name: MetricName, snapshot: Snapshot): readonly string[] {
  const { kind, about, bounds }: Metric = METRICS[name];
  const points = (snapshot[name] ?? []).flatMap(([values, value]) => {
    const labels = labelsOf(name).map((label, at) => [label, values[at] ?? ''] as const);
    if (typeof value === 'number') return [sample(name, labels, value)];
    let count = 0;
    const buckets = value.counts.map((added, at) => {
      count += added;
      return sample(`${name}_bucket`, [...labels, ['le', numberText(bounds[at] ?? Infinity)]], count);
    });
    return [sample(`${name}_count`, labels, count), sample(`${name}_sum`, labels, value.sum), ...buckets];
  });
  return [...headOf(name, kind, about.replaceAll('`', '"')), ...points];
}

function headOf(name: string, kind: string, about: string): readonly string[] {
  return [
    `# HELP ${name} ${about.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
    `# TYPE ${name} ${kind}`,
  ];
}

function sample(name: string, labels: Labels, value: number): string {
  const texts = labels.map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${texts.length > 0 ? `{${texts.join(',')}}` : ''} ${numberText(value)}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}
