/** How a command prints data: for people, or as JSON. */
export interface Output {
  readonly isJson: boolean;
}

/** One thing: as JSON, or as the lines that say it. */
export function printOne({ isJson }: Output, value: object, lines: readonly string[]): void {
  console.log(isJson ? JSON.stringify(value) : lines.join('\n'));
}

/** A list: as a JSON array, or as a table with a line for each. */
export function printList<T extends object>(
  { isJson }: Output,
  values: readonly T[],
  columns: Readonly<Record<string, (value: T) => string>>,
): void {
  if (isJson) {
    console.log(JSON.stringify(values));
    return;
  }
  const titles = Object.keys(columns);
  const rows = [titles, ...values.map((value) => Object.values(columns).map((cell) => cell(value)))];
  const widths = titles.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** Names with their values, one a line, those without a value left out. */
export function labelled(values: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const width = Math.max(0, ...known.map(([label]) => label.length));
  return known.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
}

/** Milliseconds as people and programs read them. */
export function timeOf(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : new Date(milliseconds).toISOString();
}

/** Progress for someone who watches; nothing goes into a file or a pipe. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}
