/** The parts of a request, recognised by the frames of a call. The first match counts. */
const PARTS: readonly (readonly [part: string, pattern: RegExp])[] = [
  ['garbage collection', /^\(garbage collector\)/],
  ['Node outside JavaScript: event loop, system calls, parser', /^\(program\)/],
  ['log line', /server\/src\/log\//],
  ['sending the response', /sendResponse|_http_outgoing|internal\/streams\/writable|resOnFinish|afterWrite/],
  ['client authentication', /core\/src\/clients\/|sqlite\/clients\.ts/],
  ['token digest', /^sha256 .*\/core\/src\/crypto\//],
  ['token claims', /parseClaims|claimsOfJwt|readJwtHeader|\/jose\/|http\/json\.ts/],
  ['lookups', /\/storage\//],
  ['signature check, or its cache', /\/tokens\/jwt\.ts|core\/src\/(crypto\/|cache\.ts)/],
  ['token state', /\/tokens\/|storedLife/],
  ['form', /http\/form\.ts|internal\/url/],
  ['response', /jsonResponse|introspectionJwtResponse/],
  ['endpoint', /\/core\/src\/(introspection|revocation|userinfo|token|endpoints|serve|authorization_server)/],
  ['reading the request: adapter', /core\/src\/adapters\//],
  [
    'reading the request: Node',
    /_http_(server|common|incoming)|internal\/streams\/|internal\/stream_base|node:net/,
  ],
  ['listeners of the program', /server\/src\//],
  ['promises and ticks', /node:internal\/|^$/],
];

/** @param frames of a call, `function url` each, innermost first */
export function partOfRequest(frames: readonly string[]): string {
  const found = PARTS.find(([, pattern]) => frames.some((frame) => pattern.test(frame)));
  return found?.[0] ?? 'other';
}
