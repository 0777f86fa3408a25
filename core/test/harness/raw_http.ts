import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

/** Sends these bytes to loopback. Resolves to everything that comes back before the connection ends, within 10 s. */
export async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(10_000, () => socket.destroy(new Error('the server did not end the connection')));
  socket.write(bytes);
  return text(socket);
}

/** A form, with the connection closed after the response. */
export function rawPost(path: string, headers: readonly string[], body: string): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: as.example',
    'Connection: close',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
