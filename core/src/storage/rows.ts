import type { ClientMetadata, SigningAlgorithm } from '../protocol/client_metadata.ts';
import type {
  ApiRecord,
  AuthorizationCodeRecord,
  ClientRecord,
  GrantRecord,
  KeyRecord,
  NewAuthorizationCode,
  NewToken,
  PushedRequest,
  Standing,
  TokenFormat,
  TokenKind,
  TokenRecord,
} from '../protocol/records.ts';
import type { NewClient } from './contract.ts';
import { EXPIRED_CODE_SECONDS } from './issuing.ts';

/**
 * How a token or code stands to what its life depends on: part of every look-up, so that one statement answers
 * completely. `t` is the row that was looked up; each joined row is found by its primary key.
 */
const STANDING_COLUMNS = `
  t.client_generation,  c.generation, c.raised_at_ms, c.disabled_at_ms,
  t.subject_generation, s.generation, s.raised_at_ms, s.disabled_at_ms,
  t.session_generation, e.generation, e.raised_at_ms,
  t.grant_generation,   g.generation, g.raised_at_ms,
  i.not_before_ms`;

export const STANDING_JOINS = `
  JOIN issuers i ON i.id = t.issuer_id
  ${principalJoins('')}`;

/** That something is behind none of its principals. */
const IS_NOT_BEHIND = `t.client_generation >= c.generation
  AND (t.subject IS NULL OR t.subject_generation >= s.generation)
  AND (t.session_id IS NULL OR t.session_generation >= e.generation)
  AND (t.grant_id IS NULL OR t.grant_generation >= g.generation)`;

/**
 * That a token was ended neither by itself nor by what was joined to it: what `storedLife` decides of a record, but for
 * its expiry. A disabling raises the generation and lets none be issued, so that it needs no condition of its own.
 */
export const STANDS = `
  t.revoked_at_ms IS NULL AND t.superseded_at_ms IS NULL
  AND t.issued_at_ms >= coalesce(i.not_before_ms, 0)
  AND ${IS_NOT_BEHIND}`;

/** @param schema before the names of tables */
export function principalJoins(schema: '' | 'grantd.'): string {
  return `
  LEFT JOIN ${schema}clients c ON c.issuer_id = t.issuer_id AND c.id = t.client_id
  LEFT JOIN ${schema}principals s ON s.issuer_id = t.issuer_id AND s.kind = 'subject' AND s.id = t.subject
  LEFT JOIN ${schema}principals e ON e.issuer_id = t.issuer_id AND e.kind = 'session' AND e.id = t.session_id
  LEFT JOIN ${schema}principals g ON g.issuer_id = t.issuer_id AND g.kind = 'grant' AND g.id = t.grant_id`;
}

/** In the order of `STANDING_COLUMNS`. */
type StandingRow = readonly [
  clientGeneration: number,
  clientCurrent: number | null,
  clientRaisedAtMs: number | null,
  clientDisabledAtMs: number | null,
  subjectGeneration: number | null,
  subjectCurrent: number | null,
  subjectRaisedAtMs: number | null,
  subjectDisabledAtMs: number | null,
  sessionGeneration: number | null,
  sessionCurrent: number | null,
  sessionRaisedAtMs: number | null,
  grantGeneration: number | null,
  grantCurrent: number | null,
  grantRaisedAtMs: number | null,
  notBeforeMs: number | null,
];

/** A record while it is being made. */
export type Writable<T> = { -readonly [Member in keyof T]: T[Member] };

type Standings = Required<Pick<AuthorizationCodeRecord, 'standing'>> &
  Pick<AuthorizationCodeRecord, 'notBeforeMs'>;

/** The part of a record that `STANDING_COLUMNS` carry. */
export function standingsOf(row: StandingRow): Standings {
  const [client, clientCurrent, clientRaisedAtMs, clientDisabledAtMs, ...others] = row;
  const [subject, subjectCurrent, subjectRaisedAtMs, subjectDisabledAtMs, ...rest] = others;
  const [session, sessionCurrent, sessionRaisedAtMs, grant, grantCurrent, grantRaisedAtMs, notBeforeMs] =
    rest;
  const standings: Writable<Standings['standing']> = {
    client: standing(client, clientCurrent, clientRaisedAtMs, clientDisabledAtMs),
  };
  if (subject !== null)
    standings.subject = standing(subject, subjectCurrent, subjectRaisedAtMs, subjectDisabledAtMs);
  if (session !== null) standings.session = standing(session, sessionCurrent, sessionRaisedAtMs, null);
  if (grant !== null) standings.grant = standing(grant, grantCurrent, grantRaisedAtMs, null);
  return { standing: standings, ...(notBeforeMs !== null && { notBeforeMs }) };
}

