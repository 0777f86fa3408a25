/* The Fetch adapter behind the runtime's own server, which hands over who the peer is beside the request. */
import { connect } from 'node:net';
import { handler } from '@grantd/core/fetch';

const operated = [];
const endings = [];

const answer = handler(
  async ({ body, id }) => {
    operated.push({ body, id });
    return { status: 200, headers: {}, body: '' };
  },
  { id: addressOf },
);

function addressOf(request, second) {
  return 'Bun' in globalThis ? second.requestIP(request).address : second.remoteAddr.hostname;
}

let onBeginning = () => {};

async function watched(...host) {
  const answered = answer(...host);
  onBeginning();
  const response = await answered;
  endings.push(response.status);
  return response;
}

/* Deno hands over as much as the adapter's function says that it takes. */
const serve = Object.defineProperty(watched, 'length', { value: answer.length });

const options = { hostname: '127.0.0.1', port: 0 };
const server =
  'Bun' in globalThis
    ? Bun.serve({ ...options, fetch: serve })
    : Deno.serve({ ...options, onListen() {} }, serve);
const port = 'Bun' in globalThis ? server.port : server.addr.port;

const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'token=x' });
await response.text();
const socket = connect(port, '127.0.0.1');
socket.on('error', () => {});
onBeginning = () => socket.destroy();
socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ntoken');
for (let turn = 0; endings.length < 2 && turn < 500; turn += 1) {
  await new Promise((resolve) => setTimeout(resolve, 10));
}
console.log(`the bundle says: ${JSON.stringify({ operated, endings })}`);
await (server.stop?.(true) ?? server.shutdown());
