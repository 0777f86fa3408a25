import { readFileSync } from 'node:fs';
import { extname } from 'node:path';

interface Host {
  readonly title: string;
  /** Files below `examples/`. */
  readonly files: readonly string[];
  /** Paragraphs after the code. */
  readonly notes: readonly string[];
}

const HOSTS: readonly Host[] = [
  {
    title: 'Express',
    files: ['hosts/express.ts'],
    notes: [
      'It works before and after parsers such as `express.urlencoded()`. Forwarded errors go to `next`.',
    ],
  },
  {
    title: 'Fastify',
    files: ['hosts/fastify.ts'],
    notes: [
      'Register it on the application itself, not in a scope: it is a hook for requests without a route. It reads bodies itself, before any parser.',
      'A single operation (`handler`) needs a form parser such as `@fastify/formbody`.',
    ],
  },
  {
    title: 'Koa',
    files: ['hosts/koa.ts'],
    notes: ['Forwarded errors are thrown.'],
  },
  {
    title: 'NestJS',
    files: ['hosts/nest.ts'],
    notes: [
      'The code is the same on both platforms. A global prefix has no effect, since it applies to controllers. For a single operation in a controller, use `handler` with `@Req()` and `@Res()`.',
      'Forwarded errors go to exception filters. `OAuthError` is not an `HttpException`: [answer it in a filter](#forwarded-errors).',
    ],
  },
  {
    title: 'node:http',
    files: ['hosts/node.ts'],
    notes: ['Without the third argument, every path without an endpoint gets 404.'],
  },
  {
    title: 'Hono',
    files: ['hosts/hono.ts'],
    notes: ['It also works after a middleware that called `parseBody`.'],
  },
  {
    title: 'Hono on workerd',
    files: ['hono_on_workerd/worker.ts'],
    notes: [
      'Bundle and serve it with the commands in [worker.capnp](../examples/hono_on_workerd/worker.capnp), in its folder, with `GRANTD_SECRET` in the environment. On Cloudflare, make it a secret of the Worker. `nodejs_compat` is not needed. Call `sweep(storage)` in the handler `scheduled`. [Limits in a Worker](runtimes.md#limits-in-a-worker).',
    ],
  },
  {
    title: 'Next.js',
    files: ['next_application/app/[...endpoint]/route.js', 'next_application/server.js'],
    notes: [
      'For development, run `npx next dev --hostname 127.0.0.1 examples/next_application`. For production, run `npx next build examples/next_application`, then `npx next start --hostname 127.0.0.1 examples/next_application`. The build loads the route, so it also needs `GRANTD_SECRET` and the database.',
      "The route is at the top, because metadata is at `/.well-known`. Your own pages and routes take precedence, and unknown paths get 404. Next.js removes a `basePath` from the path: with the issuer `https://app.example.com/base`, write `mount(server, { strippedPath: '/base' })`.",
    ],
  },
  {
    title: 'h3',
    files: ['hosts/h3.ts'],
    notes: [
      'h3 does not keep a body that it has read: if `readBody` runs first, pass its result with the option `body`. If the application itself is mounted below a path, set `strippedPath`.',
    ],
  },
  {
    title: 'Fetch: Bun, Deno, Workers and others',
    files: ['hosts/fetch.ts'],
    notes: [
      '`mount(server)` is a function from `Request` to `Response`. [Runtimes](runtimes.md) lists what works where.',
      'The callbacks of the options also receive the further arguments of your runtime, such as its connection.',
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
  return `# Hosts

Add the endpoints of an authorization server to an Express, Fastify, Koa, NestJS, Hono, h3, Next.js or Fetch application in a few lines. You need [the library](library.md#install), a database file and a secret.

Every section below is a complete host, an [example](../examples/README.md) that the tests run. To start one from this repository:

\`\`\`sh
export GRANTD_SECRET="$(npx node -p 'crypto.randomUUID()')" # keep it: the keys in tokens.db are sealed under it
npx node examples/hosts/express.ts
\`\`\`

If your application only accepts tokens, [protect its routes](resource_servers.md) instead.

## What every adapter exports

| function | what it does |
| --- | --- |
| \`mount(server, options)\` | serves all endpoints and leaves other paths to your application |
| \`handler(operation, options)\` | serves one operation, such as \`(request) => server.introspect(request)\`, or a page of your own |
| \`toHttpRequest\` | turns the framework's request into the server's request value |
| \`sendResponse\` | sends a response value; in Hono, h3, Next.js and Fetch it returns a \`Response\` |

- **Paths come from the issuer.** With the issuer \`https://app.example.com/auth\` they begin with \`/auth\`. Still mount at the root: metadata is at \`/.well-known/oauth-authorization-server/auth\`, outside \`/auth\`.
- **Sign-in, consent and sign-out are your own pages.** [The library](library.md#sign-users-in-on-your-own-pages) shows the calls, [an Express host](../examples/express_with_users/host.ts) the code. \`readForm(request)\` of \`@grantd/core\` reads the form of such a page.
- **Expired rows stay until you call \`sweep(storage)\`.** The examples do so once a minute.

| option | what it does |
| --- | --- |
| \`errors\` | \`'render'\` (default) answers errors; \`'forward'\` passes them to [the framework's error handling](#forwarded-errors) |
| \`headers\` | function of the request: additional response headers |
| \`id\` | function of the request: its identifier in events. Default on Node: \`request.id\` |
| \`onFault\` | receives faults with status 500 or 503 outside the server's operations: an unreadable body, an unsendable response, an error of your own operation. Default: the server's \`onEvent\` for \`mount\`, the console for \`handler\` |
| \`strippedPath\` (\`mount\`) | the start of the path, such as \`/auth\`, if a proxy removes it |
| \`body\` (Hono, h3, Next.js, Fetch) | function of the request: the body as text or form, if your code has already read it |

## The server of the examples

The hosts on Node share [examples/hosts/authorization_server.ts](../examples/hosts/authorization_server.ts). They listen on loopback only, because their secrets are public. They import each other as \`./file.ts\`, for which TypeScript needs \`"allowImportingTsExtensions": true\`.

${code('hosts/authorization_server.ts')}

${sections.join('\n\n')}

## Parsed forms

Mount the server before form parsers if you can: then it reads forms itself. After a parser it uses, in this order:

1. the raw text, if the parser keeps it as \`rawBody\`: koa-bodyparser, NestJS with \`rawBody: true\`, or \`express.urlencoded({ verify: (request, _response, bytes) => { request.rawBody = bytes } })\`;
2. the parsed object. Each parameter must be a string. An array counts as a repeated parameter, which only \`resource\` may be. Any other value, such as what parsers make of \`token[]\` or \`token[a]\`, is \`invalid_request\`. In a raw form such names are ignored as unknown parameters.

The adapter cannot see what a parser hides. Some parsers keep only the last of several values, stop after a thousand parameters, or read \`[token]\` as \`token\`.

## Forwarded errors

With \`errors: 'forward'\`, your framework's error handling receives the error: for a refusal an \`OAuthError\` with \`status\`, \`code\`, \`description\` and \`headers\`. **Send its \`headers\`.** They contain \`Cache-Control: no-store\`, the challenge and the CORS headers. Without them, clients do not learn how to authenticate, and caches may keep the response.

Express, Fastify, Koa and h3 send status and headers of an error themselves. Hono, NestJS and Next.js send a bare 500. To send the same response as \`'render'\`, call \`errorResponse\` of \`@grantd/core\` and the adapter's \`sendResponse\`:

| framework | error handler |
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
