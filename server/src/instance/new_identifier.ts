import { randomBytes } from 'node:crypto';

/** An identifier of 128 random bits. None begins with `-`, since a command would take it for a flag. */
export function newIdentifier(): string {
  return randomBytes(16).toString('base64url').replace(/^-/, '_');
}
