import { readFileSync } from 'node:fs';

/**
 * Reads Node's flags and variables from a script's first line: `#!/usr/bin/env -S NAME=value node --flag`.
 * @param {string} script a file
 * @returns {{ flags: string[], variables: Record<string, string> }}
 */
export function settingsOf(script) {
  const [line = ''] = readFileSync(script, 'utf8').split('\n', 1);
  const words = line.startsWith('#!') ? line.split(' ') : [];
  const variables = words.filter((word) => /^\w+=/.test(word)).map((word) => word.split('='));
  return { flags: words.filter((word) => word.startsWith('--')), variables: Object.fromEntries(variables) };
}
