import { text } from 'node:stream/consumers';
import { BadUsage } from './exit.ts';

/**
 * What comes on standard input, without the line end behind it.
 * @throws {BadUsage} nothing came
 */
export async function readStandardInput(what: string): Promise<string> {
  const content = (await text(process.stdin)).replace(/\r?\n$/, '');
  if (content === '') throw new BadUsage(`expected ${what} on standard input`);
  return content;
}

/** A token as an argument, or on standard input where the argument is `-` or missing. */
export async function tokenFrom(argument: string | undefined): Promise<string> {
  if (argument !== undefined && argument !== '-') return argument;
  if (argument === undefined && process.stdin.isTTY) {
    throw new BadUsage('expected a token as an argument, or on standard input');
  }
  return (await readStandardInput('a token')).trim();
}
