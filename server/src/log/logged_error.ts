// Errors in the form in which the log shows them.
import { DocumentError, withoutBearers } from '@grantd/core';

/** The loggable part of an error. */
export interface LoggedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
}

/** Maximum characters. Stacks of causes say little, so they get less space. */
const MAX_MESSAGE = 300;
const MAX_STACK = 1000;
const MAX_CAUSE_STACK = 200;

/**
 * Prepares an error for the log. Keeps only the listed members, because libraries attach arbitrary data to errors, and
 * removes bearer values from the text.
 */
export function causeOf(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { name: typeof error, message: cut(String(error), MAX_MESSAGE) };
  const code = 'code' in error && error.code !== undefined ? String(error.code) : undefined;
  return {
    name: error.name,
    message: cut(error.message, MAX_MESSAGE),
    ...(code !== undefined && { code }),
    // A URL from a client is often unreachable. The message says enough.
    ...(error.stack !== undefined &&
      !(error instanceof DocumentError) && {
        stack: cut(error.stack, depth === 0 ? MAX_STACK : MAX_CAUSE_STACK),
      }),
    ...(error.cause !== undefined && depth < 3 && { cause: causeOf(error.cause, depth + 1) }),
  };
}

export function withoutStacks({ stack: _, cause, ...error }: LoggedError): LoggedError {
  return { ...error, ...(cause !== undefined && { cause: withoutStacks(cause) }) };
}

/** Of a refusal, the message says enough. */
export function briefOf(error: unknown): LoggedError {
  return withoutStacks(causeOf(error));
}

/** Shortens a text. Removes bearer values first, because a cut could make them unrecognisable. */
function cut(text: string, longest: number): string {
  const loggable = withoutBearers(text);
  return loggable.length > longest ? `${loggable.slice(0, longest)}…` : loggable;
}