/** A principal whose row is gone is ahead of whatever copied it: rows are swept after the end of their last token. */
function standing(
  copied: number,
  current: number | null,
  raisedAtMs: number | null,
  disabledAtMs: number | null,
): Standing {
  const one: Writable<Standing> = { copied, current: current ?? copied + 1 };
  if (raisedAtMs !== null) one.raisedAtMs = raisedAtMs;
  if (disabledAtMs !== null) one.disabledAtMs = disabledAtMs;
  return one;
}

/** What a look-up of a token reads, in the order of `TokenRow`; `t` is the token's row. */
export const TOKEN_COLUMNS = `
  t.id, t.kind, t.digest, t.client_id, t.scopes, t.token_type, t.subject, t.claims, t.claims_request, t.resources,
  t.issued_at_ms, t.expires_at, t.key_id, t.pair_id, t.family_id, t.grant_id, t.session_id, t.superseded_at_ms,
  t.successor_id, t.revoked_at_ms,
  ${STANDING_COLUMNS}`;

/** A list, which is read in half the time that an object takes. */
export type TokenRow = readonly [
  id: string,
  kind: TokenKind,
  digest: string,
  clientId: string,
  scopes: string,
  tokenType: string | null,
  subject: string | null,
  claims: string | null,
  claimsRequest: string | null,
  resources: string | null,
  issuedAtMs: number,
  expiresAt: number,
  keyId: string | null,
  pairId: string | null,
  familyId: string | null,
  grantId: string | null,
  sessionId: string | null,
  supersededAtMs: number | null,
  successorId: string | null,
  revokedAtMs: number | null,
  ...StandingRow,
];

/** What a host or a request makes as long, and of as many parts, as it likes. */
export interface TokenExtent {
  /** Characters. */
  readonly length: number;
  /** Objects, lists, and what they have more than one of: each takes more memory than its text. */
  readonly parts: number;
}

