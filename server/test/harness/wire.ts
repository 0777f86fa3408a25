import { connect, type Socket } from 'node:net';

/** A connection over which exactly these bytes were sent. */
export async function begin(port: number, bytes: string): Promise<{ socket: Socket; text(): string }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => {}); // the server may close before everything is sent
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.write(bytes);
  return { socket, text: () => text };
}

/** The server's response to exactly these bytes, until it closes the connection. */
export async function answerTo(port: number, bytes: string): Promise<string> {
  const { socket, text } = await begin(port, bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  return text();
}
