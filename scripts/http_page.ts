import { DEFAULT_PATHS } from '../core/src/http/endpoint_names.ts';
import { ENDPOINTS } from '../core/src/server/endpoints.ts';
import { openApiDocument } from '../server/src/http/openapi.ts';

const ISSUER = 'https://login.example.com';

/** Where to read about each endpoint of the protocols, in the order of the table. */
const GUIDES: readonly (readonly [
  endpoint: keyof typeof ENDPOINTS,
  path: string,
  standard: string,
  guide: string,
])[] = [
  ['token', DEFAULT_PATHS.token, 'RFC 6749 §3.2', '[Client metadata](client_metadata.md)'],
  [
    'pushedAuthorizationRequest',
    DEFAULT_PATHS.pushedAuthorizationRequest,
    'RFC 9126',
    '[Require FAPI 2.0](fapi.md)',
  ],
  ['introspection', DEFAULT_PATHS.introspection, 'RFC 7662', '[Specification](specification.md)'],
  ['revocation', DEFAULT_PATHS.revocation, 'RFC 7009', '[Specification](specification.md)'],
  ['userInfo', DEFAULT_PATHS.userInfo, 'OpenID Connect Core §5.3', '[Specification](specification.md)'],
  ['registration', DEFAULT_PATHS.registration, 'RFC 7591', '[Registration](registration.md)'],
  [
    'clientConfiguration',
    `${DEFAULT_PATHS.registration}/CLIENT_ID`,
    'RFC 7592',
    '[Registration](registration.md)',
  ],
  [
    'metadata',
    '/.well-known/openid-configuration',
    'OpenID Connect Discovery §4',
    '[Standards](standards.md)',
  ],
  ['metadata', '/.well-known/oauth-authorization-server', 'RFC 8414 §3', '[Standards](standards.md)'],
  ['jwks', DEFAULT_PATHS.jwks, 'RFC 7517 §5', '[Specification](specification.md)'],
];

const CROSS_ORIGIN = {
  off: 'none',
  clients: 'pages with the origin of a registered redirect URI',
  anyone: 'all pages',
} as const;

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  /** For text in lines: the type of one line. */
  readonly 'x-line'?: Schema;
}

interface Parameter {
  readonly name: string;
  readonly description?: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Described {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security: readonly { readonly oauth2: readonly string[] }[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content; readonly $ref?: string }>>;
}

interface Document {
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly 'x-problems': Readonly<Record<string, { readonly status: number; readonly title: string }>>;
  };
}

/** The page of every endpoint, those of the admin API from its OpenAPI description. */
export function httpPage(): string {
  // The description is plain JSON, which has passed the tests of the admin API.
  const document = JSON.parse(JSON.stringify(openApiDocument(ISSUER))) as Document;
  const { schemas } = document.components;
  const endpoints = GUIDES.map(([name, path, standard, guide]) => {
    const { methods, crossOrigin } = ENDPOINTS[name];
    return `| ${methods.map((method) => `\`${method}\``).join(', ')} | \`${path}\` | ${standard} | ${CROSS_ORIGIN[crossOrigin]} | ${guide} |`;
  });
  const problems = Object.entries(document.components['x-problems']).map(
    ([code, { status, title }]) => `| ${status} | \`${code}\` | ${title} |`,
  );
  const tags = document.tags.map(
    ({ name }) => `### Operations: ${name.replaceAll('-', ' ')}\n\n${operationsOf(document, name)}`,
  );
  const bodies = Object.keys(schemas)
    .sort()
    .map((name) => `#### ${name}\n\n${usesOf(document, name)}\n\n${schemaText(schemas[name] ?? {})}`);
  return `# HTTP

This page lists every endpoint of a server: the endpoints of OAuth and OpenID Connect, the pages for browsers, the endpoints
for monitoring, and the operations of the admin API.

## Endpoints of the protocols

Append each path to the issuer: with the issuer \`https://example.com/auth\`, the token endpoint is at
\`https://example.com/auth/token\`. The metadata is also before the path of the issuer (RFC 8414 §3.1), at
\`https://example.com/.well-known/oauth-authorization-server/auth\` and
\`https://example.com/.well-known/openid-configuration/auth\`. Clients try these addresses in different orders, so let all of
them reach the server.

Clients find the paths in the server's metadata. An application that embeds the library can change the paths with the option
[\`paths\`](configuration.md#options-of-the-library).

| methods | path | standard | web pages that may call it (CORS) | documentation |
| --- | --- | --- | --- | --- |
${endpoints.join('\n')}

\`npx grantd help errors\` explains the members \`error\` and \`error_description\` of error responses.

## Pages

Users open these paths in their browsers. Append each path to the issuer.

| path | what the page does |
| --- | --- |
| \`/authorize\` | [starts a sign-in](sign_in.md#a-request-from-start-to-end) for an application, and sends the browser back to it |
| \`/logout\` | [signs the user out](sign_in.md#an-applications-link-to-sign-out) |
| \`/account\` | shows users their sessions, applications and second factors |
| \`/console\` | lets operators manage the server ([console](console.md)) |

## Health and metrics

These paths are for monitoring.

| path | response |
| --- | --- |
| \`/health/live\` | 200 while the process runs |
| \`/health/ready\`, \`/health\` | 200 while the server can read and write the database, otherwise 503 |
| \`/metrics\` | the [metrics](monitoring.md) for Prometheus. Only the separate port that \`--metrics-port\` sets has this path |

## Admin API

With the admin API, programs manage clients, users, groups, keys and tokens. A server has it only with the option
\`--admin-api\`. [Admin API](admin_api.md) shows how to get access.

Append the path of an operation to the issuer and \`/admin\`, for example to \`${document.servers[0]?.url}\`. For each
operation, this page shows the scope that the access token needs.

For code generators and other tools, a server describes the same operations in OpenAPI 3.1 at \`/admin/openapi.json\`.
\`npx grantd admin openapi\` prints this description.

${tags.join('\n')}
### Errors of the admin API

The body of an error response is a [Problem](#problem) (RFC 9457, \`application/problem+json\`). Its member \`code\` is one of
these:

| status | code | meaning |
| --- | --- | --- |
${problems.join('\n')}

### Bodies of the admin API

These are the bodies of requests and responses. _yes_ in the column _always_ means that a request must have the member, and
that a response always has it. Members with _no_ can be absent.

${bodies.join('\n')}`;
}

