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
      'The server works before and after parsers such as `express.urlencoded()`. Forwarded errors go to `next`.',
    ],
  },
  {
    title: 'Fastify',
    files: ['hosts/fastify.ts'],
    notes: [
      'Register the server on the application itself, not in a scope: it is a hook for requests without a route. It reads bodies itself, before any parser.',
      'A route with a single operation (`handler`) needs a form parser such as `@fastify/formbody`.',
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
      'The code is the same on both platforms. A global prefix has no effect on the endpoints, because it applies to controllers. For a single operation in a controller, use `handler` with `@Req()` and `@Res()`.',
      'Forwarded errors go to exception filters. An `OAuthError` is not an `HttpException`, so [answer it in a filter of your own](#forwarded-errors).',
    ],
  },
  {
    title: 'node:http',
    files: ['hosts/node.ts'],
    notes: ['If you omit the third argument of `endpoints`, every path without an endpoint gets 404.'],
  },
  {
    title: 'Hono',
    files: ['hosts/hono.ts'],
    notes: ['The server also works after middleware that has called `parseBody`.'],
  },
  {
    title: 'Hono on workerd',
    files: ['hono_on_workerd/worker.ts'],
    notes: [
      'To bundle and serve the Worker, set `GRANTD_SECRET` in the environment, and run the commands in [worker.capnp](../examples/hono_on_workerd/worker.capnp) in its folder. On Cloudflare, make `GRANTD_SECRET` a secret of the Worker, and call `sweep(storage)` in the handler `scheduled`. The Worker does not need `nodejs_compat`. [Limits in a Worker](runtimes.md#limits-in-a-worker) lists what is different.',
    ],
  },
  {
    title: 'Next.js',
    files: ['next_application/app/[...endpoint]/route.js', 'next_application/server.js'],
    notes: [
      'For development, run `npx next dev --hostname 127.0.0.1 examples/next_application`. For production, run `npx next build examples/next_application`, then `npx next start --hostname 127.0.0.1 examples/next_application`. The build loads the route, so it also needs `GRANTD_SECRET` and the database.',
      "The route is at the top of `app`, because metadata is at `/.well-known`. Your own pages and routes take precedence, and unknown paths get 404. Next.js removes the `basePath` of its configuration from the path. With the issuer `https://app.example.com/base`, write `mount(server, { strippedPath: '/base' })`.",
    ],
  },
  {
    title: 'h3',
    files: ['hosts/h3.ts'],
    notes: [
      'h3 does not keep a body that it has read. If your code calls `readBody` first, pass the result with the option `body`. If the application itself is mounted below a path, set `strippedPath`.',
    ],
  },
  {
    title: 'Fetch: Bun, Deno, Workers and others',
    files: ['hosts/fetch.ts'],
    notes: [
      '`mount(server)` is a function from `Request` to `Response`. [Runtimes](runtimes.md) lists what works where.',
      'Functions in the options also receive the further arguments that your runtime passes to the handler, such as the connection.',
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

Each framework has a section with a complete host. These hosts are [examples](../examples/README.md) that the tests run. To start one from this repository:

\`\`\`sh
export GRANTD_SECRET="$(npx node -p 'crypto.randomUUID()')" # keep it: it encrypts the keys in tokens.db
npx node examples/hosts/express.ts
\`\`\`

If your application only accepts tokens, [protect its routes](resource_servers.md) instead.

## What every adapter exports

| function | what it does |
| --- | --- |
| \`mount(server, options)\` | serves all endpoints and leaves other paths to your application |
| \`handler(operation, options)\` | serves one operation, such as \`(request) => server.introspect(request)\`, or a page of your own that is written as such a function |
| \`toHttpRequest\` | turns the framework's request into the server's request value |
| \`sendResponse\` | sends a response value; in Hono, h3, Next.js and Fetch it returns a \`Response\` |

- **Paths come from the issuer.** With the issuer \`https://app.example.com/auth\`, they begin with \`/auth\`. Mount the server at the root all the same, because metadata is at \`/.well-known/oauth-authorization-server/auth\`, outside \`/auth\`.
- **Sign-in, consent and sign-out are your own pages.** [The library](library.md#sign-users-in-on-your-own-pages) explains which functions they call, and [an Express host](../examples/express_with_users/host.ts) shows the code. \`readForm(request)\` of \`@grantd/core\` reads the form of such a page.
- **Expired rows stay until you call \`sweep(storage)\`.** The examples do so once a minute.

| option | what it does |
| --- | --- |
| \`errors\` | \`'render'\` (default) answers errors; \`'forward'\` passes them to [the framework's error handling](#forwarded-errors) |
| \`headers\` | function from the request to additional response headers |
| \`id\` | function from the request to its identifier in events. Default on Node: \`request.id\` |
| \`onFault\` | function that receives faults with status 500 or 503 outside the server's operations: a body that cannot be read, a response that cannot be sent, an error of your own operation. Default: the server's \`onEvent\` for \`mount\`, the console for \`handler\` |
| \`strippedPath\` (\`mount\`) | the start of the path, such as \`/auth\`, if a proxy removes it |
| \`body\` (Hono, h3, Next.js, Fetch) | function from the request to its body, as text or form, if your code has already read the body |

## The server of the examples

All hosts below import the server from [examples/hosts/authorization_server.ts](../examples/hosts/authorization_server.ts), except the Worker and the Next.js application. They listen on loopback only, because the secrets of their clients are public. TypeScript needs \`"allowImportingTsExtensions": true\` for imports such as \`./authorization_server.ts\`.

${code('hosts/authorization_server.ts')}

${sections.join('\n\n')}

## Parsed forms

If you can, mount the server before form parsers, so that it reads forms itself. If a parser runs first, the adapters for Express, Fastify, Koa, NestJS and \`node:http\` use what it leaves, in this order:

1. raw text or bytes in \`rawBody\`. Some parsers keep them: koa-bodyparser, NestJS with \`rawBody: true\`, and \`express.urlencoded({ verify: (request, _response, bytes) => { request.rawBody = bytes } })\`;
2. a \`body\` that is a text or a \`Buffer\`;
3. a \`body\` that is an object, the parsed form. Each of its parameters must be a string, or an array of strings, which counts as a repeated parameter. Only \`resource\` may be repeated. Any other value is \`invalid_request\`.

Hono's adapter uses what Hono has kept. For h3, Next.js and Fetch, pass the body as your parser returned it, in the option \`body\`.

The adapter cannot see what a parser hides. Some parsers keep only the last of several values, or stop after a thousand parameters. Some turn a parameter named \`[token]\` into \`token\`. If the server read the form itself, it would ignore \`[token]\` as an unknown parameter.

## Forwarded errors

With \`errors: 'forward'\`, your framework's error handling receives the errors. Those of the server's operations are an \`OAuthError\` with \`status\`, \`code\`, \`description\` and \`headers\`. **Send these \`headers\`.** They contain \`Cache-Control: no-store\`, the challenge and the CORS headers. Without them, clients do not learn how to authenticate, and caches may keep the response.

Express, Fastify, Koa and h3 send the status and headers of an error themselves. Hono, NestJS and Next.js send a bare 500. To send the response that \`'render'\` would send, call \`errorResponse\` of \`@grantd/core\` and the adapter's \`sendResponse\`:

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
