import assert from 'node:assert/strict';

const LONGEST_ANSWER_MS = 5000;

/**
 * Checks that an example listens on loopback only. On Linux, all of 127.0.0.0/8 is loopback, so a server that listens
 * on every address also responds at this one.
 */
export async function assertLoopbackAlone(url: string): Promise<void> {
  const elsewhere = new URL(url);
  elsewhere.hostname = '127.0.0.2';
  await assert.rejects(fetch(elsewhere, { signal: AbortSignal.timeout(LONGEST_ANSWER_MS) }));
}
