import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux gives to outgoing connections, and to servers that ask for any port. */
const FIRST = 20_000;
/** Ports of a process: enough for those in use at one time. */
const PER_PROCESS = 60;
const BLOCKS = 200;

const first = FIRST + (process.pid % BLOCKS) * PER_PROCESS;
let chosen = 0;

/**
 * A free loopback port. It stays free until a server uses it, also while that server is down: each process chooses from
 * ports of its own, and the system chooses from higher ones.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < PER_PROCESS; attempt++) {
    const port = first + (chosen++ % PER_PROCESS);
    const server = createServer();
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      return port;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    } finally {
      server.close();
    }
  }
  throw new Error('found no free port');
}
