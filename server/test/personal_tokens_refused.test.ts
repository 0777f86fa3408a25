// A personal access token that the store would refuse leaves no name, no email and no event.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { PERSONAL_TOKENS_CLIENT, prepareClient } from '../src/instance/personal_tokens_client.ts';
import { MailQueue } from '../src/people/mailing.ts';
import { OwnTokens } from '../src/people/personal_tokens.ts';
import { startConsole } from './harness/console_server.ts';
import { DATABASES } from './harness/databases.ts';
import { newDatabase } from './harness/program_data.ts';

const API = 'https://notes.example';
const POLICY = {
  ...{ apis: [API], scopes: undefined, groups: undefined, lifetime: 3600, limit: 20 },
  binding: 'none',
} as const;
const WANTED = { name: 'job', resource: API, scopes: ['read'], lifetime: 60, binding: '', language: 'en' };

for (const database of DATABASES)
  describe(`a refused token on ${database.name}`, { skip: database.absence }, () => {
    test('is refused before anything about it is written', async (t) => {
      const set = await startConsole({ GRANTD_CREATE: 'true' }, await newDatabase(t, database));
      t.after(() => set.close());
      const { issuer, storage, personalTokens, clock, mails } = set.instance;
      const commands = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
      await call(commands, 'addClient', { client_id: 'notes', resource: API, api_scopes: ['read'] });
      await prepareClient(storage, POLICY);
      const secret = set.instance.secret();
      const queue = new MailQueue({ mails, secret });
      const ends: Readonly<Record<string, (subject: string) => unknown>> = {
        'the client is disabled and enabled': async () => {
          await storage.setDisabled('client', PERSONAL_TOKENS_CLIENT, true);
          await storage.setDisabled('client', PERSONAL_TOKENS_CLIENT, false);
        },
        'the user is disabled': (subject) => storage.setDisabled('subject', subject, true),
        'nothing happens': () => undefined,
      };
      for (const [what, end] of Object.entries(ends)) {
        const claims = { email: 'bob@example.com', email_verified: true };
        const person = await set.addUser(what, [], claims);
        const { subject } = person;
        // After the client was read, and without the compensation.
        const hooked = {
          ...personalTokens,
          async ofSubject(of: string, nowMs: number) {
            await end(of);
            return personalTokens.ofSubject(of, nowMs);
          },
          forget: async () => {},
        };
        const own = new OwnTokens({
          ...{ issuer, policy: POLICY, storage, personalTokens: hooked, secret, clock },
          queue,
        });
        const made = await own.make(person, WANTED);
        const { items } = await call(commands, 'listAudit', { type: 'personal_token_made', limit: 200 });
        const left = {
          refused: 'refused' in made && made.refused,
          names: (await personalTokens.ofSubject(subject, clock())).length,
          emails: (await mails.list(false, 100)).filter((mail) => mail.subject === subject).length,
          events: items.filter((event) => event.subject === subject).length,
        };
        const expected =
          what === 'nothing happens'
            ? { refused: false, names: 1, emails: 1, events: 1 }
            : { refused: 'not_allowed', names: 0, emails: 0, events: 0 };
        assert.deepEqual(left, expected, what);
      }
    });
  });
