import { readFileSync } from 'node:fs';
import { extname } from 'node:path';

interface Host {
  readonly title: string;
  /** Below `examples/`; the first is what every host of the kind has. */
  readonly files: readonly string[];
  /** What is to be known of it besides. */
  readonly notes: readonly string[];
}

const HOSTS: readonly Host[] = [
  {
    title: 'Express',
    files: ['hosts/express.ts'],
    notes: [
      'Parsers such as `express.urlencoded()` may stand before it or not. The address of the peer is `request.ip`: set `trust proxy` behind a proxy. Forwarded errors go to `next`.',
    ],
  },
  {
    title: 'Fastify',
    files: ['hosts/fastify.ts'],
    notes: [
      'Register it on the application itself, not in a scope: it is a hook that sees the requests which no route is for. It reads bodies itself, before parsers. The address of the peer is `request.ip`: set `trustProxy` behind a proxy.',
      'One operation alone, by `handler`, needs a parser for forms, such as `@fastify/formbody`.',
    ],
  },
  {
    title: 'Koa',
    files: ['hosts/koa.ts'],
    notes: [
      'The address of the peer is `context.ip`: set `app.proxy` behind a proxy. Forwarded errors are thrown.',
    ],
  },
  {
    title: 'NestJS',
    files: ['hosts/nest.ts'],
    notes: [
      'The same on both platforms. A global prefix changes nothing: it is for controllers. One operation in a controller: `handler`, with `@Req()` and `@Res()`.',
      'Forwarded errors go to exception filters. `OAuthError` is no `HttpException`, which a filter answers as [all errors](#errors-that-are-forwarded).',
    ],
  },
  {
    title: 'node:http',
    files: ['hosts/node.ts'],
    notes: ['Without a third argument it answers 404 itself where no endpoint is.'],
  },
  {
    title: 'Hono',
    files: ['hosts/hono.ts'],
    notes: [
      'A body that a middleware has read by `parseBody` is taken from where Hono keeps it. The address of the peer depends on the runtime: `mount(server, { connection: (context: Context) => ({ remoteAddress: getConnInfo(context).remote.address }) })`.',
    ],
  },
  {
    title: 'Hono on workerd',
    files: ['hono_on_workerd/worker.ts'],
    notes: [
      'Bundle and serve it as [worker.capnp](../examples/hono_on_workerd/worker.capnp) says, in its folder, with `GRANTD_SECRET` in the environment; on Cloudflare that is a secret of the Worker. Nothing of Node is used, so `nodejs_compat` is not needed. What has expired is deleted by `sweep(storage)`, for which a Worker has the handler `scheduled`. [What a Worker lacks](runtimes.md#what-a-worker-lacks).',
      "The address of the peer is `mount(server, { connection: (context: Context) => ({ remoteAddress: context.req.header('cf-connecting-ip') }) })` there.",
    ],
  },
  {
    title: 'Next.js',
    files: ['next_application/app/[...endpoint]/route.js', 'next_application/server.js'],
    notes: [
      '`npx next dev --hostname 127.0.0.1 examples/next_application`, or `npx next build examples/next_application` and `npx next start --hostname 127.0.0.1 examples/next_application`. Building loads the route and what it imports, so it wants `GRANTD_SECRET` and the database as well.',
      "The route is at the top since metadata is at `/.well-known`; pages and routes of the application win over it, and what is nobody's is 404. Next.js takes a `basePath` off the path: with the issuer `https://app.example.com/base` that is `mount(server, { strippedPath: '/base' })`. The address of the peer it tells by `X-Forwarded-For` alone, which a proxy in front has to overwrite.",
    ],
  },
  {
    title: 'h3',
    files: ['hosts/h3.ts'],
    notes: [
      'h3 keeps nothing of a body that it has read: where `readBody` comes first, hand over what it got by the option `body`. An application that is itself mounted below a path no longer sees it: `strippedPath`.',
    ],
  },
  {
    title: 'Fetch: Bun, Deno, Workers and others',
    files: ['hosts/fetch.ts'],
    notes: [
      '`mount(server)` is a function from `Request` to `Response`; [what works on which runtime](runtimes.md).',
      'What the runtime hands over after the request goes to the callbacks of the options as well. So the address of the peer is, on Deno, `mount(server, { connection: (_: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>) => ({ remoteAddress: info.remoteAddr.hostname }) })`, and on Bun `mount(server, { connection: (request: Request, bun: Bun.Server<undefined>) => ({ remoteAddress: bun.requestIP(request)?.address }) })`.',
    ],
  },
];

