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
): Promise<{ readonly hash: string; readonly toPrint?: string }> {
  const server = await parts.server();
  if (wanted !== 'generate') return { hash: await server.hashClientSecret(wanted.brought) };
  const secret = server.newClientSecret();
  return { hash: await server.hashClientSecret(secret), toPrint: secret };
}

export async function wantedSecret({ secretStdin }: { readonly secretStdin?: true }): Promise<WantedSecret> {
  if (!secretStdin) return 'generate';
  const brought = await readStandardInput('the secret');
  if (!/^[\x20-\x7E]+$/.test(brought) || brought.length < LEAST_CHARACTERS)
    throw new BadUsage(`--secret-stdin: expected at least ${LEAST_CHARACTERS} ASCII characters`);
  return { brought };
}

export function printSecret(output: Output, id: string, secret: string | undefined, done: string): void {
  const lines = secret === undefined ? [done] : [`${done}; its secret, which is shown this once:`, secret];
  printOne(output, { id, ...(secret !== undefined && { secret }) }, lines);
}
