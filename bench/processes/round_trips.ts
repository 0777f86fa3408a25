import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A server on loopback that passes each connection on, and counts. */
interface RoundTripCounter {
  /** The given URL, with the address of this server. */
  readonly url: string;
  /**
   * Round trips so far: how many times a client sent something after the other side had sent the last thing. What is
   * sent together is one round trip.
   */
  roundTrips(): number;
  /** Closes all connections. */
  end(): Promise<void>;
}

/** @param url of a server over TCP, with its port */
export async function countRoundTrips(url: string): Promise<RoundTripCounter> {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  let roundTrips = 0;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    let isWaiting = false;
    client.on('data', (bytes) => {
      if (!isWaiting) roundTrips += 1;
      isWaiting = true;
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      isWaiting = false;
      client.write(bytes);
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('end', () => other.end());
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const own = new URL(url);
  own.hostname = '127.0.0.1';
  own.port = String(typeof address === 'object' ? address?.port : '');
  return {
    url: own.href,
    roundTrips: () => roundTrips,
    async end() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