/** `docs/hosts.md`, with the code of the examples, which are tested. */
export function hostsPage(): string {
  const sections = HOSTS.map(
    ({ title, files, notes }) => `## ${title}

${files.map(code).join('\n\n')}

${notes.join('\n\n')}`,
  );
  return `# grantd in your application

Every adapter exports the same four functions. \`mount(server)\` answers at all endpoints and leaves the other paths to the application; \`handler(operation)\` wraps one operation, such as \`(request) => server.introspect(request)\`, or a page of your own, for an application that routes by itself. For what lies between, \`toHttpRequest\` makes the server's plain request of what the framework hands to its handlers, and \`sendResponse\` sends an answer of the server; in Hono, h3, Next.js and Fetch it makes the \`Response\` to return. Forms are taken raw, or as a parser has left them; \`readForm(request)\` of \`@grantd/core\` does so for a page of your own. Paths are the issuer's: with the issuer \`https://app.example.com/auth\` they begin with \`/auth\`, wherever it is mounted; mount it at the root, since \`/.well-known/oauth-authorization-server/auth\` is not below \`/auth\`. Sign-in, consent and sign-out are the application's own pages: [the library](../README.md#the-library), [an example](../examples/express_with_users/host.ts).

| option | |
| --- | --- |
| \`errors\` | \`'render'\` answers errors as their RFCs say, which is the default; \`'forward'\` hands them to the framework's own error handling |
| \`headers\` | further headers of each answer, by a function of the request |
| \`id\` | your identifier of a request, by a function of the request, for the server's events; on Node it is \`request.id\` unless you say otherwise |
| \`onFault\` | told of what is answered 500 or 503 and nobody else is told of: a body that cannot be read, an answer that cannot be sent, what an operation of your own throws. By default that is the server's \`onEvent\`, which is told of faults within its operations anyway; of \`handler\`, the console |
| \`strippedPath\` | of \`mount\`: what a proxy takes off the path before the application sees it, such as \`/auth\` |
| \`connection\` | for Hono, h3, Next.js and Fetch: what is known of the connection, by a function of the request |
| \`body\` | likewise: the body, where it was read already, its text or the form |

What has expired stays in storage until the application calls \`sweep(storage)\`, as the server below does once a minute.

Your application is of ECMAScript modules (\`"type": "module"\` in its package.json) or of CommonJS; TypeScript finds the entry points with \`"module": "nodenext"\`, and the examples, which import each other as \`./file.ts\`, want \`"allowImportingTsExtensions": true\` as well. Until the package is on npm, [it is built here](../README.md#the-library).

An application that only *takes* tokens needs none of this, but [one line](resource_servers.md) for each route.

Each is an [example](../examples/README.md) that the tests run. They listen on loopback alone, since their secrets are published. Those of Node mount the same server, [examples/hosts/authorization_server.ts](../examples/hosts/authorization_server.ts):

${code('hosts/authorization_server.ts')}

\`\`\`sh
export GRANTD_SECRET="$(npx node -p 'crypto.randomUUID()')" # keep it: the keys in tokens.db are sealed under it
npx node examples/hosts/express.ts
\`\`\`

${sections.join('\n\n')}

## Forms that are parsed already

Mounted before parsers, an adapter reads forms itself, which is the surest. After them it takes what they have kept as \`rawBody\` (koa-bodyparser does, NestJS with \`rawBody: true\`, \`express.urlencoded({ verify: (request, _response, bytes) => { request.rawBody = bytes } })\`), which means the same. Otherwise it takes the object that they have made, by one rule: a parameter is a text; an array of several is a parameter that was repeated, \`invalid_request\` as ever (RFC 6749 §3.2) except for \`resource\`; and whatever else a parser makes of names with brackets (\`token[]\`, \`token[a]\`) is \`invalid_request\` as well, where unparsed it is a parameter that nobody knows. What a parser itself hides cannot be seen: one that keeps the last of several values, stops counting at a thousand, or takes \`[token]\` for \`token\`.

## Errors that are forwarded

With \`errors: 'forward'\` the framework's own error handling is given what was thrown: an \`OAuthError\` with \`status\`, \`code\`, \`description\` and \`headers\`, which are all headers of the answer but its media type: \`Cache-Control: no-store\`, the challenge, CORS. A client that is answered without them does not learn how to authenticate, or a cache may keep the answer.

Express, Fastify, Koa and h3 send status and headers of an error by themselves, with a body of their own. Hono, NestJS and Next.js send a bare 500. Whoever answers errors by a handler sends \`error.headers\` along, or the whole answer, as it would be rendered, by two functions: \`errorResponse\` of \`@grantd/core\`, which takes whatever was thrown, and the adapter's own.

| | the answer of a handler |
| --- | --- |
| Express | \`app.use((error, request, response, _next) => sendResponse(request, response, errorResponse(error)))\` |
| Fastify | \`app.setErrorHandler((error, request, reply) => sendResponse(request, reply, errorResponse(error)))\` |
| Koa | \`catch (error) { sendResponse(context, errorResponse(error)) }\` around \`await next()\` |
| NestJS | \`sendResponse(request, response, errorResponse(error))\` in a filter |
| Hono | \`app.onError((error, context) => sendResponse(context, errorResponse(error)))\` |
| h3 | \`new H3({ onError: ({ cause }, event) => sendResponse(event, errorResponse(cause)) })\` |
`;
}

function code(file: string): string {
  return `\`\`\`${extname(file).slice(1)}\n${readFileSync(`examples/${file}`, 'utf8').trimEnd()}\n\`\`\``;
}
