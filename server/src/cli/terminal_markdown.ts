// Markdown of the documentation as plain text for a terminal.

interface RenderOptions {
  /** Columns. Code is not wrapped. */
  readonly width: number;
  /** What a link shows after its text, such as an address. Default: nothing. */
  readonly afterLink?: (target: string) => string | undefined;
}

const CODE_INDENT = '    ';

/** A line that begins an item of a list: its indent, its mark and its text. */
const ITEM = /^( *)([-*]|\d+\.) +(.*)$/;

/**
 * Renders what the documentation uses of Markdown: headings, paragraphs, lists, tables, quotes, code, links, pictures.
 * @returns lines without a final line end
 */
export function renderMarkdown(markdown: string, { width, afterLink }: RenderOptions): string {
  const lines = markdown.replaceAll(/<!--.*?-->\n?/gs, '').split('\n');
  const output: string[] = [];
  const inline = (text: string) => plain(text, afterLink);
  let paragraph: { readonly first: string; readonly rest: string; text: string } | undefined;
  const flush = () => {
    if (paragraph !== undefined) output.push(...wrapped(inline(paragraph.text), width, paragraph));
    paragraph = undefined;
  };

  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? '';
    const fence = /^( *)(```+)(.*)$/.exec(line);
    const item = ITEM.exec(line);
    const heading = /^(#+) (.*)$/.exec(line);
    if (fence !== null) {
      flush();
      const [, indent = '', mark = ''] = fence;
      const end = lines.findIndex((one, other) => other > index && one.trim() === mark);
      const code = lines.slice(index + 1, end === -1 ? undefined : end);
      const own = (one: string) => (one.startsWith(indent) ? one.slice(indent.length) : one.trimStart());
      output.push(...code.map((one) => `${indent}${CODE_INDENT}${own(one)}`.trimEnd()));
      index = end === -1 ? lines.length : end;
    } else if (line.trim() === '') {
      flush();
      if (output.at(-1) !== '') output.push('');
    } else if (heading !== null) {
      flush();
      const text = inline(heading[2] ?? '');
      output.push(text, (heading[1]?.length === 1 ? '=' : '-').repeat(Math.min(text.length, width)));
    } else if (/^ *\|/.test(line)) {
      flush();
      const end = lines.findIndex((one, other) => other > index && !/^ *\|/.test(one));
      const rows = lines.slice(index, end === -1 ? undefined : end);
      output.push(
        ...table(
          rows.map((row) => cellsOf(row).map(inline)),
          width,
        ),
      );
      index += rows.length - 1;
    } else if (item !== null) {
      flush();
      const [, indent = '', mark = '', text = ''] = item;
      const first = `${indent}${mark} `;
      paragraph = { first, rest: ' '.repeat(first.length), text };
    } else if (paragraph !== undefined) paragraph.text += ` ${line.trim().replace(/^> ?/, '')}`;
    else {
      const [, indent = ''] = /^( *)/.exec(line) ?? [];
      const lead = line.trimStart().startsWith('>') ? `${indent}| ` : indent;
      paragraph = { first: lead, rest: lead, text: line.trim().replace(/^> ?/, '') };
    }
  }
  flush();
  return output.join('\n').trim();
}

/** Code keeps its characters. Everything else loses its marks. */
function plain(text: string, afterLink: RenderOptions['afterLink']): string {
  const codes: string[] = [];
  const withoutCode = text.replaceAll(/(`+)(.+?)\1/g, (_, __, code: string) => {
    codes.push(code);
    return `\0${codes.length - 1}\0`;
  });
  return withoutCode
    .replaceAll(/<br *\/?>/g, ' ')
    .replaceAll(/<img [^>]*alt="([^"]*)"[^>]*>/g, '[picture: $1]')
    .replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, '[picture: $1]')
    .replaceAll(/<(https?:[^>\s]+)>/g, '$1')
    .replaceAll(/\[((?:[^[\]]|\[[^\]]*\])*)\]\(<?([^)\s>]+)>?\)/g, (_, shown: string, target: string) => {
      const after = afterLink?.(target);
      return after === undefined || after === shown ? shown : `${shown} [${after}]`;
    })
    .replaceAll(/\*\*(.+?)\*\*/g, '$1')
    .replaceAll(/(?<![\w*\\])\*(?! )(.+?)(?<! )\*(?![\w*])/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replaceAll(/\\([\\`*_{}[\]()#+.!|<>-])/g, '$1')
    .replaceAll(/\0(\d+)\0/g, (_, index: string) => codes[Number(index)] ?? '');
}

function wrapped(
  text: string,
  width: number,
  { first, rest }: { readonly first: string; readonly rest: string },
): readonly string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(/\s+/).filter((one) => one !== '')) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      [line, isEmpty] = [rest, true];
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line.trimEnd()];
}

function cellsOf(row: string): readonly string[] {
  const inner = row.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

const GAP = '  ';

/** The last column wraps. If there is little room for it, each cell gets lines of its own. */
function table([titles = [], , ...rows]: readonly (readonly string[])[], width: number): readonly string[] {
  const columns = titles.slice(0, -1).map((title, column) => {
    const cells = [title, ...rows.map((row) => row[column] ?? '')];
    return Math.max(...cells.map((cell) => cell.length));
  });
  const taken = columns.reduce((sum, column) => sum + column + GAP.length, 0);
  if (taken > width / 2) {
    return [titles, ...rows].flatMap((row) => [
      ...wrapped(row[0] ?? '', width, { first: '', rest: '  ' }),
      ...row
        .slice(1)
        .flatMap((cell) => (cell === '' ? [] : wrapped(cell, width, { first: '    ', rest: '    ' }))),
    ]);
  }
  return [titles, titles.map((title) => '-'.repeat(title.length)), ...rows].flatMap((row) => {
    const head = columns.map((column, index) => (row[index] ?? '').padEnd(column) + GAP).join('');
    return wrapped(row.at(-1) ?? '', width, { first: head, rest: ' '.repeat(taken) });
  });
}
