/** The result of one program at a work, relative to the bare server. */
interface Bar {
  readonly subject: string;
  /** The median of the rounds. */
  readonly ratio: number;
  readonly min: number;
  readonly max: number;
}

export interface PlotRow {
  readonly label: string;
  /** The value of the first bar, as a ratio. */
  readonly goal?: number;
  /** In drawing order. A program that cannot do the work has no value. */
  readonly bars: readonly Bar[];
}

export interface Plot {
  readonly title: string;
  readonly rows: readonly PlotRow[];
  /** A line below the title. */
  readonly caption?: string;
}

const WIDTH = 800;
const LEFT = 210;
const RIGHT = 40;
/** Without further lines of the legend. */
const TOP = 84;
const BAR = 14;
const GAP = 3;
const ROW_GAP = 18;
const MARGIN = 24;
const LEGEND_LINE = 20;
const LINE = 16;
/** Characters per label. */
const LONGEST_LINE = 28;
const SERIES = 4;

/** An SVG image that is legible on light and dark pages and accessible to screen readers. */
export function plot({ title, rows, caption }: Plot): string {
  const subjects = [...new Set(rows.flatMap(({ bars }) => bars.map(({ subject }) => subject)))];
  if (subjects.length > SERIES)
    throw new RangeError(`${subjects.length} programs are more than the plot has colours`);
  const highest = Math.max(1, ...rows.flatMap(({ bars, goal = 0 }) => [goal, ...bars.map(({ max }) => max)]));
  // Slightly above the highest value, in fifths.
  const end = highest > 1 ? Math.ceil(highest * 5) / 5 : 1;
  const x = (ratio: number) => round(LEFT + (ratio / end) * (WIDTH - LEFT - RIGHT));

  const key = legend(subjects, rows);
  const top = TOP + (key.lines - 1) * LEGEND_LINE;
  const tops: number[] = [];
  let bottom = top;
  for (const row of rows) {
    tops.push(bottom);
    bottom += heightOf(row) + ROW_GAP;
  }
  const groups = rows.map((row, index) => group(row, { top: tops[index] ?? top, x, subjects }));
  const height = bottom + 26 + (caption === undefined ? 0 : 22);

  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">
<title id="title">${escapeMarkup(title)}</title>
<desc id="desc">${escapeMarkup(inWords(rows))}</desc>
${STYLE}
<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>
<text class="title" x="24" y="34">${escapeMarkup(title)}</text>
${key.markup}
${axis(end, { x, top: top - 8, bottom: bottom - ROW_GAP + 8 })}
${groups.join('\n')}
${caption === undefined ? '' : `<text class="quiet" x="24" y="${height - 14}">${escapeMarkup(caption)}</text>`}
</svg>
`;
}

function heightOf({ label, bars }: PlotRow): number {
  return Math.max(bars.length * (BAR + GAP) - GAP, linesOf(label).length * LINE - 4);
}

interface Place {
  readonly top: number;
  readonly x: (ratio: number) => number;
  readonly subjects: readonly string[];
}

function group({ label, goal, bars }: PlotRow, { top, x, subjects }: Place): string {
  const height = heightOf({ label, bars });
  const first = top + (height - (bars.length * (BAR + GAP) - GAP)) / 2;
  const drawn = bars.map(({ subject, ratio, min, max }, index) => {
    const y = first + index * (BAR + GAP);
    const middle = y + BAR / 2;
    return (
      `<rect class="s${subjects.indexOf(subject)}" x="${LEFT}" y="${y}" width="${round(x(ratio) - LEFT)}" height="${BAR}" rx="2"/>` +
      `<path class="spread" d="M${x(min)} ${middle}H${x(max)}M${x(min)} ${middle - 3}v6M${x(max)} ${middle - 3}v6"/>` +
      `<text class="value" x="${x(max) + 7}" y="${middle + 4}">${ratio.toFixed(2)}</text>`
    );
  });
  const mark = goal === undefined ? '' : `<path class="goal" d="M${x(goal)} ${first - 5}v${BAR + 10}"/>`;
  return `${labelled(label, top + height / 2)}${drawn.join('')}${mark}`;
}

/** Text to the left of a group, in as many lines as necessary. */
function labelled(label: string, middle: number): string {
  const lines = linesOf(label);
  const first = middle + 4 - ((lines.length - 1) * LINE) / 2;
  const texts = lines.map(
    (line, index) =>
      `<text class="label" x="${LEFT - 12}" y="${first + index * LINE}">${escapeMarkup(line)}</text>`,
  );
  return texts.join('');
}

function linesOf(label: string): readonly string[] {
  const lines: string[] = [];
  for (const word of label.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && longer.length <= LONGEST_LINE) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

interface AxisPlace {
  readonly x: (ratio: number) => number;
  readonly top: number;
  readonly bottom: number;
}

function axis(end: number, { x, top, bottom }: AxisPlace): string {
  const steps = Math.round(end * 5);
  const lines = Array.from({ length: steps + 1 }, (_, step) => step / 5).map(
    (ratio) =>
      `<path class="${ratio === 1 ? 'bare' : 'line'}" d="M${x(ratio)} ${top}V${bottom}"/>` +
      `<text class="tick" x="${x(ratio)}" y="${bottom + 16}">${ratio === 1 ? 'bare = 1' : ratio.toFixed(1)}</text>`,
  );
  return lines.join('');
}

/** In as many lines as necessary. */
function legend(subjects: readonly string[], rows: readonly PlotRow[]) {
  const hasGoal = rows.some(({ goal }) => goal !== undefined);
  const entries = [
    ...subjects.map((text, index) => ({
      text,
      mark: (left: number, top: number) =>
        `<rect class="s${index}" x="${left}" y="${top}" width="12" height="12" rx="2"/>`,
    })),
    ...(hasGoal
      ? [
          {
            text: 'goal of grantd',
            mark: (left: number, top: number) => `<path class="goal" d="M${left + 5} ${top - 2}v16"/>`,
          },
        ]
      : []),
  ];
  let left = MARGIN;
  let lines = 1;
  const drawn = entries.map(({ text, mark }) => {
    const width = 18 + text.length * 7.2;
    if (left > MARGIN && left + width > WIDTH - MARGIN) {
      left = MARGIN;
      lines += 1;
    }
    const top = 48 + (lines - 1) * LEGEND_LINE;
    const entry = `${mark(round(left), top)}<text class="key" x="${round(left + 18)}" y="${top + 10}">${escapeMarkup(text)}</text>`;
    left += width + 22;
    return entry;
  });
  return { markup: drawn.join(''), lines };
}

function inWords(rows: readonly PlotRow[]): string {
  const sentences = rows.map(({ label, goal, bars }) => {
    const each = bars.map(({ subject, ratio }) => `${subject} ${ratio.toFixed(2)}`).join(', ');
    return `${label}: ${each}${goal === undefined ? '' : `; goal of grantd ${goal.toFixed(2)}`}.`;
  });
  return `Throughput as a part of what a bare node:http server answers, by kind of work. ${sentences.join(' ')}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeMarkup(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `<style>
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .label { text-anchor: end }
  .value { font-size: 12px; font-variant-numeric: tabular-nums }
  .tick { font-size: 12px; text-anchor: middle }
  .tick, .quiet { fill: #59636e }
  .quiet { font-size: 12px }
  .page { fill: #ffffff }
  .line { stroke: #e4e8ec }
  .bare { stroke: #818b98 }
  .spread { stroke: #1f2328; fill: none }
  .goal { stroke: #bc4c00; stroke-width: 2.5 }
  .s0 { fill: #1a7f5a } .s1 { fill: #57606a } .s2 { fill: #8c96a3 } .s3 { fill: #8a6fc9 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .tick, .quiet { fill: #9198a1 }
    .page { fill: #0d1117 }
    .line { stroke: #262c36 }
    .bare { stroke: #9198a1 }
    .spread { stroke: #f0f6fc }
    .goal { stroke: #f0883e }
    .s0 { fill: #2ea97c } .s1 { fill: #9198a1 } .s2 { fill: #656c76 } .s3 { fill: #a08ad8 }
  }
</style>`;
