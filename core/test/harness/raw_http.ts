import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

/** Sends these bytes to loopback and resolves to all that comes back before the connection ends, at most 10 s later. */
export async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(10_000, () => socket.destroy(new Error('the server did not end the connection')));
  socket.write(bytes);
  return text(socket);
}

/** A form, and the connection closed after the answer. */
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
