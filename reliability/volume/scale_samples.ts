import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { NewClient } from '@grantd/core';
import type { Cluster } from '../deployments/cluster.ts';
import { type Library, openLibrary, registerClients, registerPerson } from '../deployments/library.ts';
import { Connection } from '../load/connection.ts';
import { requestTokens, type Tokens } from '../load/protocol.ts';
import { CLIENTS, register } from '../load/registrations.ts';

export type Value = string | number | bigint | boolean | null;

export type Row = Readonly<Record<string, Value>>;

/** A row of each kind, as the server has written it. */
export interface Samples {
  readonly person: Row;
  readonly user: Row;
  readonly session: Row;
  readonly grant: Row;
  readonly grantDetails: Row;
  readonly code: Row;
  /** By format of the access token. */
  readonly access: Readonly<Record<Format, Row>>;
  readonly refresh: Readonly<Record<Format, Row>>;
  readonly machine: Readonly<Record<Format, Row>>;
  /** Of a token of a client, and of a pair. */
  readonly events: { readonly machine: Row; readonly pair: Row };
}

export type Format = 'opaque' | 'jwt';

/** The person in the samples. */
export const SAMPLE_NAME = 'sample-person';
export const SAMPLE_SESSION = 'sample-session-0000000';

const VERIFIER = 'the-verifier-of-the-code-of-the-sample-rows-0';

/** An application whose access tokens are JWTs, the default. */
export function application(number: number): NewClient & { readonly id: string } {
  const { accessTokenFormat: _, ...web } = CLIENTS.web;
  return { ...web, id: `application-${number}` };
}

function api(number: number): NewClient {
  return { ...CLIENTS.api, id: `api-${number}`, resource: `https://api-${number}.example` };
}

/**
 * Registers clients, and lets the server write one row of each kind.
 * @param count how many applications and APIs to register
 */
export async function writeSamples(cluster: Cluster, count: number): Promise<Samples> {
  const subject = await registerPerson(cluster, SAMPLE_NAME);
  const [server] = cluster.servers;
  if (server === undefined) throw new Error('no server was started');
  const library = await openLibrary(cluster);
  const connection = new Connection(server.address);
  try {
    await registerClients(library);
    for (let number = 0; number < count; number++) {
      await register(library.opaque, library.storage.clients, application(number));
      await register(library.opaque, library.storage.clients, api(number));
    }
    for (const client of [CLIENTS.opaque, CLIENTS.jwt])
      await requireTokens(connection, { grant_type: 'client_credentials' }, client.id);
    for (const client of [CLIENTS.web, application(0)]) await signIn(library, connection, client.id, subject);
  } finally {
    connection.close();
    await library.close();
  }
  return readSamples(cluster, subject);
}

/** Issues a code as after the pages of sign-in, and redeems it. */
async function signIn(
  library: Library,
  connection: Connection,
  clientId: string,
  subject: string,
): Promise<void> {
  const { authorization } = library.opaque;
  const [redirectUri = ''] = CLIENTS.web.redirectUris;
  const parameters = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid profile read',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const url = `/authorize?${parameters}`;
  const request = await authorization.validate({ method: 'GET', url, headers: {} });
  const { headers } = await authorization.complete(request, { subject, sessionId: SAMPLE_SESSION });
  const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
  const form = {
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    code_verifier: VERIFIER,
    code,
  };
  const { refreshToken } = await requireTokens(connection, form, clientId);
  if (refreshToken === undefined) throw new Error(`${clientId} got no refresh token`);
}

async function requireTokens(
  connection: Connection,
  form: Readonly<Record<string, string>>,
  clientId: string,
): Promise<Tokens> {
  const tokens = await requestTokens(connection, form, clientId);
  if (typeof tokens === 'string') throw new Error(`a request of ${clientId} was ${tokens}`);
  return tokens;
}

/** The server numbers and seals events every two seconds. */
const MAX_SEALING_MS = 20_000;

async function readSamples(cluster: Cluster, subject: string): Promise<Samples> {
  const one = async (sql: string): Promise<Row> => {
    const [row] = (await cluster.rows(`${sql} LIMIT 1`)) as Row[];
    if (row === undefined) throw new Error(`the server has written no row for: ${sql}`);
    return { ...row };
  };
  const formats = async (read: (clientId: string) => Promise<Row>, [opaque, jwt]: readonly string[]) => ({
    opaque: await read(opaque ?? ''),
    jwt: await read(jwt ?? ''),
  });
  const machines = [CLIENTS.opaque.id, CLIENTS.jwt.id];
  const applications = [CLIENTS.web.id, application(0).id];
  const token = (kind: string) => (id: string) =>
    one(`SELECT * FROM tokens WHERE client_id = '${id}' AND kind = '${kind}'`);
  const principal = (kind: string) => one(`SELECT * FROM principals WHERE kind = '${kind}'`);
  const event = async (clientId: string) => {
    const sql = `SELECT * FROM events WHERE type = 'token_issued' AND client_id = '${clientId}'`;
    for (const endsAtMs = performance.now() + MAX_SEALING_MS; performance.now() < endsAtMs; await pause(100))
      if ((await cluster.rows(sql)).length > 0) break;
    return one(sql);
  };
  return {
    person: await one(`SELECT * FROM people WHERE subject = '${subject}'`),
    user: await principal('subject'),
    session: await principal('session'),
    grant: await principal('grant'),
    grantDetails: await one('SELECT * FROM grants'),
    code: await one(`SELECT * FROM authorization_codes WHERE client_id = '${CLIENTS.web.id}'`),
    access: await formats(token('access_token'), applications),
    refresh: await formats(token('refresh_token'), applications),
    machine: await formats(token('access_token'), machines),
    events: { machine: await event(CLIENTS.opaque.id), pair: await event(CLIENTS.web.id) },
  };
}
