import { CommanderError } from 'commander';
import { ConfigurationRefused } from '../config/refused.ts';

/** What scripts can rely on. */
export const EXIT = { done: 0, failed: 1, badUsage: 2 } as const;

export const EXIT_HELP = `
Exit codes: ${EXIT.done} done, ${EXIT.failed} failed or refused, ${EXIT.badUsage} bad usage or configuration.`;

/** The command line itself does not fit. */
export class BadUsage extends Error {
  override readonly name = 'BadUsage';
}

/** The exit code for what a command threw, after saying on stderr what went wrong. */
export function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.badUsage;
  console.error(`grantd: ${error instanceof Error ? messageOf(error) : String(error)}`);
  return error instanceof BadUsage || error instanceof ConfigurationRefused ? EXIT.badUsage : EXIT.failed;
}

/** A storage fault says what it is; why is in its cause. */
function messageOf(error: Error): string {
  return error.cause instanceof Error ? `${error.message} (${reasonOf(error.cause)})` : reasonOf(error);
}

/** Where several addresses of a host were tried in vain, there is no message. */
function reasonOf(error: Error): string {
  return error.message || ('code' in error ? String(error.code) : error.name);
}
