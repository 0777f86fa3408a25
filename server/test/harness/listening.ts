import assert from 'node:assert/strict';
import { connect, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Listens on loopback, on a free port. @returns the port */
export function listenOnLoopback(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('the server has no port'));
      else resolve(address.port);
    });
  });
}

/** Waits until another program listens on a port. */
export async function listens(port: number, host = '127.0.0.1'): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const probe = connect({ host, port });
      probe.once('connect', () => resolve(true)).once('error', () => resolve(false));
      probe.once('connect', () => probe.destroy());
    });
    if (isOpen) return;
    await pause(50);
  }
  assert.fail(`no program listens on ${host}:${port}`);
}