export function extentOf(row: TokenRow): TokenExtent {
  const [, , , , scopes, , subject, claims, claimsRequest, resources, , , , , , , sessionId] = row;
  const json = [scopes, claims, claimsRequest, resources].map((text) => text ?? '');
  return {
    length: [...json, subject, sessionId].reduce((sum, text) => sum + (text?.length ?? 0), 0),
    parts: json.reduce((sum, text) => sum + (text.match(/[[{,]/g)?.length ?? 0), 0),
  };
}

export function toTokenRecord(row: TokenRow): TokenRecord {
  const [
    id,
    kind,
    digest,
    clientId,
    scopes,
    tokenType,
    subject,
    claims,
    claimsRequest,
    resources,
    issuedAtMs,
    expiresAt,
    keyId,
    pairId,
    familyId,
    grantId,
    sessionId,
    supersededAtMs,
    successorId,
    revokedAtMs,
    ...standing
  ] = row;
  const record: Writable<TokenRecord> = {
    id,
    kind,
    digest,
    clientId,
    scopes: JSON.parse(scopes),
    issuedAtMs,
    expiresAt,
    ...standingsOf(standing),
  };
  if (tokenType !== null) record.tokenType = tokenType;
  if (subject !== null) record.subject = subject;
  if (claims !== null) record.claims = JSON.parse(claims);
  if (claimsRequest !== null) record.claimsRequest = JSON.parse(claimsRequest);
  if (resources !== null) record.resources = JSON.parse(resources);
  if (keyId !== null) record.keyId = keyId;
  if (pairId !== null) record.pairId = pairId;
  if (familyId !== null) record.familyId = familyId;
  if (grantId !== null) record.grantId = grantId;
  if (sessionId !== null) record.sessionId = sessionId;
  if (supersededAtMs !== null) record.supersededAtMs = supersededAtMs;
  if (successorId !== null) record.successorId = successorId;
  if (revokedAtMs !== null) record.revokedAtMs = revokedAtMs;
  return record;
}

/** What is stored of a new token, by column; its generations are the statement's to copy. */
export function toTokenColumns(token: NewToken) {
  return {
    id: token.id,
    kind: token.kind,
    digest: token.digest,
    client_id: token.clientId,
    scopes: JSON.stringify(token.scopes),
    token_type: token.tokenType ?? null,
    subject: token.subject ?? null,
    claims: token.claims === undefined ? null : JSON.stringify(token.claims),
    claims_request: token.claimsRequest === undefined ? null : JSON.stringify(token.claimsRequest),
    resources: token.resources === undefined ? null : JSON.stringify(token.resources),
    issued_at_ms: token.issuedAtMs,
    expires_at: token.expiresAt,
    keep_until: token.keepUntil,
    key_id: token.keyId ?? null,
    pair_id: token.pairId ?? null,
    family_id: token.familyId ?? null,
    grant_id: token.grantId ?? null,
    session_id: token.sessionId ?? null,
  };
}

/** What describes a client: all that `replace` writes. */
export const CLIENT_DESCRIPTION = [
  'name',
  'secrets',
  'grant_types',
  'scopes',
  'redirect_uris',
  'resource',
  'rotate_refresh_tokens',
  'access_token_format',
  'access_token_algorithm',
  'id_token_algorithm',
  'metadata',
  'registration_token_digest',
  'registered_at',
] as const;

export const CLIENT_COLUMNS = `id, ${CLIENT_DESCRIPTION.join(', ')}, generation, revision, registration_revision, disabled_at_ms`;

export type ClientRow = {
  readonly id: string;
  readonly name: string | null;
  readonly secrets: string | null;
  readonly grant_types: string;
  readonly scopes: string;
  readonly redirect_uris: string;
  readonly resource: string | null;
  readonly rotate_refresh_tokens: number | boolean | null;
  readonly access_token_format: TokenFormat | null;
  readonly access_token_algorithm: SigningAlgorithm | null;
  readonly id_token_algorithm: SigningAlgorithm | null;
  readonly metadata: string | null;
  readonly registration_token_digest: string | null;
  readonly registered_at: number | null;
  readonly generation: number;
  readonly revision: number;
  readonly registration_revision: number;
  readonly disabled_at_ms: number | null;
};

export function toClientRecord(row: ClientRow): ClientRecord {
  return {
    id: row.id,
    ...(row.name !== null && { name: row.name }),
    ...(row.secrets !== null && { secrets: JSON.parse(row.secrets) }),
    grantTypes: JSON.parse(row.grant_types),
    scopes: JSON.parse(row.scopes),
    redirectUris: JSON.parse(row.redirect_uris),
    ...(row.resource !== null && { resource: row.resource }),
    ...(row.rotate_refresh_tokens !== null && { rotateRefreshTokens: Boolean(row.rotate_refresh_tokens) }),
    ...(row.access_token_format !== null && { accessTokenFormat: row.access_token_format }),
    ...(row.access_token_algorithm !== null && { accessTokenAlgorithm: row.access_token_algorithm }),
    ...(row.id_token_algorithm !== null && { idTokenAlgorithm: row.id_token_algorithm }),
    ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) }),
    ...(row.registration_token_digest !== null && {
      registrationTokenDigest: row.registration_token_digest,
    }),
    ...(row.registered_at !== null && { registeredAt: row.registered_at }),
    generation: row.generation,
    revision: row.revision,
    registrationRevision: row.registration_revision,
    ...(row.disabled_at_ms !== null && { disabledAtMs: row.disabled_at_ms }),
  };
}

export type ApiRow = { readonly id: string; readonly resource: string; readonly metadata: string | null };

export function toApiRecord({ id: clientId, resource, metadata }: ApiRow): ApiRecord {
  const { api_scopes: scopes = [] }: ClientMetadata = metadata === null ? {} : JSON.parse(metadata);
  return { clientId, resource, scopes };
}

