// The description of the admin API (OpenAPI 3.1), from the table of its operations.
import packageJson from '../../package.json' with { type: 'json' };
import { list, named, nameOf, object, type Schema, text } from '../admin/schema.ts';
import { ALL_OPERATIONS, type AnyOperation, type AnyStream } from '../admin/table.ts';
import { ADMIN_SCOPES, adminAudience } from '../instance/admin_access.ts';
import { PROBLEMS, type ProblemCode } from './problems.ts';

/** RFC 9457. */
const PROBLEM = named('Problem', {
  type: 'object',
  required: ['type', 'title', 'status', 'code'],
  properties: {
    type: text('A URI that identifies the problem. It leads to the problem in the OpenAPI description.', {
      format: 'uri-reference',
    }),
    title: text('The meaning of the code.'),
    status: { type: 'integer', description: 'The status of the response.' },
    code: text('The stable name of the problem.'),
    detail: text('What is wrong with this request.'),
    advice: text('A command that solves the problem.'),
    errors: list(
      object({
        in: text('The place of the value: a JSON Pointer in the body, or the name of a parameter.'),
        detail: text('What is wrong with the value.'),
        'advice?': text('A command that solves the problem.'),
      }),
      'The values that are invalid, or do not fit what is stored.',
    ),
  },
});

/** A JSON object per line. */
export const LINES_TYPE = 'application/x-ndjson';

const PROBLEM_TYPE = 'application/problem+json';

/** Headers of requests, by their names in the description. */
const HEADERS = {
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: true,
    description:
      'The ETag of the response in which you read what this request changes. If it has changed since, the server rejects the request with 412. With *, the server does not check this.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'A value that you choose, so that you can repeat the request without doing it twice. If the value comes again within a day, the server changes nothing and sends the stored response. If the first request failed with 5xx, the response is 409 with the code outcome_unknown.',
    schema: { type: 'string', pattern: '^[!-~]{1,200}$' },
  },
} as const;

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  client_id: 'The client ID.',
  sub: 'The subject identifier of the user.',
  group: 'The name of the group.',
  scope: 'The scope.',
  link: 'The ID of the link.',
  session: 'The ID of the session.',
  factor: 'The ID of the passkey or security key, `authenticator_app` or `recovery_codes`.',
  mail: 'The ID of the email.',
};

/** Enough for the longest credential ID of WebAuthn, 1023 bytes. */
const MAX_PATH_PARAMETER = 1400;

/** @param issuer of the server */
export function openApiDocument(issuer: string): Readonly<Record<string, unknown>> {
  const base = adminAudience(issuer);
  const schemas: Record<string, unknown> = {};
  const refer = (schema: Schema): unknown => {
    const name = nameOf(schema);
    if (name === undefined) return inline(schema, refer);
    schemas[name] ??= inline(schema, refer);
    return { $ref: `#/components/schemas/${name}` };
  };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [id, operation] of ALL_OPERATIONS) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(id, operation, refer),
    };
  }
  const problemSchema = refer(PROBLEM);
  return {
    openapi: '3.1.1',
    info: {
      title: 'grantd admin API',
      version: packageJson.version,
      description: `Clients need tokens of this server for the audience ${base}.`,
    },
    servers: [{ url: base }],
    security: [{ oauth2: [] }],
    tags: [...new Set(ALL_OPERATIONS.map(([, operation]) => tagOf(operation)))].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      parameters: HEADERS,
      headers: {
        ETag: { description: 'The version, for If-Match.', schema: { type: 'string' } },
        Location: { description: 'URL of the new thing.', schema: { type: 'string' } },
        RetryAfter: { description: 'Seconds to wait.', schema: { type: 'string' } },
        IdempotencyReplayed: {
          description: 'true if the response is that of an earlier request.',
          schema: { type: 'string' },
        },
      },
      responses: Object.fromEntries(
        Object.entries(PROBLEMS).map(([code, { status, title }]) => [
          code,
          {
            description: title,
            content: { [PROBLEM_TYPE]: { schema: problemSchema } },
            ...((status === 429 || status === 503 || code === 'request_pending') && {
              headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
            }),
          },
        ]),
      ),
      securitySchemes: {
        oauth2: {
          type: 'oauth2',
          description: 'Tokens may also be bound to a key (DPoP, RFC 9449).',
          flows: {
            clientCredentials: { tokenUrl: `${issuer.replace(/\/$/, '')}/token`, scopes: ADMIN_SCOPES },
          },
        },
      },
      'x-problems': PROBLEMS,
    },
  };
}

