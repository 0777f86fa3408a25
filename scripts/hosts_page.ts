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
      "You can mount the server before or after parsers such as `express.urlencoded()`. With `errors: 'forward'`, the middleware passes errors to `next`.",
    ],
  },
  {
    title: 'Fastify',
    files: ['hosts/fastify.ts'],
    notes: [
      'Register `mount(server)` on the application itself, not inside a plugin with a prefix. The endpoints have the issuer’s paths, so under a prefix the registration throws an error. The server reads bodies before any parser does.',
      'If you serve a single operation with `handler` in a route, register a form parser such as `@fastify/formbody`. Without one, Fastify rejects forms with 415.',
    ],
  },
  {
    title: 'Koa',
    files: ['hosts/koa.ts'],
    notes: ["With `errors: 'forward'`, the middleware throws errors."],
  },
  {
    title: 'NestJS',
    files: ['hosts/nest.ts'],
    notes: [
      'The code is the same on NestJS’s Express and Fastify platforms. A global prefix has no effect on the endpoints, because it applies only to controllers. To serve a single operation in a controller, use `handler` with `@Req()` and `@Res()`.',
      "With `errors: 'forward'`, errors go to exception filters. An `OAuthError` is not an `HttpException`, so [send its response in your own filter](#forwarded-errors).",
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
    notes: [
      'You can also mount the server after middleware that calls `parseBody`, because Hono keeps the body that it has read.',
    ],
  },
  {
    title: 'Hono on workerd',
    files: ['hono_on_workerd/worker.ts'],
    notes: [
      'To bundle and serve the Worker, set `GRANTD_SECRET` in the environment. Then run the commands in [worker.capnp](../examples/hono_on_workerd/worker.capnp), in the folder of this file. On Cloudflare, make `GRANTD_SECRET` a secret of the Worker, and call `sweep(storage)` in the handler `scheduled`. The Worker does not need `nodejs_compat`. [Limits in a Worker](runtimes.md#limits-in-a-worker) lists what is different.',
    ],
  },
  {
    title: 'Next.js',
    files: ['next_application/app/[...endpoint]/route.js', 'next_application/server.js'],
    notes: [
      'For development, run `npx next dev --hostname 127.0.0.1 examples/next_application`. For production, run `npx next build examples/next_application`, then `npx next start --hostname 127.0.0.1 examples/next_application`. The build loads the route, so it also needs `GRANTD_SECRET` and the database.',
      "The route must be at the top of `app`, because metadata is at `/.well-known`. Your own pages and routes take precedence, and unknown paths get 404. If your Next.js configuration has a `basePath`, Next.js removes it from the path of each request. With the issuer `https://app.example.com/base`, write `mount(server, { strippedPath: '/base' })`.",
    ],
  },
  {
    title: 'h3',
    files: ['hosts/h3.ts'],
    notes: [
      'h3 does not keep a body that it has read. If your code calls `readBody` before the server, set the option `body` to a function that returns the result. If the h3 application itself is mounted below a path, pass this path in the option `strippedPath`.',
    ],
  },
  {
    title: 'Fetch: Bun, Deno, Workers and others',
    files: ['hosts/fetch.ts'],
    notes: [
      '`mount(server)` returns a function from `Request` to `Response`. [Runtimes](runtimes.md) lists what works on each runtime.',
      'Your runtime may pass more arguments to the handler, such as the connection. Functions in the options, such as `id`, receive these arguments too.',
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

Add the endpoints of an authorization server to an Express, Fastify, Koa, NestJS, Hono, h3, Next.js or Fetch application in a few lines. An application with these endpoints is called a host. You need [the library](library.md#install), a database file and a secret.

Each framework has a section with a complete host. These hosts are [examples](../examples/README.md) that the tests run. To start one from this repository:

\`\`\`sh
export GRANTD_SECRET="$(npx node -p 'crypto.randomUUID()')" # keep it: it encrypts the keys in tokens.db
npx node examples/hosts/express.ts
\`\`\`

The host prints nothing. \`http://localhost:3000/.well-known/oauth-authorization-server\` shows that it runs.

If your application only accepts tokens, [protect its routes](resource_servers.md) instead.

## What every adapter exports

| function | what it does |
| --- | --- |
| \`mount(server, options)\` | serves all endpoints, and passes requests for other paths to your application |
| \`handler(operation, options)\` | serves one function from request to response, or your own page. Mount it for all methods, such as \`app.all('/token/revoke', handler((request) => server.revoke(request)))\`: the function answers preflights, and refuses other methods |
| \`toHttpRequest\` | converts the framework's request into the library's request value |
| \`sendResponse\` | sends the library's response value. In Hono, h3, Next.js and Fetch, it returns a \`Response\` |

When you mount the server, note the following:

- **Paths begin with the issuer's path.** With the issuer \`https://app.example.com/auth\`, the endpoints are below \`/auth\`. Nevertheless, mount the server at the root, because the metadata is outside \`/auth\`, at \`/.well-known/oauth-authorization-server/auth\`.
- **You write the pages for sign-in, consent and sign-out.** [The library](library.md#sign-users-in-on-your-own-pages) explains which functions they call, and [an Express host](../examples/express_with_users/host.ts) shows the code. \`readForm(request)\` of \`@grantd/core\` reads the form of such a page.
- **Expired rows stay until you call \`sweep(storage)\`.** The examples call it once a minute.

The adapters have these options:

| option | meaning |
| --- | --- |
| \`errors\` | With \`'render'\` (default), the adapter sends error responses. With \`'forward'\`, it passes errors to [the framework's error handling](#forwarded-errors) |
| \`headers\` | function that takes the request and returns additional response headers |
| \`id\` | function that takes the request and returns its identifier for events. Default: \`request.id\` on Node, none elsewhere |
| \`clientCertificate\` | function that takes the request and returns the certificate that the client presented in the TLS handshake ([mutual TLS](bound_tokens.md#with-a-certificate)) |
| \`onFault\` | function that receives errors that lead to a 500 or 503 and that the server itself does not report: a body that cannot be read, a response that cannot be sent, or an error of your own operation. Default: \`mount\` passes them to the server's \`onEvent\`, \`handler\` writes them to the console |
| \`strippedPath\` (only \`mount\`) | the start of the path, such as \`/auth\`, that a proxy or framework removes before your application gets the request. The adapter puts it back, so that it finds the endpoint. Requests with the whole path still work |
| \`body\` (only Hono, h3, Next.js, Fetch) | function that takes the request and returns its body, as text or form. Pass it if your code has already read the body |

## The server of the examples

All hosts below, except the Worker and the Next.js application, import the server from [examples/hosts/authorization_server.ts](../examples/hosts/authorization_server.ts). They listen on loopback only, because this page publishes the secrets of their clients. TypeScript needs \`"allowImportingTsExtensions": true\` for imports such as \`./authorization_server.ts\`.

${code('hosts/authorization_server.ts')}

${sections.join('\n\n')}

## Parsed forms

If you can, mount the server before form parsers, so that it reads forms itself. If a parser runs first, the adapters for Express, Fastify, Koa, NestJS and \`node:http\` use the first of these values that exists:

1. \`rawBody\`, with the raw text or bytes. Some parsers set it: koa-bodyparser, NestJS with \`rawBody: true\`, and \`express.urlencoded({ verify: (request, _response, bytes) => { request.rawBody = bytes } })\`.
2. \`body\`, if it is a string or a \`Buffer\`.
3. \`body\`, if it is an object: the parsed form. An array with several values is a repeated parameter, and only \`resource\` may be repeated. Other values that are not strings come from names such as \`a[b]\`. They are ignored, unless they have the name of a parameter that the endpoint reads: then the response is \`invalid_request\`.

If your code has read the body and kept it in neither of them, the response is 500, and the event contains an error that says so.

The adapter for Hono uses the body that Hono has stored. The adapters for h3, Next.js and Fetch cannot find a body that your code has already read, and answer 500 too. For these, set [the adapter's option \`body\`](#what-every-adapter-exports) to a function that takes the request and returns the parser's result.

Some parsers change a form before the adapter sees it. They keep only the last of several values, stop after a thousand parameters, or turn a parameter named \`[token]\` into \`token\`. The adapter cannot notice such a change, so the server may accept a request that it would reject if it read the form itself.

## Forwarded errors

With \`errors: 'forward'\`, your framework's error handling receives the errors. Each error of a server's operation is an \`OAuthError\` with \`status\`, \`code\`, \`description\` and \`headers\`. **Send these \`headers\`.** They contain \`Cache-Control: no-store\`, the \`WWW-Authenticate\` challenge and the CORS headers. Without them, clients do not learn how to authenticate, and caches may store the response.

By default, Express, Fastify, Koa and h3 send the status and headers of an error, but Hono, NestJS and Next.js send 500 without these headers. To send the same response as with \`'render'\`, call \`errorResponse\` of \`@grantd/core\` and the adapter's \`sendResponse\`:

| framework | error handler |
| --- | --- |
| Express | \`app.use((error, request, response, _next) => sendResponse(request, response, errorResponse(error)))\` |
| Fastify | \`app.setErrorHandler((error, request, reply) => sendResponse(request, reply, errorResponse(error)))\` |
| Koa | \`catch (error) { sendResponse(context, errorResponse(error)) }\` around \`await next()\` |
| NestJS | \`sendResponse(request, response, errorResponse(error))\` in a filter |
| Hono | \`app.onError((error, context) => sendResponse(context, errorResponse(error)))\` |
| h3 | \`new H3({ onError: ({ cause }, event) => sendResponse(event, errorResponse(cause)) })\` |

Next: [sign users in on your own pages](library.md#sign-users-in-on-your-own-pages), [protect an API](../protect/README.md), [the examples](../examples/README.md).
`;
}

function code(file: string): string {
  return `\`\`\`${extname(file).slice(1)}\n${readFileSync(`examples/${file}`, 'utf8').trimEnd()}\n\`\`\``;
}
