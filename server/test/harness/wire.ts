import { connect, type Socket } from 'node:net';

/** A connection on which these very bytes have been sent. */
export async function begin(port: number, bytes: string): Promise<{ socket: Socket; text(): string }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => {}); // the server may close while there is still something to send
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.write(bytes);
  return { socket, text: () => text };
}

/** What a server answers to these very bytes, until it closes the connection. */
export async function answerTo(port: number, bytes: string): Promise<string> {
  const { socket, text } = await begin(port, bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  return text();
}
