// The text of a scrape. Loads OpenTelemetry, so it is loaded only if metrics are on.
import { ValueType } from '@opentelemetry/api';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import type { Distribution, Snapshot } from './meter.ts';
import { labelsOf, METRIC_NAMES, METRICS, type Metric, type MetricName } from './metrics.ts';
import { RESOURCE } from './resource.ts';

/** The media type of the Prometheus text format. */
export const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';

/** OpenTelemetry asks for times; the text has none. */
const NO_TIME = { startTime: [0, 0], endTime: [0, 0] } satisfies Pick<
  DataPoint<number>,
  'startTime' | 'endTime'
>;

/** Writes values as Prometheus text. */
export function prometheusText(snapshot: Snapshot): string {
  const scope = { name: 'grantd' };
  // Also those without a value, so that a scrape says which metrics there are.
  const metrics = METRIC_NAMES.map((name) => metricData(name, snapshot));
  return new PrometheusSerializer(undefined, false, undefined, false, true).serialize({
    resource: RESOURCE,
    scopeMetrics: [{ scope, metrics }],
  });
}

function metricData(name: MetricName, snapshot: Snapshot): MetricData {
  const { kind, about, bounds }: Metric = METRICS[name];
  const points = (snapshot[name] ?? []).map(([labels, value]) => ({
    ...NO_TIME,
    attributes: Object.fromEntries(labelsOf(name).map((label, at) => [label, labels[at] ?? ''])),
    value,
  }));
  const common = {
    descriptor: { name, description: about.replaceAll('`', '"'), unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (kind === 'histogram') {
    return {
      ...common,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: points.map((point) => ({ ...point, value: histogramOf(point.value, bounds) })),
    };
  }
  const dataPoints = points.map((point) => ({ ...point, value: Number(point.value) }));
  if (kind === 'gauge') return { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
  return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}

function histogramOf(value: number | Distribution, bounds: readonly number[]) {
  if (typeof value === 'number') throw new TypeError('a histogram is no number');
  const counts = [...value.counts];
  const count = counts.reduce((total, one) => total + one, 0);
  return { sum: value.sum, count, buckets: { boundaries: [...bounds], counts } };
}
