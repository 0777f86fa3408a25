import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { AuthorizationServer, DocumentError, type FetchDocument } from '@grantd/core';
import type { OpenDatabase } from '../src/data/database.ts';
import { MAX_CONCURRENT_CLIENTS } from '../src/data/sessions.ts';
import {
  LogoutDeliverer,
  type LogoutReport,
  type SessionEnd,
  SessionEnding,
} from '../src/people/sessions.ts';
import { DATABASES } from './harness/databases.ts';
import { until } from './harness/program.ts';
import { addPerson, ISSUER, newId, noteClient, openDatabase } from './harness/program_data.ts';

type Answer = Awaited<ReturnType<FetchDocument>>;

/** Pending deliveries to clients, which respond when the test says so. */
class Clients {
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  readonly asked: string[] = [];
  most = 0;

  readonly fetch: FetchDocument = (uri) => {
    const id = new URL(uri).pathname.slice(1);
    assert.ok(!this.#waiting.has(id), `${id} is told one thing at a time`);
    this.asked.push(id);
    const answer = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.most = Math.max(this.most, this.#waiting.size);
    return answer;
  };

  get underWay(): readonly string[] {
    return [...this.#waiting.keys()].sort();
  }

  async answer(id: string): Promise<void> {
    await until(() => this.#waiting.has(id), `${id} is told`);
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.({ status: 200, contentType: undefined, body: '' });
  }
}

for (const database of DATABASES) {
  describe(`telling clients of logouts on ${database.name}`, { skip: database.absence }, () => {
    /** @param clientIds clients with a logout URI */
    async function open(t: TestContext, clientIds: readonly string[]) {
      const opened = await openDatabase(t, database);
      const clients = new Clients();
      const { deliverer, reports, faults } = await delivererOver(opened, clients.fetch);
      for (const id of clientIds) await addClient(opened, id);
      const alice = await addPerson(opened, 'alice');
      /** An ended session with some clients. */
      const ended = async (...known: readonly string[]): Promise<SessionEnd> => {
        const id = newId();
        const session = { id, subject: alice.subject, amr: ['pwd'], userAgent: '' };
        await opened.sessions.add({ ...session, signedInAtMs: 1, lastSeenAtMs: 1 }, id, 9000, alice);
        for (const clientId of known) await noteClient(opened, id, clientId, { sid: id, sub: alice.subject });
        const [end] = await new SessionEnding(opened).end({ id, subject: alice.subject });
        assert.ok(end);
        return end;
      };
      return { opened, clients, deliverer, reports, faults, ended };
    }

    async function delivererOver(
      opened: Pick<OpenDatabase, 'storage' | 'logoutDeliveries'>,
      fetchDocument: FetchDocument,
    ) {
      const server = new AuthorizationServer({
        issuer: ISSUER,
        secret: 's'.repeat(32),
        storage: opened.storage,
        oidc: { getUserClaims: () => ({}) },
        onEvent: () => {},
        fetchDocument,
      });
      await server.prepare();
      const reports: LogoutReport[] = [];
      const faults: unknown[] = [];
      const deliverer = new LogoutDeliverer({
        deliveries: opened.logoutDeliveries,
        server,
        report: (report) => reports.push(report),
        onFault: (fault) => faults.push(fault),
      });
      return { deliverer, reports, faults };
    }

    async function addClient({ storage }: OpenDatabase, id: string): Promise<void> {
      await storage.clients.add({
        id,
        grantTypes: ['authorization_code'],
        scopes: ['openid'],
        redirectUris: [`https://${id}.example/callback`],
        metadata: { backchannel_logout_uri: `https://clients.example/${id}` },
      });
    }

    test('a slow client delays only itself', async (t) => {
      const { clients, deliverer, reports, ended } = await open(t, ['slow', 'web']);
      for (let session = 0; session < 3; session += 1) await ended('slow');
      await ended('web');
      await deliverer.begin();
      await until(() => clients.underWay.length === 2, 'both are told');
      await clients.answer('web');
      await until(() => reports.length === 1, 'one has heard');
      const told = deliverer.tell(await ended('web'));
      await clients.answer('web');
      await told;
      assert.deepEqual(clients.underWay, ['slow']);
      assert.deepEqual(clients.asked.toSorted(), ['slow', 'web', 'web']);
      for (let session = 0; session < 3; session += 1) await clients.answer('slow');
      await until(() => reports.length === 5, 'all have heard, one after another');
      await deliverer.end();
    });

    test('the number of concurrent deliveries is limited; the others follow by themselves', async (t) => {
      const ids = Array.from({ length: MAX_CONCURRENT_CLIENTS + 3 }, (_, index) => `client-${index}`);
      const { clients, deliverer, reports, ended } = await open(t, ids);
      const end = await ended(...ids);
      const told = deliverer.tell(end);
      await until(() => clients.underWay.length === MAX_CONCURRENT_CLIENTS, 'as many as may be are told');
      for (const id of clients.underWay) await clients.answer(id);
      await until(() => clients.underWay.length === 3, 'the others are');
      for (const id of clients.underWay) await clients.answer(id);
      await told;
      await until(() => reports.length === ids.length, 'all have heard');
      assert.deepEqual([clients.most, clients.asked.length], [MAX_CONCURRENT_CLIENTS, ids.length]);
    });

    test('a wait for a session’s clients does not include other clients', async (t) => {
      const { clients, deliverer, ended } = await open(t, ['slow', 'web']);
      await ended('slow');
      const told = deliverer.tell(await ended('web'));
      await clients.answer('web');
      await told;
      assert.deepEqual(clients.asked.slice(0, 1), ['web']);
      await clients.answer('slow');
      await deliverer.end();
    });

    test('a delivery that waits for another one to the same client continues after it, even during a lookup', async (t) => {
      const { opened, clients, ended } = await open(t, ['slow', 'web']);
      let looks = 0;
      const take: typeof opened.logoutDeliveries.take = async (...wanted) => {
        const taken = await opened.logoutDeliveries.take(...wanted);
        looks += 1;
        if (looks === 2) {
          await clients.answer('web');
          await until(() => reports.length === 1, 'it has heard');
        }
        return taken;
      };
      const { deliverer, reports } = await delivererOver(
        { ...opened, logoutDeliveries: { ...opened.logoutDeliveries, take } },
        clients.fetch,
      );
      await ended('slow', 'web');
      await deliverer.begin();
      await until(() => clients.underWay.length === 2, 'both are told');
      const told = deliverer.tell(await ended('web'));
      await until(() => reports.length === 1, 'it has heard the first');
      await clients.answer('web');
      await told;
      assert.deepEqual(clients.underWay, ['slow']);
      await clients.answer('slow');
      await deliverer.end();
    });

    test('shutdown starts no new deliveries, and waits for pending ones', async (t) => {
      const { opened, clients, deliverer, reports, ended } = await open(t, ['slow', 'web']);
      const told = deliverer.tell(await ended('slow'));
      await until(() => clients.underWay.length === 1, 'it is told');
      await ended('slow', 'web');
      let hasEnded = false;
      const end = deliverer.end().then(() => {
        hasEnded = true;
      });
      await deliverer.begin();
      await deliverer.tell(await ended('web'));
      assert.deepEqual([hasEnded, clients.underWay], [false, ['slow']]);
      await clients.answer('slow');
      await Promise.all([end, told]);
      assert.deepEqual([reports.length, clients.asked], [1, ['slow']]);
      const left = await opened.logoutDeliveries.take(Date.now(), 1000, { exceptClients: [], limit: 9 });
      assert.deepEqual(left.map(({ clientId }) => clientId).sort(), ['slow', 'web']);
    });

    test('the failure of one is reported, and the others continue', async (t) => {
      const { opened, ended } = await open(t, ['broken', 'web', 'failing']);
      const end = await ended('broken', 'web', 'failing');
      const unavailable = new Error('the database is gone');
      const remove: typeof opened.logoutDeliveries.remove = async (delivery) => {
        if (delivery.clientId === 'broken') throw unavailable;
        await opened.logoutDeliveries.remove(delivery);
      };
      const refused = new DocumentError('failed', 'it does not answer');
      const { deliverer, reports, faults } = await delivererOver(
        { ...opened, logoutDeliveries: { ...opened.logoutDeliveries, remove } },
        async (uri) => {
          if (uri.endsWith('failing')) throw refused;
          return { status: 200, contentType: undefined, body: '' };
        },
      );
      await deliverer.tell(end);
      assert.deepEqual(faults, [unavailable]);
      const session = { sessionId: end.id, subject: end.subject, attempts: 1 };
      assert.deepEqual(
        reports.toSorted((a, b) => a.clientId.localeCompare(b.clientId)),
        [
          { type: 'logout_postponed', clientId: 'failing', ...session, cause: refused },
          { type: 'logout_delivered', clientId: 'web', ...session, answeredStatus: 200 },
        ],
      );
    });
  });
}
