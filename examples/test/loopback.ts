import assert from 'node:assert/strict';

const LONGEST_ANSWER_MS = 5000;

/**
 * That an example is there for this machine alone. Where all of 127.0.0.0/8 is the loopback interface, as on Linux,
 * whoever listens on every address answers at this one as well.
 */
export async function assertLoopbackAlone(url: string): Promise<void> {
  const elsewhere = new URL(url);
  elsewhere.hostname = '127.0.0.2';
  await assert.rejects(fetch(elsewhere, { signal: AbortSignal.timeout(LONGEST_ANSWER_MS) }));
}