/** What is stored of a new client, by column. */
export function toClientColumns(client: NewClient) {
  return {
    id: client.id,
    name: client.name ?? null,
    secrets: client.secrets === undefined ? null : JSON.stringify(client.secrets),
    grant_types: JSON.stringify(client.grantTypes),
    scopes: JSON.stringify(client.scopes),
    redirect_uris: JSON.stringify(client.redirectUris),
    resource: client.resource ?? null,
    rotate_refresh_tokens:
      client.rotateRefreshTokens === undefined ? null : Number(client.rotateRefreshTokens),
    access_token_format: client.accessTokenFormat ?? null,
    access_token_algorithm: client.accessTokenAlgorithm ?? null,
    id_token_algorithm: client.idTokenAlgorithm ?? null,
    metadata: client.metadata === undefined ? null : JSON.stringify(client.metadata),
    registration_token_digest: client.registrationTokenDigest ?? null,
    registered_at: client.registeredAt ?? null,
  };
}

/** What a look-up of an authorization code reads, in the order of `CodeRow`; `t` is the code's row. */
export const CODE_COLUMNS = `
  t.id, t.client_id, t.redirect_uri, t.redirect_uri_given, t.code_challenge, t.scopes, t.subject, t.grant_id,
  t.session_id, t.nonce, t.claims, t.claims_request, t.resources, t.issued_at_ms, t.expires_at, t.redeemed_at_ms, t.revoked_at_ms,
  ${STANDING_COLUMNS}`;

/** In the order of `CODE_COLUMNS`. */
export type CodeRow = readonly [
  id: string,
  clientId: string,
  redirectUri: string,
  redirectUriGiven: number | boolean,
  codeChallenge: string | null,
  scopes: string,
  subject: string,
  grantId: string,
  sessionId: string | null,
  nonce: string | null,
  claims: string,
  claimsRequest: string | null,
  resources: string | null,
  issuedAtMs: number,
  expiresAt: number,
  redeemedAtMs: number | null,
  revokedAtMs: number | null,
  ...StandingRow,
];

export function toCodeRecord(row: CodeRow): AuthorizationCodeRecord {
  const [
    id,
    clientId,
    redirectUri,
    redirectUriGiven,
    codeChallenge,
    scopes,
    subject,
    grantId,
    sessionId,
    nonce,
    claims,
    claimsRequest,
    resources,
    issuedAtMs,
    expiresAt,
    redeemedAtMs,
    revokedAtMs,
    ...standing
  ] = row;
  return {
    id,
    clientId,
    redirectUri,
    redirectUriGiven: Boolean(redirectUriGiven),
    ...(codeChallenge !== null && { codeChallenge }),
    scopes: JSON.parse(scopes),
    subject,
    grantId,
    ...(sessionId !== null && { sessionId }),
    ...(nonce !== null && { nonce }),
    claims: JSON.parse(claims),
    ...(claimsRequest !== null && { claimsRequest: JSON.parse(claimsRequest) }),
    ...(resources !== null && { resources: JSON.parse(resources) }),
    issuedAtMs,
    expiresAt,
    ...(redeemedAtMs !== null && { redeemedAtMs }),
    ...(revokedAtMs !== null && { revokedAtMs }),
    ...standingsOf(standing),
  };
}

/** What is stored of a new code, by column. */
export function toCodeColumns(code: NewAuthorizationCode) {
  return {
    id: code.id,
    client_id: code.clientId,
    redirect_uri: code.redirectUri,
    redirect_uri_given: Number(code.redirectUriGiven),
    code_challenge: code.codeChallenge ?? null,
    scopes: JSON.stringify(code.scopes),
    subject: code.subject,
    grant_id: code.grantId,
    session_id: code.sessionId ?? null,
    nonce: code.nonce ?? null,
    claims: JSON.stringify(code.claims),
    claims_request: code.claimsRequest === undefined ? null : JSON.stringify(code.claimsRequest),
    resources: code.resources === undefined ? null : JSON.stringify(code.resources),
    issued_at_ms: code.issuedAtMs,
    expires_at: code.expiresAt,
    keep_until: code.expiresAt + EXPIRED_CODE_SECONDS,
  };
}

const GENERATIONS = [
  'client_generation',
  'subject_generation',
  'session_generation',
  'grant_generation',
] as const;

/** What a row holds besides its key. */
export const GRANT_COLUMNS = [
  'client_id',
  'subject',
  'scopes',
  'session_id',
  'created_at_ms',
  ...GENERATIONS,
];

/**
 * What becomes of a grant that is known already: it begins anew where what it was has ended, which shows in the
 * generations that it copied then. `known` stands for the table.
 */
