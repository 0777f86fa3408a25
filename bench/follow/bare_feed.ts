// The least that a Node server can do for followers: it answers each nonce, and sends each stream two messages a second.
//
//     node bare_feed.ts PORT
import { createServer, type ServerResponse } from 'node:http';

const MESSAGE_EVERY_MS = 450;

const [port = ''] = process.argv.slice(2);
const mark = '1.abcdefgh';
const streams = new Set<ServerResponse>();

const messageOf = (event: string, data: object) =>
  Buffer.from(`event: ${event}\nid: ${mark}\ndata: ${JSON.stringify(data)}\n\n`);
const begin = messageOf('begin', {
  ...{ version: 1, mark, complete: true, kept_for: 3600, pass: 'p'.repeat(200), keys: [] },
});
const endings = messageOf('endings', { since: mark, keys: Array(45).fill('AAAAAAAA') });

setInterval(() => {
  for (const stream of streams) stream.write(endings);
}, MESSAGE_EVERY_MS);

createServer((request, response) => {
  if (request.method === 'GET') {
    const nonce = request.url?.split('nonce=')[1] ?? '';
    const body = JSON.stringify({ nonce, mark });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
    return;
  }
  request.resume();
  response.removeHeader('transfer-encoding');
  response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' }).write(begin);
  streams.add(response);
  response.once('close', () => streams.delete(response));
}).listen(Number(port), '127.0.0.1', () => console.error('listening on'));