function inline(value: unknown, refer: (schema: Schema) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => inline(item, refer));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      typeof item === 'object' && item !== null && !Array.isArray(item) ? refer(item) : inline(item, refer),
    ]),
  );
}

function tagOf({ path }: Pick<AnyOperation, 'path'>): string {
  return path.split('/')[1] ?? '';
}

/** Problems by which an operation can be refused. */
function problemsOf(operation: AnyOperation | AnyStream): readonly ProblemCode[] {
  const { method, path, query, needsVersion } = operation;
  const body = 'stream' in operation ? operation.bodyLine : operation.body;
  const isWrite = method !== 'GET';
  return [
    'invalid_request',
    'invalid_token',
    'insufficient_user_authentication',
    'insufficient_scope',
    ...(path.includes('{') || query?.group !== undefined || body !== undefined
      ? (['not_found'] as const)
      : []),
    ...(isWrite ? (['conflict'] as const) : []),
    ...(needsVersion ? (['version_mismatch'] as const) : []),
    ...(isWrite ? (['body_too_large'] as const) : []),
    ...(body === undefined ? [] : (['unsupported_media_type', 'invalid_input'] as const)),
    ...(method === 'POST' && body === undefined ? (['idempotency_key_reused'] as const) : []),
    ...(needsVersion ? (['version_required'] as const) : []),
    'too_many_requests',
    'internal',
    'unavailable',
  ];
}

/** A text with a JSON object per line. OpenAPI 3.1 has no word for the lines. */
function lines(line: Schema, refer: (schema: Schema) => unknown) {
  const schema = { type: 'string', description: 'A JSON object per line.', 'x-line': refer(line) };
  return { [LINES_TYPE]: { schema } };
}

/** Content by media type. @returns `undefined` for none */
function contentsOf(operation: AnyOperation | AnyStream, refer: (schema: Schema) => unknown) {
  if ('stream' in operation) {
    const { bodyLine, line } = operation;
    return { body: bodyLine && lines(bodyLine, refer), response: lines(line, refer) };
  }
  const { body, output } = operation;
  return {
    body: body && Object.fromEntries(mediaTypesOf(operation).map((type) => [type, { schema: refer(body) }])),
    response: output && { 'application/json': { schema: refer(output) } },
  };
}

function describe(id: string, operation: AnyOperation | AnyStream, refer: (schema: Schema) => unknown) {
  const { method, path, scope, otherScopes = [], summary, query = {} } = operation;
  const isBodyOptional = 'isBodyOptional' in operation && operation.isBodyOptional;
  const { status, hasVersion, needsVersion } = operation;
  const isRepeatable = method === 'POST' && !('stream' in operation);
  const contents = contentsOf(operation, refer);
  const headers = {
    ...(hasVersion && { ETag: { $ref: '#/components/headers/ETag' } }),
    ...(status === 201 && { Location: { $ref: '#/components/headers/Location' } }),
    ...(isRepeatable && {
      'Idempotency-Replayed': { $ref: '#/components/headers/IdempotencyReplayed' },
    }),
  };
  const byStatus = Map.groupBy(problemsOf(operation), (code) => PROBLEMS[code].status);
  return {
    operationId: id,
    summary,
    tags: [tagOf(operation)],
    security: [scope, ...otherScopes].map((item) => ({ oauth2: [item] })),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
        ...{ name, in: 'path', required: true, description: PATH_PARAMETERS[name] },
        schema: { type: 'string', minLength: 1, maxLength: MAX_PATH_PARAMETER },
      })),
      ...Object.entries(query).map(([name, { schema, about }]) => ({
        ...{ name, in: 'query', required: false, description: about, schema },
      })),
      ...(needsVersion ? [{ $ref: '#/components/parameters/IfMatch' }] : []),
      ...(isRepeatable ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ],
    ...(contents.body !== undefined && {
      requestBody: { required: isBodyOptional !== true, content: contents.body },
    }),
    responses: {
      [status]: {
        description: 'Done.',
        ...(Object.keys(headers).length > 0 && { headers }),
        ...(contents.response !== undefined && { content: contents.response }),
      },
      ...Object.fromEntries(
        [...byStatus].map(([code, [first]]) => [code, { $ref: `#/components/responses/${first}` }]),
      ),
    },
  };
}

/** The accepted media types of the body. */
export function mediaTypesOf({ method }: Pick<AnyOperation, 'method'>): readonly string[] {
  return method === 'PATCH' ? ['application/merge-patch+json', 'application/json'] : ['application/json'];
}
