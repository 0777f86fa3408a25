/** What a request is made of, by what appears among the frames of a call; the first that fits counts. */
const PARTS: readonly (readonly [part: string, pattern: RegExp])[] = [
  ['garbage collection', /^\(garbage collector\)/],
  ['event loop, system calls and parser, outside JavaScript', /^\(program\)/],
  ['the log line', /\/pino\/|server\/src\/log\//],
  ['sending the answer', /sendResponse|_http_outgoing|internal\/streams\/writable|resOnFinish|afterWrite/],
  ['the caller: credentials and registration', /\/client_authentication\/|sqlite\/clients\.ts/],
  ['the digest of the token', /\/hashing\//],
  ['what the token claims', /tokens\/signature\.ts|\/jose\/|protocol\/json\.ts/],
  ['look-ups', /\/storage\//],
  ['whether the token has verified', /\/tokens\/(jwt_service|verified_tokens|signatures\/)|\/memories\//],
  ['finding the token and its life', /\/tokens\/|protocol\/life\.ts/],
  ['the form', /protocol\/form\.ts|internal\/url/],
  ['the answer', /jsonResponse|introspection_response/],
  ['the endpoint', /\/core\/src\/(endpoints|authorization_server)/],
  ['reading the request: the adapter', /core\/src\/adapters\//],
  [
    'reading the request: Node',
    /_http_(server|common|incoming)|internal\/streams\/|internal\/stream_base|node:net/,
  ],
  ['the program’s listeners', /server\/src\//],
  ['turns and promises', /node:internal\/|^$/],
];

/** @param frames of a call, `function url` each, the innermost first */
export function partOfRequest(frames: readonly string[]): string {
  const found = PARTS.find(([, pattern]) => frames.some((frame) => pattern.test(frame)));
  return found?.[0] ?? 'other';
}
