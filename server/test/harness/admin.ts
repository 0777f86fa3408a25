import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { call } from '../../src/admin/in_process.ts';
import { localCalls } from '../../src/cli/local_calls.ts';
import { admissionByAddress } from '../../src/config/client_address.ts';
import { readConfiguration } from '../../src/config/configuration.ts';
import { sqliteDatabase } from '../../src/data/sqlite_database.ts';
import { openAdminApi } from '../../src/http/admin_api.ts';
import { ADMIN_SCOPES, type AdminScope, adminAudience } from '../../src/instance/admin_access.ts';
import { openInstance } from '../../src/instance/instance.ts';
import { logTo, RequestLog } from '../../src/log/log.ts';
import { testMail } from '../../src/mail/test_mail.ts';
import { requestListener } from '../../src/serve/http_server.ts';
import { cheapHash } from './cheap_hash.ts';

export const ADMIN_ISSUER = 'https://id.example';
export const AUDIENCE = adminAudience(ADMIN_ISSUER);
export const ALL_SCOPES = Object.keys(ADMIN_SCOPES) as readonly AdminScope[];

interface Sent {
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, or as it is if it is a text. */
  readonly body?: unknown;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests compare what they read
  readonly body: any;
}

/** The value of a JSON body, or the text of lines. */
function bodyOf(type: string, text: string): unknown {
  if (type === 'application/x-ndjson') return text;
  return type.includes('json') && text !== '' ? JSON.parse(text) : undefined;
}

/** A server with the admin API in this process, on a new database. */
export async function startAdmin(
  options: Readonly<Record<string, string>> = {},
  { slowReaderMs }: { readonly slowReaderMs?: number } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-admin-'));
  const configuration = readConfiguration(
    {},
    {
      ...{ GRANTD_ISSUER: ADMIN_ISSUER, GRANTD_ADMIN_API: 'true', GRANTD_SECRET: 's'.repeat(32) },
      GRANTD_CONSOLE_SIGN_IN_POLICY: 'password',
      ...options,
    },
  );
  const database = sqliteDatabase(join(folder, 'grantd.db'));
  const instance = await openInstance(configuration, database, ADMIN_ISSUER, 'server');
  const cli = instance.actingAs('cli');
  const parts = { ...cli, configuration };
  const add = (id: string, members: Readonly<Record<string, unknown>>) =>
    call(localCalls(parts), 'addClient', { ...members, client_id: id, client_secret: `${id} secret` });
  await add('ops', { scope: ALL_SCOPES.join(' '), apis: [AUDIENCE] });
  await instance.groups.add({ name: 'admins', description: '' }, Date.now());
  const lines: string[] = [];
  const log = logTo({ write: (line: string) => void lines.push(line) });
  const server = await instance.server();
  const requestLog = new RequestLog(log);
  const admin = await openAdminApi(instance, {
    ...{ configuration, server, requestLog },
    isReady: async () => true,
    isAdmitted: admissionByAddress(configuration.settings, () =>
      log.warn({ event: 'admin_request_through_unknown_proxy' }),
    ),
    testMail: (parts, address) => testMail(parts, address),
    clientCertificate: undefined,
    ...(slowReaderMs !== undefined && { slowReaderMs }),
  });
  const http = createServer(
    requestListener({
      ...{ server, requestLog, admin },
      pages: async (_, response) => void response.writeHead(404).end('no page'),
    }),
  );
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening));
  const address = http.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;

  const tokenOf = async (
    scopes: readonly string[] = ALL_SCOPES,
    order: { readonly clientId?: string; readonly subject?: string } = {},
  ): Promise<string> => {
    const { clientId = 'ops', subject } = order;
    const given = { clientId, scopes, resources: [AUDIENCE], ...(subject !== undefined && { subject }) };
    const [issued] = await server.operator.issueTokens(given);
    return issued?.accessToken ?? '';
  };
  const token = await tokenOf();
  const send = async (
    method: string,
    path: string,
    { token: given = token, headers, body }: Sent = {},
  ): Promise<Answered> => {
    const isJson = body !== undefined && typeof body !== 'string';
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(given !== '' && { authorization: `Bearer ${given}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : String(body) }),
    });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const { status, headers: received } = response;
    return {
      status,
      headers: received,
      text,
      body: bodyOf(type, text),
    };
  };
  return {
    ...{ url, instance, server, configuration, database, add, tokenOf, token, send },
    log: () => lines.join(''),
    /** Adds a user, in the group of administrators if wanted. */
    async addUser(name: string, groups: readonly string[] = []) {
      const person = await instance.people.add({
        name,
        passwordHash: cheapHash('correct horse'),
        claims: {},
      });
      if (person === undefined) throw new TypeError(`there is ${name} already`);
      for (const group of groups)
        await instance.groups.addMember({ subject: person.subject, group }, Date.now());
      return person;
    },
    async close() {
      http.closeAllConnections();
      http.close();
      await database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export type AdminServer = Awaited<ReturnType<typeof startAdmin>>;
