import { readFileSync } from 'node:fs';
import { typedPath } from '../config/typed_folder.ts';
import { BadUsage } from './exit.ts';

/**
 * What a file holds that a flag names, as JSON. The parser's own message would quote the file.
 * @throws {BadUsage} it cannot be read, or is no JSON
 */
export function jsonIn(flag: string, path: string): unknown {
  const content = contentOf(flag, path);
  try {
    return JSON.parse(content);
  } catch {
    const found = content.startsWith('-----BEGIN') ? ', and this is PEM' : '';
    throw new BadUsage(`${flag}: ${path}: expected JSON${found}`);
  }
}

/**
 * A key set as a client's metadata has it (RFC 7517 §5).
 * @throws {BadUsage} it is plain what was meant, and that it is something else
 */
export function requireKeySet(flag: string, path: string, value: unknown): void {
  if (!isObject(value)) return;
  const keys: readonly unknown[] = Array.isArray(value.keys) ? value.keys : [value];
  if (keys.some((key) => isObject(key) && ('d' in key || 'k' in key)))
    throw new BadUsage(`${flag}: ${path} contains a private key: expected public keys alone`);
  if ('kty' in value)
    throw new BadUsage(`${flag}: ${path} is a single key: expected a set of them, {"keys":[…]}`);
}

function contentOf(flag: string, path: string): string {
  try {
    return readFileSync(typedPath(process.env, path), 'utf8');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new BadUsage(`${flag}: ${path} ${isMissing ? 'does not exist' : 'cannot be read'}`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
