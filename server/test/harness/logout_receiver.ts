import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { payloadOf } from './protocol.ts';

/** An application's back-channel logout URI (OpenID Connect Back-Channel Logout §2.2), on loopback. */
export interface LogoutReceiver {
  readonly url: string;
  /** The payloads of the received logout tokens, in order. */
  readonly heard: readonly Readonly<Record<string, unknown>>[];
  /** Statuses of the next responses; 200 when none are left. */
  readonly answers: number[];
  /** Milliseconds before each response. */
  delayMs: number;
  close(): Promise<void>;
}

export async function openLogoutReceiver(): Promise<LogoutReceiver> {
  const heard: Record<string, unknown>[] = [];
  const answers: number[] = [];
  const receiver = { url: '', heard, answers, delayMs: 0, close: () => closed };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    heard.push(payloadOf(new URLSearchParams(body).get('logout_token') ?? ''));
    const status = answers.shift() ?? 200;
    setTimeout(() => response.writeHead(status).end(), receiver.delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/logged-out`;
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  receiver.close = () => {
    server.closeAllConnections();
    server.close();
    return closed;
  };
  return receiver;
}
