// Lists sentences that a reader may stumble over, in the documents and in comments, and names that say nothing, and counts
// them. The output lists places to look at. It is no score, and no test runs it.
//
//     npm run prose
//     npm run prose -- docs/hosts.md
//     npm run prose -- --counts
//     npm run prose -- --subjects main   commits since main whose subject is too long or has no area
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';

const MAX_WORDS = 30;
const MAX_SUBJECT_CHARACTERS = 72;

/** What to look for in one sentence. */
const PATTERNS: readonly (readonly [name: string, occursIn: (sentence: string) => boolean])[] = [
  [`over ${MAX_WORDS} words`, (sentence) => sentence.split(/\s+/).length > MAX_WORDS],
  ['where at the start of a clause', (sentence) => /^where\b|[,;:(] where\b/i.test(sentence)],
  ['whoever|nobody|somebody', (sentence) => /\b(who|what)ever\b|\b(nobody|somebody)\b/i.test(sentence)],
  ['So at the start', (sentence) => /^So (?!(?:far|long|much|many|that)\b)/.test(sentence)],
  ['is told', (sentence) => /\b(is|are|was|were|be|being) told\b/i.test(sentence)],
  ['unless said otherwise', (sentence) => /\b(unless|if not) \w* ?(said|says?) otherwise\b/i.test(sentence)],
  ['that is none', (sentence) => /\b(that|which|who) (is|are) none\b/i.test(sentence)],
];

/** Names that do not say what they hold or return. */
const VAGUE_NAME =
  /\b(?:const|let|function\*?) (?:told|asked|given|over|ways|one|recorded|overtaken|shown)\b|\(one\) =>/;

const AREAS: Readonly<Record<string, readonly string[]>> = {
  documents: [
    '*.md',
    '{core,protect,server}/README.md',
    'docs/*.md',
    'examples/**/*.md',
    'bench/*.md',
    'reliability/**/*.md',
  ],
  requirements: ['docs/specs/*.md'],
  decisions: ['docs/adr/*.md'],
  comments: [
    '{core,protect,server}/src/**/*.ts',
    '{core,protect,server}/test/**/*.ts',
    '{scripts,bench,reliability,examples}/**/*.ts',
  ],
};

interface Sentence {
  readonly line: number;
  readonly text: string;
}

const { values, positionals } = parseArgs({
  options: { counts: { type: 'boolean', default: false }, subjects: { type: 'string' } },
  allowPositionals: true,
});
process.chdir(dirname(import.meta.dirname));
if (values.subjects !== undefined) {
  for (const line of subjectsSince(values.subjects)) console.log(line);
  process.exit();
}

const counts = [...PATTERNS.map(([name]) => name), 'vague names'].map((name) => ({
  pattern: name,
  ...Object.fromEntries(Object.keys(AREAS).map((area) => [area, 0])),
}));
for (const [area, globs] of Object.entries(AREAS)) {
  const files = globSync([...globs], { exclude: ['**/node_modules/**', '**/dist/**'] }).sort();
  for (const file of files.filter((path) => positionals.length === 0 || positionals.includes(path))) {
    const text = readFileSync(file, 'utf8');
    const count = (pattern: string, line: number, found: string) => {
      const row = counts.find((each) => each.pattern === pattern) as Record<string, string | number>;
      row[area] = Number(row[area]) + 1;
      if (!values.counts) console.log(`${file}:${line}: ${pattern}: ${found}`);
    };
    for (const { line, text: sentence } of file.endsWith('.md') ? ofMarkdown(text) : ofComments(text))
      for (const [name, occursIn] of PATTERNS) if (occursIn(sentence)) count(name, line, sentence);
    if (file.endsWith('.ts'))
      for (const [index, line] of text.split('\n').entries())
        if (VAGUE_NAME.test(line)) count('vague names', index + 1, line.trim());
  }
}
console.table(counts);

/** The commits whose subject is not `area: what it does`, on one short line. */
function subjectsSince(ref: string): readonly string[] {
  const log = execFileSync('git', ['log', '--no-merges', '--format=%h %s', `${ref}..`], { encoding: 'utf8' });
  return log
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      const subject = line.slice(line.indexOf(' ') + 1);
      if (subject.length > MAX_SUBJECT_CHARACTERS) return `${line} (${subject.length} characters)`;
      return line === '' || /^[a-z][\w@/., -]*: \S/.test(subject) ? [] : `${line} (no area)`;
    });
}

/** The sentences of a page, without its code blocks. Each list item and each table cell is a text of its own. */
function ofMarkdown(page: string): Sentence[] {
  const prose = page.replace(/^( *)```.*?^ *```$/gms, (block) => block.replace(/[^\n]/g, ''));
  const blocks: { readonly line: number; text: string }[] = [];
  for (const [index, line] of prose.split('\n').entries()) {
    const last = blocks.at(-1);
    const isContinued = last !== undefined && last.text !== '' && !/^\s*$|^\s*(?:[-*|#>]|\d+\.)/.test(line);
    if (isContinued) last.text += ` ${line.trim()}`;
    else blocks.push({ line: index + 1, text: line.trim() });
  }
  return blocks.flatMap(({ line, text }) =>
    text
      .replace(/^(?:[-*#>]+|\d+\.)\s/, '')
      .split(text.startsWith('|') ? /(?<!\\)\|/ : /$/)
      .flatMap((part) => sentencesOf(part, line)),
  );
}

/** The sentences of a source's comments. Neighbouring line comments are one text. */
function ofComments(source: string): Sentence[] {
  const blocks: { line: number; readonly first: number; text: string }[] = [];
  for (const [index, line] of source.split('\n').entries()) {
    const [, before = '', text] =
      /^(.*?)(?:(?<=^|\s)\/\/ |\/\*\*? ?|^\s*\* )(.*?)(?:\*\/)?$/.exec(line) ?? [];
    if (text === undefined) continue;
    const last = blocks.at(-1);
    if (last?.line === index && before.trim() === '') {
      last.line = index + 1;
      last.text += ` ${text.trim()}`;
    } else blocks.push({ line: index + 1, first: index + 1, text: text.trim() });
  }
  return blocks.flatMap(({ first, text }) => sentencesOf(text, first));
}

/** Splits a text at its full stops. A link counts as its title, and a piece of code as one word. */
function sentencesOf(text: string, line: number): Sentence[] {
  return text
    .split(/(?<=[.!?][)”"*]*)\s+(?=[\p{Lu}`"“*([\u00a7])|\s(?=@\w)/u)
    .map((sentence) =>
      sentence
        .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replace(/<[^>]*>/g, '')
        .replace(/`[^`]*`/g, (code) => code.replace(/\s+/g, '_'))
        .trim(),
    )
    .filter((sentence) => sentence !== '')
    .map((sentence) => ({ line, text: sentence }));
}
