// Long: one queue on both databases, one SMTP server, and what both send.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, describe, type TestContext, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { newCertificate } from '../../core/test/harness/certificates.ts';
import { freePort } from '../../core/test/harness/free_port.ts';
import type { OpenDatabase } from '../src/data/database.ts';
import type { Passkey } from '../src/data/factors.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { NO_PASSWORD } from '../src/data/ways_to_sign_in.ts';
import { MailDeliverer } from '../src/mail/deliverer.ts';
import { renderMail } from '../src/mail/message.ts';
import { MailFailure, openSmtp, type Smtp, transportOptions } from '../src/mail/smtp.ts';
import { EmailCodes, newCodeRequest } from '../src/people/email_codes.ts';
import { type FactorChange, LinkBook, MailQueue } from '../src/people/mailing.ts';
import { OwnPasswords } from '../src/people/own_passwords.ts';
import { AttemptLimits } from '../src/people/sign_in.ts';
import { languages, textsIn } from '../src/texts/texts.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { Workbench } from './harness/program.ts';
import { ISSUER, openDatabases } from './harness/program_data.ts';

interface Received {
  readonly to: readonly string[];
  readonly content: string;
}

/** A real SMTP server on this machine. */
async function smtpServer(t: TestContext, options: SMTPServerOptions = {}, port = 0) {
  const received: Received[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onData(stream, { envelope }, done) {
      let content = '';
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        content += text;
      });
      stream.on('end', () => {
        received.push({ to: envelope.rcptTo.map(({ address }) => address), content });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => {}); // a client that hangs up
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => new Promise<void>((resolve) => server.close(resolve));
  t.after(close);
  return { received, port: (server.server.address() as AddressInfo).port, close };
}

function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

const FROM = 'Example <login@id.example>';

/** A process that sends emails of a database, with a clock of its own. */
function process(
  { mails, mailedLinks, people, storage, upstreamIdentities: identities }: OpenDatabase,
  smtp: Smtp | undefined,
  clock: () => number,
  codes?: EmailCodes,
  secrets: readonly string[] = ['s'.repeat(32)],
) {
  const reports: string[] = [];
  const faults: unknown[] = [];
  const links = new LinkBook({ links: mailedLinks, issuer: ISSUER, clock });
  const queue = new MailQueue({ mails, secret: new ServerSecret<ProgramSecretUse>(secrets), clock });
  const deliverer = new MailDeliverer({
    ...{ queue, links, people, storage, smtp, clock, codes },
    passwords: new OwnPasswords({ providers: [], identities }),
    operator: { name: 'Example' },
    report: ({ type, code }) => reports.push(code === undefined ? type : `${type} ${code}`),
    onFault: (error) => faults.push(error),
  });
  return { queue, links, deliverer, reports, faults };
}

const TEST_MAIL = { template: 'test', to: 'bob@example.com', language: 'en', parameters: {} } as const;

for (const database of DATABASES) {
  describe(`emails on ${database.name}`, { skip: database.absence }, () => {
    test('one is delivered once, however many processes share the queue', async (t) => {
      const opened = await openDatabases(t, database, 3);
      const { received, port } = await smtpServer(t);
      const smtp = await openSmtp(`smtp://127.0.0.1:${port}`, FROM);
      const processes = opened.map((one) => process(one, smtp, () => 1_000_000));
      const [first] = processes;
      assert.ok(first);
      for (let count = 0; count < 8; count++)
        await first.queue.add({ ...TEST_MAIL, to: `bob${count}@example.com` });
      await Promise.all(processes.map(({ deliverer }) => deliverer.settled()));
      assert.deepEqual(
        received.flatMap(({ to }) => to).sort(),
        Array.from({ length: 8 }, (_, at) => `bob${at}@example.com`),
      );
      assert.deepEqual(await first.queue.mails.list(false, 10), []);
      assert.match(received[0]?.content ?? '', /^From: Example <login@id\.example>\r$/m);
      assert.match(received[0]?.content ?? '', /^Auto-Submitted: auto-generated\r$/m);
      assert.deepEqual(
        processes.flatMap(({ faults }) => faults),
        [],
      );
    });

    test('a notice is queued with its change, once however many try, and never without the change', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const claims = { email: 'bob@example.com', email_verified: true };
      const bob = await one.people.add({ name: 'bob', passwordHash: 'hash', claims });
      assert.ok(bob);
      const { subject } = bob;
      const { queue, deliverer } = process(one, undefined, () => 1000);
      const noticeOf = (change: FactorChange) =>
        queue.notice(bob, {
          template: 'factor_changed',
          language: 'en',
          parameters: { change, name: 'Key' },
        });
      const passkey: Passkey = {
        ...{
          id: 'k1',
          subject,
          publicKey: 'key',
          counter: 0,
          transports: [],
          isBackedUp: false,
          isSecurityKey: false,
          name: 'Key',
        },
        ...{ createdAtMs: 1000, countsFromMs: 0 },
      };
      const identity = { provider: 'p', upstreamIssuer: 'https://p.example', upstreamSub: 's', label: 'bob' };
      const linkOf = async ({ upstreamIdentities }: OpenDatabase) =>
        (await upstreamIdentities.ofSubject(subject))[0]?.id ?? 'none';
      // He has a password.
      const withLink = { hasPasswords: true, hasPasskeys: true, hasDirectory: true, links: ['some link'] };
      const password = await queue.notice(bob, {
        ...{ template: 'password_changed', language: 'de', parameters: {} },
      });

      const changes: readonly [subject: RegExp, text: RegExp, (of: OpenDatabase) => Promise<unknown>][] = [
        [
          /^How you sign in to Example has changed$/,
          /The passkey “Key” was added\./,
          async ({ factors }) => factors.addPasskey(passkey, await noticeOf('passkey_added')),
        ],
        [
          /sign in/,
          /An authenticator app was added\./,
          async ({ factors }) =>
            factors.addTotp(
              subject,
              { sealed: String(Math.random()), createdAtMs: 1, countsFromMs: 0 },
              1,
              await noticeOf('totp_added'),
            ),
        ],
        [
          /sign in/,
          /The passkey “Key” was removed\./,
          async ({ factors }) =>
            factors.removePasskey(subject, 'k1', withLink, await noticeOf('passkey_removed')),
        ],
        [
          /sign in/,
          /The authenticator app was removed\./,
          async ({ factors }) => factors.removeTotp(subject, await noticeOf('totp_removed')),
        ],
        [
          /sign in/,
          /sign-in through Key was added/,
          async ({ upstreamIdentities }) =>
            upstreamIdentities.link(identity, subject, 1, await noticeOf('provider_linked')),
        ],
        [
          /sign in/,
          /sign-in through Key was removed/,
          async (of) =>
            of.upstreamIdentities.unlink(
              await linkOf(of),
              subject,
              withLink,
              await noticeOf('provider_unlinked'),
            ),
        ],
        [
          /^Ihr Passwort für Example wurde geändert$/,
          /Passwort/,
          async ({ people }) => people.setPasswordHash(subject, `hash ${Math.random()}`, 'hash', password),
        ],
      ];
      for (const [title, text, change] of changes) {
        await Promise.all([one, other, one, other].map(change));
        const queued = await queue.mails.list(false, 10);
        assert.equal(queued.length, 1, String(text));
        await deliverer.settled();
        const [mail] = await queue.mails.mailbox(1);
        const shown = mail && (await queue.open(mail));
        assert.match(String(shown?.subject), title);
        assert.match(String(shown?.text), text);
        assert.equal(shown?.to, 'bob@example.com');
        await queue.mails.remove(mail?.id ?? '');
      }

      // Codes and resets need a factor.
      const codes = async (of: OpenDatabase, ...digests: string[]) =>
        of.factors.setRecoveryCodes(
          subject,
          digests.map((digest) => ({ digest, sealed: '' })),
          1,
          await noticeOf('recovery_codes_made'),
        );
      const reset = async (of: OpenDatabase) => of.factors.reset(subject, await noticeOf('factors_reset'));
      assert.deepEqual([await codes(one, 'a'), await reset(one)], [false, false]);
      assert.deepEqual(await queue.mails.list(false, 10), []);
      await one.factors.addPasskey(passkey);
      assert.deepEqual([await codes(one, 'a'), await reset(one)], [true, true]);
      assert.equal((await queue.mails.list(false, 10)).length, 2);
      assert.equal(
        await queue.notice(
          { ...bob, claims: { email: 'bob@example.com' } },
          { template: 'password_changed', language: 'en', parameters: {} },
        ),
        undefined,
        'the address is not verified',
      );
    });

    test('a temporary refusal is retried later and later, until the server takes it', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      let isBusy = true;
      const { received, port } = await smtpServer(t, {
        onRcptTo: (_, __, done) => (isBusy ? done(refusal(451, 'try again later')) : done()),
      });
      let nowMs = 1_000_000;
      const smtp = await openSmtp(`smtp://127.0.0.1:${port}`, FROM);
      const { queue, deliverer, reports } = process(opened, smtp, () => nowMs);
      await queue.add(TEST_MAIL);
      await deliverer.settled();
      const [waiting] = await queue.mails.list(false, 10);
      assert.deepEqual(
        [waiting?.attempts, waiting?.failedAtMs, waiting?.dueAtMs],
        [1, undefined, nowMs + 10_000],
      );
      assert.match(waiting?.lastError ?? '', /^127\.0\.0\.1:\d+: the server refused .*451 try again later/);
      nowMs += 9_999;
      await deliverer.settled();
      nowMs += 1;
      await deliverer.settled();
      assert.equal((await queue.mails.list(false, 10))[0]?.dueAtMs, nowMs + 60_000);
      isBusy = false;
      nowMs += 60_000;
      await deliverer.settled();
      assert.deepEqual(reports, [
        'mail_postponed EENVELOPE 451',
        'mail_postponed EENVELOPE 451',
        'mail_sent',
      ]);
      assert.equal(received.length, 1);
    });

    test('an email that another secret of the server has encrypted waits for a process that has it', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      const { received, port } = await smtpServer(t);
      let nowMs = 1_000_000;
      const smtp = await openSmtp(`smtp://127.0.0.1:${port}`, FROM);
      const open = (...secrets: string[]) => process(opened, smtp, () => nowMs, undefined, secrets);
      const [older, newer] = ['o'.repeat(32), 'n'.repeat(32)];
      const without = open(newer);
      await open(older).queue.add(TEST_MAIL);
      await without.deliverer.settled();
      const [waiting] = await without.queue.mails.list(false, 10);
      assert.match(waiting?.lastError ?? '', /a server secret that this process does not have/);
      nowMs += 10_000;
      await open(newer, older).deliverer.settled();
      assert.deepEqual([without.reports, received.length], [['mail_postponed other_secret'], 1]);
    });

    test('an email with a code costs one code, however often it is sent again', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      const { storage, people, mailedLinks: links, attempts, upstreamIdentities: identities } = opened;
      const claims = { email: 'ada@example.com', email_verified: true };
      await people.add({ name: 'ada', passwordHash: 'hash', claims });
      let [isBusy, nowMs] = [true, 1_000_000];
      const clock = () => nowMs;
      const secret = new ServerSecret<ProgramSecretUse>('s'.repeat(32));
      const codes = new EmailCodes({
        ...{ storage, people, links, secret, clock, onlyGroups: undefined, withoutCodes: undefined },
        passwords: new OwnPasswords({ providers: [], identities }),
        limits: new AttemptLimits(attempts, secret, clock),
        takesAddresses: true,
      });
      const { received, port } = await smtpServer(t, {
        onRcptTo: (_, __, done) => (isBusy ? done(refusal(451, 'try again later')) : done()),
      });
      const smtp = await openSmtp(`smtp://127.0.0.1:${port}`, FROM);
      const { queue, deliverer, faults } = process(opened, smtp, clock, codes);
      const place = '192.0.2.1';
      const requests = Array.from({ length: 5 }, () => newCodeRequest('browser', undefined));
      for (const request of requests) {
        const parameters = { ...request, place, userAgent: '' };
        await queue.add({ template: 'code', to: 'ada', language: 'en', parameters });
      }
      for (const pauseMs of [0, 10_000, 60_000]) {
        nowMs += pauseMs;
        await deliverer.settled();
      }
      isBusy = false;
      nowMs += 300_000;
      await deliverer.settled();
      assert.deepEqual([received.length, faults], [5, []]);
      assert.equal(await codes.make('ada', newCodeRequest('browser', undefined), place), undefined);
    });

    test('a final refusal is given up at once, listed, and sent when an operator retries it', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      let isKnown = false;
      const { received, port } = await smtpServer(t, {
        onRcptTo: (_, __, done) => (isKnown ? done() : done(refusal(550, 'no such mailbox'))),
      });
      const smtp = await openSmtp(`smtp://127.0.0.1:${port}`, FROM);
      const { queue, deliverer, reports } = process(opened, smtp, () => 1_000_000);
      const id = await queue.add(TEST_MAIL);
      await deliverer.settled();
      const [failed] = await queue.mails.list(true, 10);
      assert.deepEqual([failed?.id, failed?.failedAtMs, failed?.attempts], [id, 1_000_000, 1]);
      assert.match(failed?.lastError ?? '', /550 no such mailbox/);
      isKnown = true;
      await deliverer.settled();
      assert.equal(received.length, 0, 'nobody has asked for it');
      assert.equal(await queue.mails.retry('unknown', 1_000_000), false);
      assert.equal(await queue.mails.retry(id, 1_000_000), true);
      await deliverer.settled();
      assert.equal(received.length, 1);
      assert.deepEqual(reports, ['mail_given_up EENVELOPE 550', 'mail_sent']);
    });

    test('an email that waits for its next attempt can be tried now, unless it may be in one', async (t) => {
      const [opened] = await openDatabases(t, database, 1);
      assert.ok(opened);
      const { people } = opened;
      const claims = { email: 'kim@example.com', email_verified: true };
      const kim = await people.add({ name: 'kim', passwordHash: 'hash', claims });
      assert.ok(kim);
      const port = await freePort();
      let nowMs = 1_000_000;
      const { queue, deliverer, reports } = process(
        opened,
        await openSmtp(`smtp://127.0.0.1:${port}`, FROM),
        () => nowMs,
      );
      const id = await queue.add({
        ...TEST_MAIL,
        to: 'kim@example.com',
        template: 'reset',
        parameters: { browser: 'b' },
      });
      await deliverer.settled();
      for (const seconds of [10, 60]) {
        assert.equal(await queue.mails.retry(id, nowMs), false, 'due within two minutes');
        nowMs += seconds * 1000;
        await deliverer.settled();
      }
      const [waiting] = await queue.mails.list(false, 10);
      assert.deepEqual([waiting?.attempts, waiting?.dueAtMs], [3, nowMs + 300_000]);
      await smtpServer(t, {}, port);
      assert.equal(await queue.mails.retry(id, nowMs), true);
      assert.equal((await queue.mails.list(false, 10))[0]?.attempts, 3, 'its attempts still count');
      await deliverer.settled();
      assert.deepEqual(reports.at(-1), 'mail_sent');
      assert.equal(await queue.mails.retry(id, nowMs), false, 'it was sent');
      // Each further attempt has made another link, but no trail says that another one was sent.
      const events = await opened.storage.eventsAfter(0, 100);
      const types = events.map(({ type, target }) => (target === id ? `${type} of the email` : type));
      assert.deepEqual(
        types.filter((type) => /mail/.test(type)),
        [
          'mailed_link_made',
          ...Array(2).fill('mail_retried of the email'),
          ...Array(2).fill('mail_retried of the email'),
        ],
      );
    });

    test('emails survive an outage of the SMTP server and a restart in between', async (t) => {
      const [before, afterwards] = await openDatabases(t, database, 2);
      assert.ok(before && afterwards);
      const port = await freePort();
      let nowMs = 1_000_000;
      const url = `smtp://127.0.0.1:${port}`;
      const first = process(before, await openSmtp(url, FROM), () => nowMs);
      await first.queue.add(TEST_MAIL);
      await first.deliverer.settled();
      await first.deliverer.end();
      assert.deepEqual(
        first.reports.map((one) => one.split(' ')[0]),
        ['mail_postponed'],
      );
      const { received } = await smtpServer(t, {}, port);
      nowMs += 10_000;
      const second = process(afterwards, await openSmtp(url, FROM), () => nowMs);
      await second.deliverer.settled();
      assert.equal(received.length, 1);
    });

    test('a process that dies with an email leaves it to the others after its lease', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      const { received, port } = await smtpServer(t);
      let nowMs = 1_000_000;
      const { queue, deliverer } = process(
        opened,
        await openSmtp(`smtp://127.0.0.1:${port}`, FROM),
        () => nowMs,
      );
      await queue.add(TEST_MAIL);
      assert.equal((await queue.mails.take(nowMs, 120_000, 1)).length, 1);
      await deliverer.settled();
      assert.equal(received.length, 0);
      nowMs += 120_000;
      await deliverer.settled();
      assert.equal(received.length, 1);
    });

    test('after eight retries over hours, an email is given up', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      const { port } = await smtpServer(t, { onRcptTo: (_, __, done) => done(refusal(451, 'later')) });
      let nowMs = 1_000_000;
      const { queue, deliverer, reports } = process(
        opened,
        await openSmtp(`smtp://127.0.0.1:${port}`, FROM),
        () => nowMs,
      );
      await queue.add(TEST_MAIL);
      for (let attempt = 0; attempt < 12; attempt++) {
        await deliverer.settled();
        nowMs = (await queue.mails.list(false, 1))[0]?.dueAtMs ?? nowMs;
      }
      assert.deepEqual(reports, [
        ...Array(8).fill('mail_postponed EENVELOPE 451'),
        'mail_given_up EENVELOPE 451',
      ]);
    });

    test('what is stored contains no link, and no address but the recipient’s', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      const { queue, links } = process(opened, undefined, () => 1_000_000);
      const parameters = { newAddress: 'secret@example.net' };
      await queue.add({ ...TEST_MAIL, template: 'email_changed', subject: 'bob', parameters });
      const [stored] = await queue.mails.list(false, 10);
      assert.doesNotMatch(JSON.stringify(stored), /secret@|http/);
      const url = await links.make({ purpose: 'sign_up', address: 'bob@example.com' });
      const token = new URL(url).searchParams.get('token') ?? '';
      assert.equal(token.length, 43);
      assert.equal(await opened.mailedLinks.find(token, 1_000_000), undefined, 'only a digest is stored');
      assert.equal((await links.find(token))?.address, 'bob@example.com');
    });

    test('a removed user gets no more emails, and their links end', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      const { queue, links, deliverer } = process(opened, undefined, () => 1_000_000);
      const person = await opened.people.add({ name: 'bob', passwordHash: NO_PASSWORD, claims: {} });
      assert.ok(person);
      const { subject } = person;
      await queue.add({ ...TEST_MAIL, template: 'invite', subject });
      const url = await links.make({ purpose: 'invite', address: 'bob@example.com', person });
      await opened.people.beginRemoval(subject, 1_000_000);
      await opened.people.erase(subject);
      await deliverer.settled();
      assert.deepEqual(await queue.mails.mailbox(10), []);
      assert.equal(await links.find(new URL(url).searchParams.get('token') ?? ''), undefined);
    });

    test('a link for a password that an operator sends ends the earlier ones, and comes only to its user as they were', async (t) => {
      const [opened, other] = await openDatabases(t, database, 2);
      assert.ok(opened && other);
      const { received, port } = await smtpServer(t);
      const smtp = await openSmtp(`smtp://127.0.0.1:${port}`, FROM);
      const { queue, links, deliverer, faults } = process(opened, smtp, () => 1_000_000);
      const claims = { email: 'bob@example.com', email_verified: true };
      const person = await opened.people.add({ name: 'bob', passwordHash: 'hash', claims });
      assert.ok(person);
      const { subject } = person;
      const find = (url: string) => links.find(new URL(url).searchParams.get('token') ?? '');
      const linkIn = ({ content = '' }: Partial<Received> = {}) =>
        /https:\/\/id\.example\/link\?token=[\w-]{43}/.exec(
          content.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '='),
        )?.[0] ?? assert.fail(content);

      const [reset, verify] = [
        await links.make({ purpose: 'reset', address: 'bob@example.com', person }),
        await links.make({ purpose: 'verify', address: 'new@example.com', person }),
      ];
      assert.ok(await queue.addPasswordLink(person, 'bob@example.com', 'en'));
      assert.deepEqual([await find(reset), (await find(verify))?.purpose], [undefined, 'verify']);
      const [stored] = await queue.mails.list(false, 10);
      assert.doesNotMatch(JSON.stringify(stored), /http|token=/);
      await deliverer.settled();
      assert.match(received[0]?.content ?? '', /An administrator of Example asks you/);
      const first = linkIn(received[0]);
      const found = await find(first);
      assert.deepEqual([found?.purpose, found?.expiresAtMs], ['password', 1_000_000 + 24 * 3_600_000]);

      // The second one ends the first when it is asked for, and a third one replaces it also after it was sent.
      await queue.addPasswordLink(person, 'bob@example.com', 'de');
      assert.equal(await find(first), undefined);
      await queue.addPasswordLink(person, 'bob@example.com', 'en');
      assert.equal((await queue.mails.list(false, 10)).length, 1, 'of two that wait, the later one');
      await deliverer.settled();
      const second = linkIn(received[1]);
      const again = await links.make({ purpose: 'password', address: 'bob@example.com', person });
      assert.deepEqual([await find(second), (await find(again))?.purpose], [undefined, 'password']);

      // A request for a user as they were before is no request.
      const changed = { ...person, claims: { ...claims, email: 'eve@example.com' } };
      await queue.addPasswordLink(person, 'bob@example.com', 'en');
      assert.equal(await other.people.update(changed), 'updated');
      assert.equal(await queue.addPasswordLink(person, 'bob@example.com', 'en'), undefined);
      await deliverer.settled();
      assert.equal(received.length, 2, 'the address has changed');
      const now = (await opened.people.bySubject(subject)) ?? assert.fail();
      await queue.addPasswordLink(now, 'eve@example.com', 'en');
      await other.people.setPasswordHash(subject, 'another');
      assert.equal(await queue.addPasswordLink(now, 'eve@example.com', 'en'), undefined);
      await deliverer.settled();
      assert.equal(received.length, 2, 'the password has changed');
      const last = (await opened.people.bySubject(subject)) ?? assert.fail();
      await queue.addPasswordLink(last, 'eve@example.com', 'en');
      await other.storage.setDisabled('subject', subject, true);
      await deliverer.settled();
      assert.deepEqual([received.length, faults], [2, []], 'the user is disabled');
      assert.deepEqual(await queue.mails.list(false, 10), []);
    });

    test('links expire: a reset after 30 minutes, an invitation after 7 days', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      let nowMs = 1_000_000;
      const { links } = process(opened, undefined, () => nowMs);
      for (const [purpose, lifetimeMs] of [
        ['reset', 30 * 60_000],
        ['invite', 7 * 24 * 3_600_000],
      ] as const) {
        const url = await links.make({ purpose, address: 'bob@example.com' });
        const token = new URL(url).searchParams.get('token') ?? '';
        nowMs += lifetimeMs - 1;
        assert.equal((await links.find(token))?.purpose, purpose);
        nowMs += 1;
        assert.equal(await links.find(token), undefined);
        assert.equal(await links.use(token), undefined);
      }
    });
  });
}

