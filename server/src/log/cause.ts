import { DocumentError, withoutBearers } from '@grantd/core';

/** What went wrong underneath, for the log. */
export interface Cause {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: Cause;
}

/** Characters of a message, and of the stack of what was caught; those of its causes tell little more. */
const LONGEST_MESSAGE = 300;
const LONGEST_STACK = 1000;
const LONGEST_STACK_OF_CAUSE = 200;

/**
 * An error as it may be logged: of its members only those named here, since a library may hang anything on an error,
 * and without bearer values in its text.
 */
export function causeOf(error: unknown, depth = 0): Cause {
  if (!(error instanceof Error)) return { name: typeof error, message: cut(String(error), LONGEST_MESSAGE) };
  const code = 'code' in error && error.code !== undefined ? String(error.code) : undefined;
  return {
    name: error.name,
    message: cut(error.message, LONGEST_MESSAGE),
    ...(code !== undefined && { code }),
    // What a client names by URL can often not be had; that is told by the message.
    ...(error.stack !== undefined &&
      !(error instanceof DocumentError) && {
        stack: cut(error.stack, depth === 0 ? LONGEST_STACK : LONGEST_STACK_OF_CAUSE),
      }),
    ...(error.cause !== undefined && depth < 3 && { cause: causeOf(error.cause, depth + 1) }),
  };
}

/** What was cut off might have told that the rest belongs to a bearer value: that is removed before. */
function cut(text: string, longest: number): string {
  const loggable = withoutBearers(text);
  return loggable.length > longest ? `${loggable.slice(0, longest)}…` : loggable;
}