function operationsOf(document: Document, tag: string): string {
  const { parameters: shared } = document.components;
  return Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { tags }]) => tags.includes(tag))
        .map(([method, operation]) => {
          const parameters = (operation.parameters ?? []).map((parameter) =>
            'name' in parameter
              ? parameter
              : (shared[nameOf(parameter.$ref)] ?? { name: nameOf(parameter.$ref), in: '' }),
          );
          const rows = parameters.map(
            ({ name, in: place, required, description, schema }) =>
              `| \`${name}\` | ${place} | ${required === true ? 'yes' : 'no'} | ${typeOf(schema ?? {})} | ${cell(description)} |`,
          );
          const scopes = operation.security.flatMap(({ oauth2 }) => oauth2).map((scope) => `\`${scope}\``);
          const facts = [
            `Required scope: ${scopesInWords(scopes)}.`,
            ...(operation.requestBody ? [`Request body: ${contentOf(operation.requestBody.content)}.`] : []),
            `Response: ${responsesOf(operation)}.`,
          ];
          const table =
            rows.length === 0
              ? ''
              : `\n| parameter | in | required | type | meaning |\n| --- | --- | --- | --- | --- |\n${rows.join('\n')}\n`;
          return `#### \`${method.toUpperCase()} ${path}\`\n\n${operation.summary}. ${facts.join(' ')}\n${table}`;
        }),
    )
    .join('\n');
}

/** Several scopes are those of an operation that needs some of them, depending on its body. */
function scopesInWords(scopes: readonly string[]): string {
  const [first, ...others] = scopes;
  if (first === undefined) return 'any scope of this API';
  return others.length === 0 ? first : `${scopes.join(', ')}, or some of them, depending on the body`;
}

/** Where a body is used, in a sentence. */
function usesOf(document: Document, name: string): string {
  const asRequest: string[] = [];
  const asResponse: string[] = [];
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { requestBody, responses }] of Object.entries(methods)) {
      const place = `\`${method.toUpperCase()} ${path}\``;
      if (isIn(requestBody?.content, name)) asRequest.push(place);
      if (Object.values(responses).some(({ content }) => isIn(content, name))) asResponse.push(place);
    }
  const uses = [
    ...(asRequest.length > 0 ? [`Request body of ${asRequest.join(', ')}.`] : []),
    ...(asResponse.length > 0 ? [`Response body of ${asResponse.join(', ')}.`] : []),
  ];
  if (uses.length > 0) return uses.join(' ');
  const owners = Object.entries(document.components.schemas)
    .filter(([, schema]) => JSON.stringify(schema).includes(`"#/components/schemas/${name}"`))
    .map(([owner]) => `[${owner}](#${owner.toLowerCase()})`);
  return owners.length > 0 ? `Part of ${owners.join(', ')}.` : 'Response body of every error.';
}

function isIn(content: Content | undefined, name: string): boolean {
  return Object.values(content ?? {}).some(({ schema }) =>
    [schema, schema['x-line']].some((item) => item?.$ref !== undefined && nameOf(item.$ref) === name),
  );
}

function responsesOf({ responses }: Described): string {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([status, { content }]) => (content === undefined ? status : `${status} with ${contentOf(content)}`))
    .join(', ');
}

function contentOf(content: Content): string {
  const found = Object.entries(content).map(([type, { schema }]) => {
    if (schema['x-line'] !== undefined) return `\`${type}\`, with one ${typeOf(schema['x-line'])} per line`;
    return schema.$ref === undefined ? `\`${type}\`` : typeOf(schema);
  });
  return [...new Set(found)].join(' or ');
}

/** The description, and a table of the members. A choice has both for each alternative. */
function schemaText(schema: Schema): string {
  const about = schema.description === undefined ? '' : `${cell(schema.description)}\n\n`;
  return about + tablesOf(schema);
}

/** A table of the members, followed by a table for each object among them. */
function tablesOf({ properties, required, oneOf = [] }: Schema): string {
  if (properties === undefined) return oneOf.map(schemaText).join('\n');
  const rows = Object.entries(properties).map(
    ([name, member]) =>
      `| \`${name}\` | ${required?.includes(name) === true ? 'yes' : 'no'} | ${typeOf(member)} | ${cell(member.description ?? (member.$ref && `The ${name}.`))} |`,
  );
  const objects = Object.entries(properties).map(([name, { items, ...member }]) => {
    if (items?.properties !== undefined) return `\nEach object in \`${name}\`:\n\n${tablesOf(items)}`;
    return member.properties === undefined ? '' : `\nThe object \`${name}\`:\n\n${tablesOf(member)}`;
  });
  return `| member | always | type | meaning |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n${objects.join('')}`;
}

/** A type in words. Objects without a name have a table of their own. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (schema.anyOf !== undefined) return schema.anyOf.map((choice) => typeOf(choice)).join(' or ');
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  const types = [schema.type ?? 'any value'].flat();
  return schema.format === 'date-time' ? 'date and time' : types.join(' or ');
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

function cell(text = ''): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
