import { CommanderError } from 'commander';
import { InvalidInput } from '../admin/operation_refused.ts';
import { ConfigurationRefused } from '../config/refused.ts';

/** Exit codes. Scripts rely on them. */
export const EXIT = { done: 0, failed: 1, badUsage: 2 } as const;

export const EXIT_HELP = `
Exit codes: ${EXIT.done} done, ${EXIT.failed} failed or refused, ${EXIT.badUsage} bad usage or configuration.`;

/** The command line is invalid. */
export class BadUsage extends Error {
  override readonly name = 'BadUsage';
}

/** One error for each invalid value. @param inWords names the value as users of the command line know it */
export function usageOf({ each }: InvalidInput, inWords: (error: InvalidInput) => string): BadUsage {
  const lines = each.map(inWords);
  return new BadUsage(
    lines.length === 1
      ? lines[0]
      : [`${lines.length} values are invalid:`, ...lines.map((line) => `  ${line}`)].join('\n'),
  );
}

const BAD_USAGE = [BadUsage, ConfigurationRefused, InvalidInput];

/** Prints a command’s error on stderr, each line with the name of the program unless it is indented. @returns the exit code */
export function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.badUsage;
  const message = error instanceof Error ? messageOf(error) : String(error);
  console.error(`grantd: ${message.replaceAll(/\n(?=\S)/g, '\ngrantd: ')}`);
  return BAD_USAGE.some((kind) => error instanceof kind) ? EXIT.badUsage : EXIT.failed;
}

/** A storage fault has its reason in its cause. */
function messageOf(error: Error): string {
  return error.cause instanceof Error ? `${error.message} (${reasonOf(error.cause)})` : reasonOf(error);
}

/** If every address of a host failed, the error has no message. */
function reasonOf(error: Error): string {
  return error.message || ('code' in error ? String(error.code) : error.name);
}
