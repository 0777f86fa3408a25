import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server that takes time. */
export interface Line {
  readonly url: string;
  close(): void;
}

/** @param milliseconds in each direction */
export async function delayedLine(port: number, milliseconds: number): Promise<Line> {
  const later = (from: Socket, to: Socket) => {
    from.on('data', (bytes) => setTimeout(() => to.writable && to.write(bytes), milliseconds));
    from.on('close', () => setTimeout(() => to.destroy(), milliseconds));
    from.on('error', () => {});
  };
  const proxy = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    near.setNoDelay();
    far.setNoDelay();
    later(near, far);
    later(far, near);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port: own } = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${own}`, close: () => void proxy.close() };
}
