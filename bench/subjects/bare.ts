// The least that a server in Node can do: the same answer to everything, once the request has been read to its end.
// node bare.ts PORT FILE, where the file says which answer: {status, headers, body}.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port = '', file = ''] = process.argv.slice(2);
const { status, headers, body } = JSON.parse(readFileSync(file, 'utf8'));

createServer((request, response) => {
  request.on('data', () => undefined);
  request.on('end', () => {
    response.writeHead(status, headers);
    response.end(body);
  });
}).listen(Number(port), '127.0.0.1');