describe('SMTP', () => {
  const rendered = { subject: 'Hello', text: 'Hello\n', html: '<p>Hello</p>' };
  const failureOf = async (sent: Promise<string>): Promise<MailFailure> => {
    const error = await sent.then(
      () => assert.fail('it was sent'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof MailFailure, String(error));
    return error;
  };

  test('needs TLS with a valid certificate beyond this machine', () => {
    const shown = (url: string) => {
      const { host, port, secure, requireTLS, tls } = transportOptions(url);
      return [host, port, secure, requireTLS, tls.rejectUnauthorized];
    };
    assert.deepEqual(shown('smtp://mail.example.com'), ['mail.example.com', 587, false, true, true]);
    assert.deepEqual(shown('smtps://mail.example.com'), ['mail.example.com', 465, true, false, true]);
    assert.deepEqual(shown('smtp://localhost:25'), ['localhost', 25, false, false, false]);
    assert.deepEqual(shown('smtp://[::1]:25'), ['::1', 25, false, false, false]);
    assert.deepEqual(shown('smtp://127.evil.example'), ['127.evil.example', 587, false, true, true]);
    assert.deepEqual(transportOptions('smtp://me%40x:a%2Fb@mail.example.com').auth, {
      user: 'me@x',
      pass: 'a/b',
    });
  });

  test('without the required STARTTLS, nothing is sent', async (t) => {
    const { received, port } = await smtpServer(t);
    const url = `smtp://127.0.0.1:${port}`;
    const smtp = await openSmtp(url, FROM, { ...transportOptions(url), requireTLS: true });
    const { message, isPermanent } = await failureOf(smtp.send('bob@example.com', rendered, 'id'));
    assert.match(message, /no TLS connection could be made/);
    assert.equal(isPermanent, false);
    assert.deepEqual(received, []);
  });

  test('speaks TLS to a server with a certificate that it trusts, and to no other', async (t) => {
    const certificate = await newCertificate({
      subject: [{ CN: ['localhost'] }],
      names: [{ type: 'dns', value: 'localhost' }],
    });
    const { cert, key } = certificate.pem;
    const { received, port } = await smtpServer(t, { secure: true, cert, key });
    const url = `smtps://localhost:${port}`;
    const refused = await failureOf((await openSmtp(url, FROM)).send('bob@example.com', rendered, 'id'));
    assert.match(refused.message, /self-signed certificate/);
    const options = transportOptions(url);
    const trusting = await openSmtp(url, FROM, {
      ...options,
      tls: { ...options.tls, ca: cert },
    } as typeof options);
    assert.match(await trusting.send('bob@example.com', rendered, 'id'), /^250 /);
    assert.equal(received.length, 1);
  });

  test('a refused password is the operator’s to mend, so emails wait, and no message has it', async (t) => {
    const { port } = await smtpServer(t, {
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: (_, __, done) => done(refusal(535, 'authentication failed')),
    });
    const smtp = await openSmtp(`smtp://me:hunter2@127.0.0.1:${port}`, FROM);
    const { message, isPermanent } = await failureOf(smtp.send('bob@example.com', rendered, 'id'));
    assert.match(message, /refused the username or password: .*535/);
    assert.doesNotMatch(message, /hunter2/);
    assert.equal(isPermanent, false);
  });
});

describe('an email', () => {
  const operator = { name: 'Example & <Sons>', color: '#7a1f5c' };

  test('has text and HTML in every language, and fetches nothing', async () => {
    for (const language of languages()) {
      const { templates } = textsIn(language).mails;
      for (const template of Object.keys(templates) as (keyof typeof templates)[]) {
        const hasLink = templates[template].action !== undefined;
        const links = hasLink ? [{ url: 'https://id.example/link?token=x&y' }] : [];
        const code = template === 'code' && {
          code: '012345',
          request: { userAgent: '<b>', network: '<b>192.0.2.0/24', atMs: 0 },
        };
        const greeted = { template, username: '<b>bob</b>', validSeconds: 1800, value: 'x@example.com' };
        const view = { ...greeted, links, ...code };
        const { subject, text, html } = await renderMail(view, language, operator);
        assert.match(subject, /Example & <Sons>/);
        if (hasLink) assert.match(text, /https:\/\/id\.example\/link\?token=x&y\n/);
        assert.match(html, new RegExp(`<html lang="${language}">`));
        if (hasLink) assert.match(html, /href="https:\/\/id\.example\/link\?token=x&amp;y"/);
        assert.doesNotMatch(html, /<b>|<Sons>|<img|<script|url\(|src=/);
        if (hasLink) assert.match(html, /#7a1f5c/);
        if (code === false) continue;
        assert.match(text, /^ {4}012345$/m);
        assert.match(html, />012345</);
        for (const shown of [text, html]) assert.match(shown, /192\.0\.2\.0\/24/);
        assert.doesNotMatch(subject, /\d/);
      }
    }
  });
});

describe('the commands for emails', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  test('mail test says what the server answered; list and retry show what was given up', async (t) => {
    const { received, port } = await smtpServer(t, {
      onRcptTo: ({ address }, _, done) =>
        address.startsWith('bob') ? done() : done(refusal(550, 'no such mailbox')),
    });
    const folder = workbench.folder();
    const environment = { GRANTD_SMTP_URL: `smtp://127.0.0.1:${port}`, GRANTD_MAIL_FROM: 'login@id.example' };
    const server = await workbench.start(folder, [], environment);
    const sent = await grantdPrints(folder, ['mail', 'test', 'bob@example.com'], '', environment);
    assert.match(
      sent,
      /^connected to 127\.0\.0\.1:\d+ with STARTTLS if offered\nthe server accepted the email to bob@example\.com: 250 /,
    );
    const refused = await grantd(folder, ['mail', 'test', 'carl@example.com'], { environment });
    assert.deepEqual(
      [refused.code, /no email was sent\. .*550 no such mailbox/.test(refused.stderr)],
      [1, true],
    );
    const unset = await grantd(folder, ['mail', 'test', 'bob@example.com']);
    assert.deepEqual([unset.code, /--smtp-url: required/.test(unset.stderr)], [2, true]);

    await grantdPrints(folder, ['user', 'invite', 'carl', '--email', 'carl@example.com'], '', environment);
    await server.logged(({ event }) => event === 'mail_given_up', 'that the email was given up');
    const [failed] = JSON.parse(await grantdPrints(folder, ['mail', 'list', '--failed', '--json']));
    assert.deepEqual(
      [failed.template, failed.recipient, failed.state],
      ['invite', 'carl@example.com', 'failed'],
    );
    assert.doesNotMatch(server.stdout(), /carl@example\.com|token=/, 'the log names no address and no link');
    assert.match(await grantdPrints(folder, ['mail', 'retry', failed.id]), /is due again/);
    assert.equal((await grantd(folder, ['mail', 'retry', 'unknown'])).code, 1);
    assert.equal(received.length, 1);
    // Pages that need emails exist, and the demo's mailbox does not.
    assert.equal((await fetch(`${server.url}/forgot`)).status, 200);
    assert.equal((await fetch(`${server.url}/demo/mailbox`)).status, 404);
    assert.equal((await fetch(`${server.url}/sign-up`)).status, 404);
  });

  test('without mail, there is no page that needs it', async () => {
    const server = await workbench.start(workbench.folder());
    for (const path of ['/forgot', '/link', '/sign-up', '/account/email', '/demo/mailbox'])
      assert.equal((await fetch(server.url + path)).status, 404, path);
    assert.doesNotMatch(await (await fetch(`${server.url}/account`)).text(), /forgot/);
  });

  test('options that do not belong together are refused at the start', async () => {
    const folder = workbench.folder();
    for (const [args, said] of [
      [['--smtp-url', 'smtp://mail.example.com'], /--smtp-url: expected --mail-from with it/],
      [['--mail-from', 'a@example.com'], /--mail-from: expected --smtp-url with it/],
      [['--sign-up', 'open'], /--sign-up: expected --smtp-url with it/],
      [['--sign-up-domains', 'example.com'], /--sign-up-domains: expected --sign-up open with it/],
    ] as const) {
      const { code, stderr } = await grantd(folder, ['serve', '--port', '0', ...args]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, said);
    }
    const warned = await grantd(folder, [
      'config',
      'show',
      '--smtp-url',
      'smtp://me:hunter2@mail.example.com',
    ]);
    assert.doesNotMatch(warned.stdout, /hunter2/);
    const checked = await grantd(folder, [
      ...[
        'config',
        'check',
        '--smtp-url',
        'smtp://me:hunter2@mail.example.com',
        '--mail-from',
        'a@example.com',
      ],
    ]);
    assert.match(
      checked.stderr,
      /every user of this machine can read the password in --smtp-url: set GRANTD_SMTP_URL/,
    );
  });
});
