// Operations that take longer than a request ask again whether their caller may still act (ADR 150).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Caller } from '../src/admin/caller.ts';
import { inProcess } from '../src/admin/in_process.ts';
import { STREAMS, type StreamId } from '../src/admin/table.ts';
import { localParts } from '../src/cli/local_calls.ts';
import { Refused } from '../src/config/refused.ts';
import { type AdminServer, ALL_SCOPES, AUDIENCE, startAdmin } from './harness/admin.ts';
import { until } from './harness/program.ts';

/** A request whose body and response are streamed. */
function open(admin: AdminServer, method: string, path: string, token: string): ClientRequest {
  return request(`${admin.url}${path}`, {
    method,
    agent: false,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
  });
}

/** The lines of a response until its end, and whether it has a proper one. */
async function linesOf(response: IncomingMessage) {
  let text = '';
  response.setEncoding('utf8');
  try {
    for await (const chunk of response) text += chunk;
  } catch {
    // The server has ended the connection.
  }
  const lines = text.split('\n').filter((line) => line !== '');
  return { lines, isWhole: response.complete };
}

/** Lines of an import, more than the server gathers for one transaction. */
function importLines(name: string, count: number): string {
  return Array.from({ length: count }, (_, at) => `${JSON.stringify({ username: `${name}${at}` })}\n`).join(
    '',
  );
}

const BATCH = 502;

const MANY = 4000;

/** More than the buffers of a connection hold: 60 MB. */
async function addManyUsers({ instance }: AdminServer): Promise<void> {
  const claims = { note: 'x'.repeat(15_000) };
  for (let batch = 0; batch < MANY / 500; batch++)
    await instance.importedPeople.add(
      Array.from({ length: 500 }, (_, at) => ({
        ...{ name: `many-${batch}-${at}`, subject: `many-${batch}-${at}`, claims, passwordHash: '' },
        ...{ groups: [], links: [], mayLookAlike: false, importDigest: 'digest' },
      })),
      'import',
    );
}

/** How each stream is begun, and what may not have happened in the end. */
const RUNS: Readonly<
  Record<StreamId, (admin: AdminServer, token: string, end: () => Promise<unknown>) => Promise<void>>
> = {
  async importUsers(admin, token, end) {
    const sent = open(admin, 'POST', '/admin/imports/users', token);
    sent.on('error', () => {});
    sent.write(importLines('early', BATCH));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await end();
    sent.write(importLines('late', BATCH));
    sent.end(importLines('last', BATCH));
    const { isWhole } = await linesOf(response);
    assert.equal(isWhole, false);
    assert.ok(await admin.instance.people.byName('early0'));
    for (const name of ['late1', 'last0']) assert.equal(await admin.instance.people.byName(name), undefined);
  },
  async exportUsers(admin, token, end) {
    await addManyUsers(admin);
    const sent = open(admin, 'GET', '/admin/exports/users', token);
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.pause();
    // Until the buffers are full.
    await pause(300);
    await end();
    await admin.instance.people.add({ name: 'zoe', passwordHash: '', claims: {} });
    const { lines, isWhole } = await linesOf(response);
    assert.equal(isWhole, false);
    assert.ok(lines.length < MANY, `${lines.length} lines`);
    assert.ok(!lines.some((line) => line.includes('"zoe"')));
  },
  async exportAudit(admin, token, end) {
    const reason = 'x'.repeat(15_000);
    for (let number = 0; number < MANY; number++)
      await admin.instance.storage.recordAct({ type: 'audit_restarted', target: '', actor: 'cli', reason });
    const sent = open(admin, 'GET', '/admin/exports/audit', token);
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.pause();
    // Until the buffers are full.
    await pause(300);
    await end();
    const { lines, isWhole } = await linesOf(response);
    assert.equal(isWhole, false);
    assert.ok(lines.length < MANY, `${lines.length} lines`);
  },
};

/** How a caller loses its rights. */
const ENDS: Readonly<Record<string, (admin: AdminServer, token: string) => Promise<unknown>>> = {
  'its token is revoked': (admin, token) => admin.server.revokeToken(token),
  'its client is disabled': async ({ instance }) => instance.storage.setDisabled('client', 'streamer', true),
  async 'its client loses a scope'({ instance }) {
    const client = await instance.storage.clients.get('streamer');
    assert.ok(client);
    await instance.storage.clients.replace({ ...client, scopes: ['grantd:keys:read'] }, client);
  },
};

describe('operations that stream', () => {
  test('all of them are tried', () => {
    assert.deepEqual(Object.keys(RUNS).sort(), Object.keys(STREAMS).sort());
  });

  for (const [id, run] of Object.entries(RUNS))
    for (const [how, end] of Object.entries(ENDS))
      test(`${id} goes no further when ${how}`, async (t) => {
        const admin = await startAdmin();
        t.after(() => admin.close());
        await admin.add('streamer', { scope: ALL_SCOPES.join(' '), apis: [AUDIENCE] });
        const token = await admin.tokenOf(ALL_SCOPES, { clientId: 'streamer' });
        await run(admin, token, () => end(admin, token));
      });

  test('a reader who does not read is sent nothing more', async (t) => {
    const admin = await startAdmin({}, { slowReaderMs: 200 });
    t.after(() => admin.close());
    await addManyUsers(admin);
    const sent = open(admin, 'GET', '/admin/exports/users', admin.token);
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.pause();
    await until(() => admin.log().includes('"slow_reader"'), 'the server ends the response');
    const { lines, isWhole } = await linesOf(response);
    assert.equal(isWhole, false);
    assert.ok(lines.length < MANY, `${lines.length} lines`);
  });

  test('a state is applied no further when its caller may no longer act, and the answer says how far it was', async (t) => {
    const admin = await startAdmin();
    t.after(() => admin.close());
    const parts = localParts({ ...admin.instance, configuration: admin.configuration });
    let asked = 0;
    const calls = inProcess({
      ...parts,
      caller: Caller.ofApi('ops', undefined, ALL_SCOPES, undefined),
      requireCaller: async () => {
        asked += 1;
        if (asked === 2) throw new Refused('the token was revoked.');
      },
    });
    const state = { groups: { first: {}, second: {}, third: {} } };
    await assert.rejects(calls.versioned('applyState', { state }), {
      message:
        'the token was revoked. Applied before: add group first. Failed, and perhaps applied in part: add group second. Not applied: add group third. The next plan contains what is missing.',
    });
    const names = (await admin.instance.groups.list()).map(({ name }) => name);
    assert.deepEqual(names.sort(), ['admins', 'first']);
  });
});
