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
      'Parsers such as `express.urlencoded()` may stand before it or not. The address of the peer is `request.ip`: set `trust proxy` behind a proxy.',
      "With `errors: 'forward'` an error goes to `next`, as an `OAuthError` with `status` and `headers`.",
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
      'Forwarded errors go to exception filters. `OAuthError` is no `HttpException`: a filter answers it by `errorResponse` of `@grantd/core`.',
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

Every adapter exports the same two functions: \`mount(server)\` answers at all endpoints and leaves the other paths to the application; \`handler(operation)\` wraps one operation, such as \`(request) => server.introspect(request)\`, or a page of your own, for an application that routes by itself. Forms are taken raw, or as a parser has left them; \`readForm(request)\` of \`@grantd/core\` does so for a page of your own. Paths are the issuer's: with the issuer \`https://app.example.com/auth\` they begin with \`/auth\`, wherever it is mounted. Sign-in, consent and sign-out are the application's own pages: [the library](../README.md#the-library), [an example](../examples/express_with_users/host.ts).

| option | |
| --- | --- |
| \`errors\` | \`'render'\` answers errors as their RFCs say, which is the default; \`'forward'\` hands them to the framework's own error handling |
| \`headers\` | further headers of each answer, by a function of the request |
| \`strippedPath\` | of \`mount\`: what a proxy takes off the path before the application sees it, such as \`/auth\` |

What has expired stays in storage until the application calls \`sweep(storage)\`, as the server below does once a minute.

An application that only *takes* tokens needs none of this, but [one line](resource_servers.md) for each route.

Each is an [example](../examples/README.md) that the tests run. They listen on loopback alone, since their secrets are published. Those of Node mount the same server, [examples/hosts/authorization_server.ts](../examples/hosts/authorization_server.ts):

${code('hosts/authorization_server.ts')}

\`\`\`sh
export GRANTD_SECRET="$(npx node -p 'crypto.randomUUID()')" # keep it: the keys in tokens.db are sealed under it
npx node examples/hosts/express.ts
\`\`\`

${sections.join('\n\n')}
`;
}

function code(file: string): string {
  return `\`\`\`${extname(file).slice(1)}\n${readFileSync(`examples/${file}`, 'utf8').trimEnd()}\n\`\`\``;
}
