// The charts of the overview: figures of each minute, as tables, and drawn above them by a script.
import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { COUNTED_OPERATIONS, quantile, SAMPLE_SECONDS, type Sample } from '../monitoring/history.ts';
import type { PageContext } from '../pages/browser/request.ts';
import type { Html } from '../texts/formats/html.ts';
import { reasonLabel, type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { CHART_SCRIPT } from './chart_library.ts';
import { rawName } from './forms.ts';
import { urlOf } from './frame.ts';

/** Reasons of refusals that have a series of their own. */
const MAX_REASONS = 5;

/** A line in a chart. */
interface Series {
  readonly label: string;
  /** The code of a reason, which is short. The label is the beginning of its sentence. */
  readonly code?: string;
  /** One per minute; `null` if nothing happened that could be measured. */
  readonly values: readonly (number | null)[];
  /** The last value, that of all minutes together and the highest, as the table shows them. */
  readonly cells: readonly [last: string, whole: string, highest: string];
}

interface Chart {
  readonly id: string;
  readonly title: string;
  /** Whether its values are counts, which the axis shows as whole numbers. */
  readonly isCount: boolean;
  readonly series: readonly Series[];
}

/** What the script draws. */
interface Figures {
  /** The end of each minute, in seconds since 1970. */
  readonly times: readonly number[];
  readonly charts: readonly Chart[];
}

/** `GET /console/figures`: the figures of the charts as JSON, for their script. */
export async function showFigures({ c, console: { history }, setting }: Visit): Promise<Response> {
  c.header('cache-control', 'no-store');
  c.header('x-content-type-options', 'nosniff');
  return c.json(figuresOf(history?.samples ?? [], textsIn(setting.language)));
}

const LIBRARY_TAG = createHash('sha256').update(CHART_SCRIPT).digest('base64url').slice(0, 16);

/** `GET /console/uplot.js`: the chart library. Its URL names the version, so browsers may keep it. */
export function showLibrary(c: PageContext): Response {
  c.header('content-type', 'text/javascript; charset=utf-8');
  c.header('cache-control', 'private, max-age=31536000, immutable');
  c.header('x-content-type-options', 'nosniff');
  c.header('cross-origin-resource-policy', 'same-origin');
  return c.body(CHART_SCRIPT);
}

type Measure = (sample: Sample) => number;

/** Samples of a minute. */
const PER_MINUTE = 60 / SAMPLE_SECONDS;

/** The samples as minutes, of which the last one ends now. An incomplete first one is left out, unless it is alone. */
function minutesOf(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  const minutes: (readonly Sample[])[] = [];
  for (let end = samples.length; end > 0; end -= PER_MINUTE) {
    const minute = samples.slice(Math.max(0, end - PER_MINUTE), end);
    if (minute.length === PER_MINUTE || minutes.length === 0) minutes.unshift(minute);
  }
  return minutes;
}

/**
 * Every whole minute, wherever it begins. The highest of them is the same with the next sample, unlike that of minutes
 * whose beginnings move with the time.
 */
function anyMinutesOf(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  if (samples.length === 0) return [];
  const last = Math.max(0, samples.length - PER_MINUTE);
  return Array.from({ length: last + 1 }, (_, begin) => samples.slice(begin, begin + PER_MINUTE));
}

export function figuresOf(samples: readonly Sample[], texts: Texts): Figures {
  const { charts: words } = texts.console;
  const minutes = minutesOf(samples);
  const anyMinutes = anyMinutesOf(samples);
  const measured = (measure: (samples: readonly Sample[]) => number | null): Measured => ({
    values: minutes.map(measure),
    whole: measure(samples),
    any: anyMinutes.map(measure),
  });
  const series = (label: string, { values, whole, any }: Measured, isCount: boolean): Series => {
    const known = any.filter((value) => value !== null);
    const shown = (value: number | null | undefined) => cell(value, isCount, texts);
    return {
      label,
      values: values.map((value) => (value === null ? null : Number(value.toPrecision(4)))),
      cells: [shown(values.at(-1)), shown(whole), shown(known.length === 0 ? null : Math.max(...known))],
    };
  };
  const counts = (label: string, measure: Measure) =>
    series(
      label,
      measured((part) => sum(part, measure)),
      true,
    );
  const quantiles = (metric: Parameters<typeof quantile>[0], member: 'latencies' | 'storage') =>
    ([0.5, 0.95, 0.99] as const).map((share) =>
      series(
        words.quantile(texts.formats.number(share * 100)),
        measured((part) => duration(part, metric, member, share)),
        false,
      ),
    );
  const { reasons, others } = topReasons(samples);
  const refused = (names: readonly string[]) => (sample: Sample) =>
    names.reduce((total, name) => total + (sample.refusals[name] ?? 0), 0);
  return {
    times: minutes.map((minute) => Math.round((minute.at(-1)?.atMs ?? 0) / 1000)),
    charts: [
      {
        ...{ id: 'requests', title: words.requests, isCount: true },
        series: [...COUNTED_OPERATIONS, 'other' as const].map((name) =>
          counts(words.operations[name], ({ requests }) => requests[name] ?? 0),
        ),
      },
      {
        ...{ id: 'latency', title: words.latency, isCount: false },
        series: quantiles('http_server_request_duration_seconds', 'latencies'),
      },
      {
        ...{ id: 'refusals', title: words.refusals, isCount: true },
        series: [
          ...reasons.map((name) =>
            name === 'fault'
              ? counts(words.faults, refused([name]))
              : { ...counts(reasonLabel(texts, name), refused([name])), code: name },
          ),
          ...(others.length > 0 || reasons.length === 0 ? [counts(words.otherReasons, refused(others))] : []),
        ],
      },
      {
        ...{ id: 'issued', title: words.tokens, isCount: true },
        series: [
          counts(words.issued, ({ issued }) => issued),
          counts(words.revocations, ({ revocations }) => revocations),
        ],
      },
      {
        ...{ id: 'storage', title: words.storage, isCount: false },
        series: quantiles('db_client_operation_duration_seconds', 'storage'),
      },
      {
        ...{ id: 'upkeep', title: words.upkeep, isCount: true },
        series: [
          counts(words.swept, ({ sweptRows }) => sweptRows),
          counts(words.storageFaults, ({ storageFaults }) => storageFaults),
        ],
      },
    ],
  };
}

function sum(samples: readonly Sample[], measure: Measure): number {
  return samples.reduce((total, sample) => total + measure(sample), 0);
}

interface Measured {
  readonly values: readonly (number | null)[];
  /** Of all minutes together. */
  readonly whole: number | null;
  /** Of every whole minute, wherever it begins. */
  readonly any: readonly (number | null)[];
}

/** A quantile of durations, in milliseconds. */
function duration(
  samples: readonly Sample[],
  metric: Parameters<typeof quantile>[0],
  member: 'latencies' | 'storage',
  share: number,
): number | null {
  const counts: number[] = [];
  for (const sample of samples)
    for (const [at, count] of sample[member].entries()) counts[at] = (counts[at] ?? 0) + count;
  const seconds = quantile(metric, counts, share);
  return seconds === undefined ? null : seconds * 1000;
}

/** The most frequent reasons of refusals, and all others. */
export function topReasons(samples: readonly Sample[]) {
  const counts = new Map<string, number>();
  for (const { refusals } of samples)
    for (const [name, count] of Object.entries(refusals)) counts.set(name, (counts.get(name) ?? 0) + count);
  const sorted = [...counts].toSorted(([, item], [, other]) => other - item).map(([name]) => name);
  return { counts, reasons: sorted.slice(0, MAX_REASONS), others: sorted.slice(MAX_REASONS) };
}

function cell(value: number | null | undefined, isCount: boolean, { formats }: Texts): string {
  if (value === null || value === undefined) return '–';
  return isCount ? formats.number(value, 0) : formats.number(value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

/** How long the samples cover, in seconds. */
export function secondsOf(samples: readonly Sample[]): number {
  return sum(samples, ({ seconds }) => seconds);
}

/** The charts, each with a table of its figures. Without scripts, only the tables are there. */
export function chartsSection(base: string, samples: readonly Sample[], texts: Texts): Html {
  const { charts: words } = texts.console;
  const figures = figuresOf(samples, texts);
  return html`<p class="note">${words.about}<span id="live" hidden> ${words.live}</span></p>
<p id="stopped" class="caution" role="status" hidden><span>${words.stopped}</span></p>
<div class="charts" data-url="${base}/figures" data-help="${urlOf(base, 'help')}" data-figures="${JSON.stringify(figures)}">
${figures.charts.map((chart) => chartOf(chart, base, words))}</div>
<script src="${base}/uplot.js?v=${LIBRARY_TAG}"></script>
<script>${raw(CHARTS_SCRIPT)}</script>`;
}

function chartOf({ id, title, series }: Chart, base: string, words: Texts['console']['charts']): Html {
  return html`<section id="chart-${id}" class="chart" aria-labelledby="title-${id}">
<h3 id="title-${id}">${title}</h3>
<div class="plot" aria-hidden="true" hidden></div>
<table>
<thead><tr><th scope="col"><span class="unseen">${words.series}</span></th>${[words.last, words.whole, words.highest].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>
${series.map((one, index) => html`<tr><th scope="row"><span class="swatch s${String(index + 1)}"></span>${labelOf(one, base)}</th>${one.cells.map((text) => html`<td>${text}</td>`)}</tr>\n`)}</tbody>
</table>
</section>
`;
}

/** A sentence is too long for a legend on narrow screens: there, the code leads to it. */
function labelOf({ label, code }: Series, base: string): Html {
  if (code === undefined) return html`${label}`;
  return html`<a href="${urlOf(base, 'help', { about: code })}" title="${label}">${rawName(code, 0)}</a><span class="why">${label}</span>`;
}

/**
 * Defines `timesOn`: the times at which an axis has labels, in seconds, and the labels. There is at least one if `most` is
 * 3 or more, and no two are the same. They are in UTC, whatever the time zone of the browser. From a day on, they have the
 * date. If they are weeks apart, they are months.
 */
export const TIME_AXIS_SCRIPT = `
const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 5760, 10080, 20160].map((minutes) => minutes * 60);

function timesOn(from, to, most, language) {
  const step = timeSteps.find((seconds) => (to - from) / seconds <= most);
  const times = [];
  if (step) for (let at = Math.ceil(from / step) * step; at <= to; at += step) times.push(at);
  else {
    const first = new Date(from * 1000);
    const months = Math.max(1, Math.ceil((to - from) / (28 * 86400) / most));
    for (let month = first.getUTCMonth() + 1, at = 0; ; month += months) {
      at = Date.UTC(first.getUTCFullYear(), month) / 1000;
      if (at > to) break;
      times.push(at);
    }
  }
  const format = new Intl.DateTimeFormat(language, {
    timeZone: 'UTC',
    ...(step ? step < 86400 && { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } : { month: 'short', year: 'numeric' }),
    ...(step && (to - from >= 86400 || step >= 86400) && { day: 'numeric', month: 'short' }),
  });
  return { times, labels: times.map((at) => format.format(at * 1000)) };
}`;

/** Draws the figures above their tables, and fetches them again every now and then. */
export const CHARTS_SCRIPT = `${TIME_AXIS_SCRIPT}
const charts = document.querySelector('.charts');
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 5]];
const wholes = [1, 2, 5].flatMap((step) => [...Array(9).keys()].map((zeros) => step * 10 ** zeros)).sort((one, other) => one - other);
const plots = new Map();
let figures = JSON.parse(charts.dataset.figures);

const color = (name) => getComputedStyle(charts).getPropertyValue(name).trim();
const number = new Intl.NumberFormat(document.documentElement.lang, { maximumSignificantDigits: 3 });
// Labels with a date are wider.
const timesOf = (plot, from, to) =>
  timesOn(from, to, Math.max(3, Math.floor(plot.width / (to - from < 86400 ? 72 : 110))), document.documentElement.lang);

function optionsOf(chart, width) {
  const axis = {
    stroke: color('--muted'), font: '12px system-ui, sans-serif', ticks: { show: false },
    grid: { stroke: color('--line'), width: 1 },
  };
  return {
    width, height: 160, padding: [8, 20, 0, 0],
    legend: { show: false }, cursor: { show: false },
    scales: {
      x: { time: true, range: () => [Math.min(figures.times[0], figures.times.at(-1) - 60), figures.times.at(-1)] },
      y: { range: (_, least, most) => [0, most > 0 ? most * 1.1 : chart.isCount ? 4 : 1] },
    },
    axes: [
      {
        ...axis, size: 28,
        splits: (plot, _, from, to) => timesOf(plot, from, to).times,
        values: (plot) => timesOf(plot, plot.scales.x.min, plot.scales.x.max).labels,
      },
      { ...axis, space: 36, size: 48, ...(chart.isCount && { incrs: wholes }), values: (_, splits) => splits.map((at) => number.format(at)) },
    ],
    series: [{}, ...chart.series.map(({ label }, index) => ({
      label, stroke: color('--chart-' + (index + 1)), width: 1.75, dash: dashes[index], points: { show: figures.times.length === 1, size: 6 },
    }))],
  };
}

function draw(chart) {
  const section = document.getElementById('chart-' + chart.id);
  const place = section.querySelector('.plot');
  if (figures.times.length === 0) return;
  place.hidden = false;
  const data = [figures.times, ...chart.series.map(({ values }) => values)];
  const labels = chart.series.map(({ label }) => label).join();
  const known = plots.get(chart.id);
  // One point is a dot, and two are a line.
  if (known?.labels === labels && figures.times.length > 2) return known.plot.setData(data);
  known?.plot.destroy();
  const plot = new uPlot(optionsOf(chart, place.clientWidth), data, place);
  plots.set(chart.id, { labels, plot, place });
}

function fill(chart) {
  const rows = chart.series.map(({ label, code, cells }, index) => {
    const row = document.createElement('tr');
    const head = document.createElement('th');
    head.scope = 'row';
    const swatch = document.createElement('span');
    swatch.className = 'swatch s' + (index + 1);
    head.append(swatch);
    if (code) {
      const link = document.createElement('a');
      link.href = charts.dataset.help + '?about=' + code;
      link.title = label;
      const raw = document.createElement('code');
      raw.className = 'raw';
      for (const part of code.split(/(?<=_)/)) raw.append(document.createElement('wbr'), part);
      link.append(raw);
      const why = document.createElement('span');
      why.className = 'why';
      why.textContent = label;
      head.append(link, why);
    } else head.append(label);
    row.append(head, ...cells.map((text) => {
      const cell = document.createElement('td');
      cell.textContent = text;
      return cell;
    }));
    return row;
  });
  document.querySelector('#chart-' + chart.id + ' tbody').replaceChildren(...rows);
}

function drawAgain() {
  for (const { plot } of plots.values()) plot.destroy();
  plots.clear();
  figures.charts.forEach(draw);
}

async function refresh() {
  // A hidden page asks for nothing, so it does not keep the session alive.
  if (document.hidden) return;
  try {
    const response = await fetch(charts.dataset.url, { headers: { accept: 'application/json' } });
    // After the end of the session, the answer is the sign-in page.
    if (!response.ok || response.redirected) throw new Error('no figures');
    figures = await response.json();
    for (const chart of figures.charts) { draw(chart); fill(chart); }
    document.getElementById('stopped').hidden = true;
  } catch {
    document.getElementById('stopped').hidden = false;
  }
}

figures.charts.forEach(draw);
document.getElementById('live').hidden = false;
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAgain);
new ResizeObserver(() => {
  for (const { plot, place } of plots.values())
    if (plot.width !== place.clientWidth) plot.setSize({ width: place.clientWidth, height: 160 });
}).observe(charts);
setInterval(refresh, ${SAMPLE_SECONDS * 1000});
// A server that has just started has no figures for some seconds.
const early = setInterval(() => { if (figures.times.length === 0) refresh(); else clearInterval(early); }, 1000);
`;
