import assert from 'node:assert/strict';
import type { RunningServer } from './program.ts';

/** A sample of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What Prometheus reads. */
export interface Scrape {
  readonly text: string;
  readonly samples: readonly Sample[];
  /** Kinds by the name of the metric. */
  readonly kinds: Readonly<Record<string, string>>;
  /** The value of each series of a metric, by the values of its labels. */
  of(name: string): Readonly<Record<string, number>>;
  /** The sum over all series with these labels. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
}

/** The URL of a server’s metrics. */
export function metricsUrl(server: Pick<RunningServer, 'stderr'>): string {
  const [, url] = /^metrics are at (\S+)$/m.exec(server.stderr()) ?? [];
  return url ?? assert.fail(`there are no metrics: ${server.stderr()}`);
}

export async function scrape(server: Pick<RunningServer, 'stderr'>): Promise<Scrape> {
  const response = await fetch(metricsUrl(server), { signal: AbortSignal.timeout(10_000) });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  return parsed(await response.text());
}

const SAMPLE = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/;

function parsed(text: string): Scrape {
  const lines = text.split('\n').filter((line) => line !== '');
  const kinds = lines.flatMap((line) => {
    const [, name, kind] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    return name === undefined || kind === undefined ? [] : [[name, kind] as const];
  });
  const samples = lines.filter((line) => !line.startsWith('#')).map(sampleOf);
  return {
    text,
    samples,
    kinds: Object.fromEntries(kinds),
    of: (name) =>
      Object.fromEntries(
        samples
          .filter((sample) => sample.name === name)
          .map(({ labels, value }) => [Object.values(labels).join(' '), value]),
      ),
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample.name === name)
        .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
        .reduce((total, { value }) => total + value, 0),
  };
}

function sampleOf(line: string): Sample {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? assert.fail(`not a sample: ${line}`);
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [
    label,
    text,
  ]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}
