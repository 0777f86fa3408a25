// The table of all operations of administration. HTTP, the OpenAPI description, the command line, the console and the
// scopes of tokens derive from it.
import { AUDIT_OPERATIONS, AUDIT_STREAMS } from './audit.ts';
import { CLIENT_OPERATIONS } from './clients.ts';
import { DENIED_DOCUMENT_OPERATIONS } from './denied_documents.ts';
import { FACTOR_OPERATIONS } from './factors.ts';
import { GROUP_OPERATIONS } from './groups.ts';
import { INVITATION_OPERATIONS } from './invitations.ts';
import { KEY_OPERATIONS } from './keys.ts';
import { MAIL_OPERATIONS } from './mails.ts';
import type { Operation, StreamOperation } from './operation.ts';
import { PERSONAL_TOKEN_OPERATIONS } from './personal_tokens.ts';
import { SCOPE_OPERATIONS } from './scopes.ts';
import { SECRET_OPERATIONS } from './secrets.ts';
import { SERVER_OPERATIONS } from './server.ts';
import { SESSION_OPERATIONS } from './sessions.ts';
import { SIGN_IN_OPERATIONS } from './sign_in_explanation.ts';
import { STATE_OPERATIONS } from './state.ts';
import { TOKEN_OPERATIONS } from './tokens.ts';
import { USER_STREAMS } from './user_lines.ts';
import { USER_OPERATIONS } from './users.ts';

// ADR 94
export const OPERATIONS = {
  ...CLIENT_OPERATIONS,
  ...DENIED_DOCUMENT_OPERATIONS,
  ...USER_OPERATIONS,
  ...INVITATION_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...GROUP_OPERATIONS,
  ...SCOPE_OPERATIONS,
  ...KEY_OPERATIONS,
  ...TOKEN_OPERATIONS,
  ...PERSONAL_TOKEN_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...SERVER_OPERATIONS,
  ...FACTOR_OPERATIONS,
  ...SIGN_IN_OPERATIONS,
  ...MAIL_OPERATIONS,
  ...SECRET_OPERATIONS,
  ...STATE_OPERATIONS,
};

export const STREAMS = { ...USER_STREAMS, ...AUDIT_STREAMS };

type Table = typeof OPERATIONS;

export type OperationId = keyof Table;
/** What an operation gets. */
export type Input<Id extends OperationId> = Parameters<Table[Id]['perform']>[1];
/** What an operation returns. */
export type Document<Id extends OperationId> = Awaited<ReturnType<Table[Id]['perform']>>['document'];

export type StreamId = keyof typeof STREAMS;

/** An operation whose input is checked against its schemas. */
export type AnyOperation = Operation<never, unknown>;
export type AnyStream = StreamOperation<never, unknown>;

/** Every operation with its name, in the order of the description. */
export const ALL_OPERATIONS: readonly (readonly [id: string, operation: AnyOperation | AnyStream])[] = [
  ...Object.entries<AnyOperation>(OPERATIONS),
  ...Object.entries<AnyStream>(STREAMS),
];
