// The picture of an introspection in CONTRIBUTING.md: its files in the order in which a request reaches them.
import { readFileSync } from 'node:fs';
import { type Call, callsOfIntrospection } from './walk/walk.ts';

const PAGE = 'CONTRIBUTING.md';

/** The page with its picture as the code is now. */
export async function pageWithWalk(): Promise<string> {
  const calls = await callsOfIntrospection();
  const page = readFileSync(PAGE, 'utf8');
  const picture = /```mermaid\n[\s\S]*?```/;
  if (!picture.test(page)) throw new Error(`${PAGE} has no picture`);
  return page.replace(picture, () => `\`\`\`mermaid\n${pictureOf(calls)}\n\`\`\``);
}

/** A tree: each file hangs on the one that calls it first. Its box names the functions that other files call. */
function pictureOf(calls: readonly Call[]): string {
  const files = [...new Set(calls.map(({ file }) => file))];
  const idOf = (file: string) => `f${files.indexOf(file) + 1}`;
  const boxes = files.map((file, index) => {
    const entered = calls
      .filter((call) => call.file === file && call.caller !== file)
      .map(({ name }) => name);
    const names = [...new Set(entered)].filter((name) => /^\w+$/.test(name));
    const title = `${index + 1}. ${file.replace(/^core\/src\//, '')}`;
    return `  ${idOf(file)}["${[title, ...linesOf(names)].join('<br/>')}"]`;
  });
  const arrows = files.flatMap((file) => {
    const first = calls.find((call) => call.file === file);
    return first?.caller === undefined || first.caller === file
      ? []
      : [`  ${idOf(first.caller)} --> ${idOf(file)}`];
  });
  return ['flowchart LR', ...boxes, ...arrows].join('\n');
}

const MOST_IN_A_LINE = 3;

function linesOf(names: readonly string[]): readonly string[] {
  const count = Math.ceil(names.length / MOST_IN_A_LINE);
  return Array.from({ length: count }, (_, line) =>
    names.slice(line * MOST_IN_A_LINE, (line + 1) * MOST_IN_A_LINE).join(', '),
  );
}
