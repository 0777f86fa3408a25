// Whatever ends the access of an application, both pages and the operation that the admin API and the command line share
// show no access any more. A consent that stays is shown as one.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import type { Input, OperationId } from '../src/admin/table.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { type Page, unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';
import { DATABASES } from './harness/databases.ts';
import { addConsent, newDatabase } from './harness/program_data.ts';

type Running = Awaited<ReturnType<typeof startConsole>>;

/** A user with one grant and a consent to an application. */
interface Access {
  readonly running: Running;
  readonly sub: string;
  readonly clientId: string;
  readonly secret: string;
  readonly access: string;
  readonly refresh: string;
  perform<Id extends OperationId>(id: Id, input: Input<Id>): Promise<unknown>;
}

async function revokeByClient({ running, clientId, secret }: Access, token: string): Promise<void> {
  const response = await fetch(`${running.url}/token/revoke`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` },
    body: new URLSearchParams({ token }),
  });
  assert.equal(response.status, 200);
}

const WAITS_MS = 2_100;

/** Every way in which access ends. @returns what ends it, and whether the consent stays */
const ENDS: Readonly<
  Record<string, { readonly keepsConsent: boolean; readonly end: (access: Access) => Promise<unknown> }>
> = {
  'an administrator revokes the only access token': {
    keepsConsent: true,
    end: ({ perform, access }) => perform('revokeToken', { token: access }),
  },
  'an administrator revokes the refresh token': {
    keepsConsent: true,
    end: ({ perform, refresh }) => perform('revokeToken', { token: refresh }),
  },
  'the client revokes its access token': {
    keepsConsent: true,
    end: (of) => revokeByClient(of, of.access),
  },
  'the client revokes its refresh token': {
    keepsConsent: true,
    end: (of) => revokeByClient(of, of.refresh),
  },
  'its grant is revoked': {
    keepsConsent: true,
    async end({ running, sub, perform }) {
      const [grant] = await running.instance.storage.grantsOf(sub);
      return perform('revokeAll', { grant_id: grant?.id ?? '' });
    },
  },
  'what the client has for the user is revoked': {
    keepsConsent: true,
    end: ({ sub, clientId, perform }) => perform('revokeAll', { sub, client_id: clientId }),
  },
  'all access of the user is ended': {
    keepsConsent: true,
    end: ({ sub, perform }) => perform('endAccess', { sub }),
  },
  'everything that was issued before is revoked': {
    keepsConsent: true,
    end: ({ perform }) => perform('revokeAll', { issued_before: new Date().toISOString() }),
  },
  'the user leaves the only group of the client': {
    keepsConsent: true,
    async end({ sub, clientId, perform }) {
      await perform('removeMember', { group: `of ${clientId}`, sub });
    },
  },
  'the refresh token expires': {
    keepsConsent: true,
    end: () => new Promise((done) => setTimeout(done, WAITS_MS)),
  },
  'all tokens of the client are revoked': {
    keepsConsent: false,
    end: ({ clientId, perform }) => perform('revokeAll', { client_id: clientId }),
  },
  'the client is disabled': {
    keepsConsent: false,
    end: ({ clientId, perform }) => perform('disableClient', { client_id: clientId }),
  },
  'the client is removed': {
    keepsConsent: false,
    end: ({ clientId, perform }) => perform('removeClient', { client_id: clientId }),
  },
  'the consent is withdrawn': {
    keepsConsent: false,
    end: ({ sub, clientId, perform }) => perform('withdrawConsent', { sub, client: clientId }),
  },
};

const mainOf = ({ html }: Page): string => unescaped(html.slice(html.indexOf('<main')));

const NOT_NOW = 'No access now, but the application will not ask again';

for (const database of DATABASES)
  describe(`the end of access on ${database.name}`, { skip: database.absence }, () => {
    let running: Running;
    let short: Running;
    before(async () => {
      // The databases live as long as the servers.
      const places = { after: (close: () => unknown) => closers.push(close) } as never;
      running = await startConsole({ GRANTD_CREATE: 'true' }, await newDatabase(places, database));
      const lifetimes = {
        GRANTD_CREATE: 'true',
        GRANTD_ACCESS_TOKEN_LIFETIME: '1',
        GRANTD_REFRESH_TOKEN_LIFETIME: '2',
      };
      short = await startConsole(lifetimes, await newDatabase(places, database));
      for (const one of [running, short]) await one.addUser('ada', ['admins']);
    });
    const closers: (() => unknown)[] = [];
    after(async () => {
      await Promise.all([running?.close(), short?.close()]);
      for (const close of closers) await close();
    });

    for (const [at, [title, { keepsConsent, end }]] of Object.entries(ENDS).entries())
      test(`${title}: nothing shows access`, async () => {
        const server = title.includes('expires') ? short : running;
        const [clientId, group] = [`shop${at}`, `of shop${at}`];
        const cli = localCalls({ ...server.instance.actingAs('cli'), configuration: server.configuration });
        const perform: Access['perform'] = (id, input) => call(cli, id, input);
        await perform('addGroup', { name: group });
        const { subject: sub } = await server.addUser(`user${at}`, [group]);
        const scope = 'openid offline_access';
        const added = await call(cli, 'addClient', {
          ...{ client_id: clientId, redirect_uris: ['https://app.example/cb'], scope },
          allowed_groups: [group],
        });
        const { access, refresh } = await server.tokensOf(clientId, sub);
        await addConsent(server.instance, sub, clientId);
        const shown = async () => {
          const admin = await server.browserOf('ada');
          const user = await server.browserOf(`user${at}`);
          return {
            grants: (await call(cli, 'listGrants', { sub })).items.length,
            consents: (await call(cli, 'listConsents', { sub })).items.length,
            console: mainOf(await admin.get(`${server.url}/console/users?sub=${sub}`)),
            account: mainOf(await user.get(`${server.url}/account/applications`)),
          };
        };
        const atFirst = await shown();
        assert.deepEqual([atFirst.grants, atFirst.consents], [1, 1]);
        assert.match(atFirst.console, /1 application has access now/);
        assert.match(atFirst.account, /Even while you are away/);
        assert.doesNotMatch(atFirst.account, new RegExp(NOT_NOW));

        const secret = 'client_secret' in added ? String(added.client_secret) : '';
        await end({ running: server, sub, clientId, secret, access, refresh, perform });
        for (const token of [access, refresh]) assert.equal(await server.isActive(token), false);
        const later = await shown();
        assert.deepEqual([later.grants, later.consents], [0, keepsConsent ? 1 : 0]);
        assert.doesNotMatch(later.account, /Even while you are away|While you are signed in/);
        if (keepsConsent) {
          assert.match(later.console, /No application has access now/);
          assert.ok(later.console.includes(NOT_NOW));
          assert.match(later.console, /ask=withdraw_consent[^"]*"[^>]*>Withdraw consent/);
          assert.ok(later.account.includes(NOT_NOW));
          assert.match(later.account, />Withdraw consent</);
        } else {
          assert.ok(!later.console.includes(NOT_NOW));
          assert.doesNotMatch(later.console, /ask=(?:end_grant|end_client|end_application|withdraw_consent)/);
          assert.match(later.account, /No application has access to your account/);
        }
      });
  });