export const ON_KNOWN_GRANT = `
    ON CONFLICT (issuer_id, grant_id) DO UPDATE
    SET (${GRANT_COLUMNS.join(', ')}) = (${GRANT_COLUMNS.map((column) => `excluded.${column}`).join(', ')})
    WHERE ${GENERATIONS.map((generation) => `excluded.${generation} > known.${generation}`).join(' OR ')}`;

/**
 * Grants that are alive: what a disabling ends was raised by it as well. Where tokens were ended one by one, or by a
 * time before which they were issued, the grant itself lives on until the last of them would be over.
 * Looked for by person, and by nothing that finds more: no index knows of `coalesce`.
 * @param schema before the names of tables
 * @param parameter spells the parameters `issuerId`, `subject` and `now`
 */
export function aliveGrants(
  schema: '' | 'grantd.',
  parameter: (name: 'issuerId' | 'subject' | 'now') => string,
): string {
  return `
    FROM ${schema}grants t ${principalJoins(schema)}
    WHERE t.issuer_id = ${parameter('issuerId')} AND t.subject = ${parameter('subject')}
      AND coalesce(g.keep_until, 0) > ${parameter('now')} AND ${IS_NOT_BEHIND}`;
}

export const GRANT_READ = 't.grant_id, t.client_id, t.subject, t.scopes, t.session_id, t.created_at_ms';

export const NEWEST_FIRST = 'ORDER BY t.created_at_ms DESC, t.grant_id DESC';

export type GrantRow = {
  readonly grant_id: string;
  readonly client_id: string;
  readonly subject: string;
  readonly scopes: string;
  readonly session_id: string | null;
  readonly created_at_ms: number;
};

export function toGrantRecord(row: GrantRow): GrantRecord {
  return {
    id: row.grant_id,
    clientId: row.client_id,
    subject: row.subject,
    scopes: JSON.parse(row.scopes),
    ...(row.session_id !== null && { sessionId: row.session_id }),
    createdAtMs: row.created_at_ms,
  };
}

export const KEY_COLUMNS =
  'kid, algorithm, status, public_jwk, sealed_private_key, created_at_ms, retired_at_ms';

export type KeyRow = {
  readonly kid: string;
  readonly algorithm: KeyRecord['algorithm'];
  readonly status: KeyRecord['status'];
  readonly public_jwk: string;
  readonly sealed_private_key: string;
  readonly created_at_ms: number;
  readonly retired_at_ms: number | null;
};

export function toKeyRecord(row: KeyRow): KeyRecord {
  return {
    kid: row.kid,
    algorithm: row.algorithm,
    status: row.status,
    publicJwk: JSON.parse(row.public_jwk),
    sealedPrivateKey: row.sealed_private_key,
    createdAtMs: row.created_at_ms,
    ...(row.retired_at_ms !== null && { retiredAtMs: row.retired_at_ms }),
  };
}

/** What is stored of a new key, by column. */
export function toKeyColumns(key: KeyRecord) {
  return {
    kid: key.kid,
    algorithm: key.algorithm,
    status: key.status,
    public_jwk: JSON.stringify(key.publicJwk),
    sealed_private_key: key.sealedPrivateKey,
    created_at_ms: key.createdAtMs,
  };
}

export const PUSHED_REQUEST_COLUMNS = 'id, client_id, parameters, expires_at';

export type PushedRequestRow = {
  readonly id: string;
  readonly client_id: string;
  readonly parameters: string;
  readonly expires_at: number;
};

export function toPushedRequest(row: PushedRequestRow): PushedRequest {
  return {
    id: row.id,
    clientId: row.client_id,
    parameters: JSON.parse(row.parameters),
    expiresAt: row.expires_at,
  };
}

/** What is stored of a request, by column. */
export function toPushedRequestColumns(request: PushedRequest) {
  return {
    id: request.id,
    client_id: request.clientId,
    parameters: JSON.stringify(request.parameters),
    expires_at: request.expiresAt,
  };
}

/** Rows of one table on their way from one database to another; tables and columns have the same names in each. */
export interface TableRows {
  readonly table: string;
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
}

/** The store's own tables, each after those that it refers to. */
export const TABLES = [
  'issuers',
  'clients',
  'redirect_origins',
  'api_scopes',
  'principals',
  'grants',
  'tokens',
  'authorization_codes',
  'signing_keys',
  'one_time_identifiers',
  'pushed_requests',
  'events',
] as const;
