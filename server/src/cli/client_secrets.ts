import type { ClientSecretRecord } from '@grantd/core';
import { seconds } from '@grantd/core/options';
import type { GivenFlags } from '../config/configuration.ts';
import { BadUsage } from './exit.ts';
import { type Output, printOne } from './output.ts';
import { readStandardInput } from './standard_input.ts';
import type { CommandParts } from './with_instance.ts';

const LEAST_CHARACTERS = 8;

/** A client's secret: brought along, or to be generated. */
export type WantedSecret = { readonly brought: string } | 'generate';

/** A secret brought along is not printed: whoever brought it has it. */
export async function secretFor(
  parts: CommandParts,
  wanted: WantedSecret,
): Promise<{ readonly stored: ClientSecretRecord; readonly toPrint?: string }> {
  const server = await parts.server();
  if (wanted !== 'generate') return { stored: await server.hashClientSecret(wanted.brought) };
  const secret = server.newClientSecret();
  return { stored: await server.hashClientSecret(secret), toPrint: secret };
}

export async function wantedSecret({ secretStdin }: { readonly secretStdin?: true }): Promise<WantedSecret> {
  if (!secretStdin) return 'generate';
  const brought = await readStandardInput('the secret');
  if (!/^[\x20-\x7E]+$/.test(brought) || brought.length < LEAST_CHARACTERS)
    throw new BadUsage(`--secret-stdin: expected at least ${LEAST_CHARACTERS} ASCII characters`);
  return { brought };
}

export interface RotationFlags extends GivenFlags {
  readonly secretStdin?: true;
  readonly overlap?: string;
  readonly now?: true;
}

/** Seconds: a day. */
const USUAL_OVERLAP = 24 * 60 * 60;

/** Seconds: ninety days. */
const LONGEST_OVERLAP = 90 * 24 * 60 * 60;

/**
 * Seconds for which a replaced secret still authenticates.
 * @throws {BadUsage} no such time, or two of them
 */
export function overlapOf({ overlap, now }: RotationFlags): number {
  if (now && overlap !== undefined) throw new BadUsage('--now means no overlap: leave out --overlap');
  if (now) return 0;
  if (overlap === undefined) return USUAL_OVERLAP;
  const kind = seconds(1, LONGEST_OVERLAP);
  const read = kind.fromText(overlap);
  if (read === undefined) throw new BadUsage(`--overlap: expected ${kind.expected}`);
  return read;
}

export function printSecret(output: Output, id: string, secret: string | undefined, done: string): void {
  const lines = secret === undefined ? [done] : [`${done}; its secret, which is shown this once:`, secret];
  printOne(output, { id, ...(secret !== undefined && { secret }) }, lines);
}
