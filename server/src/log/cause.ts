import { DocumentError } from '@grantd/core';

/** What went wrong underneath, for the log. */
export interface Cause {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: Cause;
}

/** Opaque values of this server, and anything that looks like a JWT, or like the beginning of one that was cut off. */
const BEARERS = /grantd_(at|rt|ac|cs|ra|ia)_[\w.-]+|ey[\w-]{8,}\.[\w-]+(\.[\w-]*|$)/g;

/**
 * An error as it may be logged: of its members only those named here, since a library may hang anything on an error,
 * and without bearer values in its text.
 */
export function causeOf(error: unknown, depth = 0): Cause {
  if (!(error instanceof Error)) return { name: typeof error, message: withoutBearers(String(error)) };
  const code = 'code' in error && error.code !== undefined ? String(error.code) : undefined;
  return {
    name: error.name,
    message: withoutBearers(error.message),
    ...(code !== undefined && { code }),
    // What a client names by URL can often not be had; that is told by the message.
    ...(error.stack !== undefined &&
      !(error instanceof DocumentError) && { stack: withoutBearers(error.stack) }),
    ...(error.cause !== undefined && depth < 3 && { cause: causeOf(error.cause, depth + 1) }),
  };
}

/** A text as it may be logged. */
export function withoutBearers(text: string): string {
  return text.replace(BEARERS, '[removed]');
}
