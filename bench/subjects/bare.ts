// The minimum that a Node server can do: it reads the whole request and sends a fixed response. The file contains the
// response: {status, headers, body}.
//
//     node bare.ts PORT FILE
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
