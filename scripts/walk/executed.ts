// Finds the files, functions and lines that ran, by V8's block counts.

import { readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { stripTypeScriptTypes } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** By path, relative to the root of the repository. */
export type Executed = Readonly<Record<string, ExecutedFile>>;

interface ExecutedFile {
  /** `name:line` of each function that was called. */
  readonly functions: readonly string[];
  /** Line numbers of executed code. */
  readonly lines: readonly number[];
}

/**
 * The files of grantd in which a function was called.
 *
 * A line counts if V8 ran any of its code. Types are erased first, as Node does it. What is left of the line must be more
 * than comments and brackets, so that neither blank lines, comments, imports and type declarations nor a closing brace
 * count. A statement over three lines counts three times. The innermost block of V8 decides: an `if` that was not taken
 * does not count, and neither does a callback that was not called.
 */
export function executedIn(root: string, scripts: readonly Profiler.ScriptCoverage[]): Executed {
  const files: Record<string, ExecutedFile> = {};
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:')) continue;
    const file = relative(root, fileURLToPath(url));
    if (!/^(?:core|server)\/src\//.test(file)) continue;
    // A range that begins at 0 is the module itself, which runs when it is loaded.
    const called = functions.filter(
      ({ ranges: [whole] }) => whole && whole.startOffset > 0 && whole.count > 0,
    );
    if (called.length === 0) continue;
    const { code, lineOf } = sourceOf(fileURLToPath(url));
    const isRun = paint(code.length, functions);
    const lines = new Set<number>();
    for (const { index } of code.matchAll(CODE)) if (isRun[index] === 1) lines.add(lineOf(index));
    const names = called.map(
      ({ functionName, ranges: [whole] }) =>
        `${functionName || 'anonymous'}:${lineOf(whole?.startOffset ?? 0)}`,
    );
    files[file] = { functions: names, lines: [...lines].sort((a, b) => a - b) };
  }
  return files;
}

/** The code that ran in each of several runs. */
export function inEach([first = {}, ...others]: readonly Executed[]): Executed {
  const common: Record<string, ExecutedFile> = {};
  for (const [file, { functions, lines }] of Object.entries(first)) {
    const inOthers = others.map((run) => run[file]);
    const kept = {
      functions: functions.filter((name) => inOthers.every((run) => run?.functions.includes(name))),
      lines: lines.filter((line) => inOthers.every((run) => run?.lines.includes(line))),
    };
    if (kept.functions.length > 0) common[file] = kept;
  }
  return common;
}

/** A line with one of these characters is code. */
const CODE = /[^\s{}()[\];,]/g;

/** For each character 1 if it ran: the innermost range of V8 around it has a count. Outer ranges come first. */
function paint(length: number, functions: readonly Profiler.FunctionCoverage[]): Uint8Array {
  const isRun = new Uint8Array(length);
  const ranges = functions.flatMap(({ ranges }) => ranges);
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  for (const { startOffset, endOffset, count } of ranges)
    isRun.fill(Math.min(count, 1), startOffset, endOffset);
  return isRun;
}

interface Source {
  /** Types and comments are replaced by spaces. */
  readonly code: string;
  readonly lineOf: (index: number) => number;
}

const sources = new Map<string, Source>();

function sourceOf(path: string): Source {
  const known = sources.get(path);
  if (known !== undefined) return known;
  const code = withoutComments(stripTypeScriptTypes(readFileSync(path, 'utf8')));
  const lineStarts = [0, ...[...code.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const source: Source = {
    code,
    lineOf: (index) => lineStarts.findLastIndex((start) => start <= index) + 1,
  };
  sources.set(path, source);
  return source;
}

/**
 * In this repository, comments are at the start or the end of a line. Inside texts and expressions, `//` never follows
 * a space.
 */
function withoutComments(code: string): string {
  const blank = (text: string) => text.replace(/[^\n]/g, ' ');
  return code.replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, blank).replace(/(?:^|[ \t])\/\/ .*$/gm, blank);
}
