// What the overview of the console calls wrong.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { html } from 'hono/html';
import { helpPage } from '../src/console/help.ts';
import { type Facts, newestBackup, troublesIn } from '../src/console/troubles.ts';
import type { Sample } from '../src/monitoring/history.ts';
import { OWN_CATALOGUES, textsIn } from '../src/texts/texts.ts';

const escaped = (text: string) => String(html`${text}`);

const NOW_MS = Date.UTC(2026, 2, 12, 3, 0);
const CONSOLE = {
  ...{ base: '/console', formToken: 'x', person: { name: 'alice' }, signOut: '/logout' },
  health: 'ready',
  nowMs: NOW_MS,
  current: 'help',
} as const;

const DAY_MS = 24 * 60 * 60 * 1000;
const FINE: Facts = { nowMs: NOW_MS, skewSeconds: 0 };

/** An hour of samples, the last ones with other values. @param recent in each of the last 30, which are five minutes */
function samples(usual: Partial<Sample>, recent: Partial<Sample>): readonly Sample[] {
  return Array.from({ length: 360 }, (_, at) => ({
    ...{
      atMs: NOW_MS - (359 - at) * 10_000,
      seconds: 10,
      requests: {},
      refusals: {},
      clients: {},
      latencies: [],
      storage: [],
    },
    ...{ storageFaults: 0, issued: 0, revocations: 0, sweptRows: 0, failedSignIns: 0 },
    ...(at >= 330 ? recent : usual),
  }));
}

const codes = (facts: Partial<Facts>) =>
  troublesIn({ ...FINE, ...facts }).troubles.map(({ code, count }) => `${code} ${count}`);

test('nothing is wrong with a server that answers, and the page says what was looked at', () => {
  assert.deepEqual(troublesIn(FINE), { troubles: [], topics: ['database', 'clock'] });
  const known = {
    samples: samples(
      { failedSignIns: 2, refusals: { client_unknown: 3 } },
      { failedSignIns: 2, refusals: { client_unknown: 3 } },
    ),
    ...{
      mails: { failed: 0, delayed: 0 },
      registrations: { count: 8, limit: 10 },
      certificateEndsAtMs: NOW_MS + 90 * DAY_MS,
    },
    backups: { newestAtMs: NOW_MS - DAY_MS, intervalSeconds: DAY_MS / 1000 },
  };
  assert.deepEqual(codes(known), []);
  assert.deepEqual(troublesIn({ ...FINE, ...known }).topics.slice(2), [
    ...['requests', 'peers', 'mails', 'registrations', 'certificate', 'backups'],
  ]);
});

test('what is wrong is said with its number', () => {
  assert.deepEqual(codes({ notReady: 'storage_full' }), ['storage_full 1']);
  assert.deepEqual(codes({ skewSeconds: -312 }), ['clock_wrong 312']);
  assert.deepEqual(codes({ mails: { failed: 3, delayed: 2 } }), ['mails 3', 'mails_delayed 2']);
  assert.deepEqual(codes({ registrations: { count: 9, limit: 10 } }), ['registrations 9']);
  assert.deepEqual(codes({ certificateEndsAtMs: NOW_MS - 1 }), ['certificate_ended 1']);
  assert.deepEqual(codes({ certificateEndsAtMs: NOW_MS + 1 }), ['certificate 0']);
  assert.deepEqual(codes({ certificateEndsAtMs: NOW_MS + 13.5 * DAY_MS }), ['certificate 13']);
  const daily = { intervalSeconds: DAY_MS / 1000 };
  assert.deepEqual(codes({ backups: { ...daily, newestAtMs: undefined } }), ['no_backup 1']);
  assert.deepEqual(codes({ backups: { ...daily, newestAtMs: NOW_MS - 3.5 * DAY_MS } }), ['backup 3']);
});

test('faults count at once, refusals and failed sign-ins only if there are more than usual', () => {
  assert.deepEqual(codes({ samples: samples({ storageFaults: 9, refusals: { fault: 9 } }, {}) }), []);
  const faults = samples({}, { storageFaults: 1, refusals: { fault: 2 } });
  assert.deepEqual(codes({ samples: faults }), ['storage_faults 30', 'faults 60']);
  const risen = samples(
    { failedSignIns: 1, refusals: { client_unknown: 1 } },
    { failedSignIns: 4, refusals: { client_unknown: 4 } },
  );
  assert.deepEqual(codes({ samples: risen }), ['refusals 120', 'sign_ins 120']);
  // Without earlier minutes, nothing is usual.
  assert.deepEqual(codes({ samples: risen.slice(-60) }), []);
  assert.deepEqual(codes({ samples: samples({}, { refusals: { too_many_requests: 1 } }) }), [
    'refusals 30',
    'limits 30',
  ]);
});

/** @param recent refusals of one client in each of the last 30 samples */
function refused(clientId: string, reason: string, recent: number, requests = recent) {
  const clients = { [clientId]: { requests, refusals: { [reason]: recent } } };
  return samples({ clients, refusals: { [reason]: recent } }, { clients, refusals: { [reason]: recent } });
}

const ofClients = (given: readonly Sample[], nowMs = NOW_MS) =>
  troublesIn({ ...FINE, nowMs, samples: given }).troubles.map(({ code, count, refused: client }) =>
    [code, count, client?.clientId, ...(client?.reasons ?? []).map(({ reason }) => reason)].join(' '),
  );

test('what does not answer is named until it answers, and after an hour without a request this is said', () => {
  const outage = { kind: 'issuer', name: 'ci', sinceMs: NOW_MS - 90_000, lastMs: NOW_MS - 60_000 } as const;
  const given = { samples: samples({}, { outages: [outage] }) };
  const found = (nowMs: number) =>
    troublesIn({ ...FINE, ...given, nowMs }).troubles.map(({ code, outage: one }) => [code, one?.name]);
  assert.deepEqual(found(NOW_MS), [['peer', 'ci']]);
  assert.deepEqual(found(NOW_MS + 60 * 60_000), [['peer_untried', 'ci']]);
  assert.deepEqual(found(NOW_MS + DAY_MS), [], 'the configuration may no longer name it');
});

test('a client that is refused is named at once, whether or not this is usual', () => {
  assert.deepEqual(ofClients(refused('nightly', 'client_secret_wrong', 1)), [
    'client 90 nightly client_secret_wrong',
  ]);
  // In the first minute after the start.
  assert.deepEqual(ofClients(refused('nightly', 'client_secret_wrong', 200).slice(-1)), [
    'client 200 nightly client_secret_wrong',
  ]);
  assert.deepEqual(ofClients(refused('nightly', 'client_secret_wrong', 9).slice(-1)), [], 'too few');
  const past = refused('nightly', 'client_secret_wrong', 200);
  assert.deepEqual(ofClients(past, NOW_MS + 16 * 60_000), [], 'long ago');
});

test('what a correct client meets too is no trouble, unless it is most of what the client sends', () => {
  assert.deepEqual(ofClients(refused('tv', 'device_pending', 50)), []);
  assert.deepEqual(ofClients(refused('web', 'password_wrong', 50)), []);
  assert.deepEqual(ofClients(refused('api', 'expired', 5, 11)), []);
  assert.deepEqual(ofClients(refused('api', 'expired', 5, 10)), ['client 450 api expired']);
  assert.deepEqual(ofClients(refused('', 'client_unknown', 1)), [], 'strangers send some all the time');
  assert.deepEqual(ofClients(refused('', 'client_unknown', 2)), ['client 180  client_unknown']);
});

test('damaged and foreign tokens in numbers are a trouble of the API that introspects them, dead ones are not', () => {
  const answered = (reason: string, inactive: number, requests: number) =>
    ofClients(
      samples({}, { clients: { api: { requests, refusals: {}, inactive: { [reason]: inactive } } } }),
    );
  assert.deepEqual(answered('bad_signature', 1, 1), ['inactive_answers 30 api bad_signature']);
  assert.deepEqual(answered('no_record', 1, 10), ['inactive_answers 30 api no_record']);
  assert.deepEqual(answered('no_record', 1, 11), [], 'strangers send such tokens to every API');
  assert.deepEqual(answered('policy', 5, 10), ['inactive_answers 150 api policy']);
  assert.deepEqual(answered('policy', 5, 11), []);
  for (const usual of ['expired', 'revoked', 'session_revoked', 'client_gone'])
    assert.deepEqual(answered(usual, 50, 50), [], usual);
  const few = { api: { requests: 9, refusals: {}, inactive: { bad_signature: 9 } } };
  assert.deepEqual(ofClients(samples({}, { clients: few }).slice(-1)), [], 'too few');
});

test('a refusal that is named for a client is in no other trouble', () => {
  const clients = { app: { requests: 9, refusals: { too_many_unknown_tokens: 9, scope_not_allowed: 1 } } };
  const recent = samples({}, { clients, refusals: { too_many_unknown_tokens: 9, scope_not_allowed: 1 } });
  assert.deepEqual(ofClients(recent), ['client 300 app too_many_unknown_tokens scope_not_allowed']);
  const more = samples({}, { clients, refusals: { too_many_unknown_tokens: 10, scope_not_allowed: 1 } });
  assert.deepEqual(ofClients(more).slice(0, 2), ['refusals 30 ', 'limits 30 ']);
});

test('before it knows what is usual, the server says for how long it has counted', () => {
  const counted = (given: readonly Sample[]) => troublesIn({ ...FINE, samples: given }).countedSeconds;
  assert.equal(counted(samples({}, {})), undefined);
  assert.equal(counted(samples({}, {}).slice(-24)), 240);
  assert.equal(counted(samples({}, {}).slice(-119)), 1190, 'five minutes and less than fifteen before');
  assert.equal(counted(samples({}, {}).slice(-120)), undefined);
  assert.equal(counted([]), 0);
  assert.equal(troublesIn(FINE).countedSeconds, undefined, 'the server does not count');
});

test('the newest backup is that of the newest file, and a folder without files has none', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-backups-'));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.equal(await newestBackup(folder, {}), undefined);
  assert.equal(await newestBackup(join(folder, 'absent'), {}), undefined);
  for (const [name, seconds] of [
    ['a', 1000],
    ['b', 3000],
    ['c', 2000],
  ] as const) {
    writeFileSync(join(folder, name), '');
    utimesSync(join(folder, name), seconds, seconds);
  }
  assert.equal(await newestBackup(folder, {}), 3_000_000);
});

test('an old key, an algorithm without a next key, and earlier secrets are wrong', () => {
  const key = (
    status: 'current' | 'next' | 'retired',
    days: number,
    algorithm: 'RS256' | 'ES256' = 'RS256',
  ) => ({
    ...{ algorithm, status, created_at: new Date(NOW_MS - days * DAY_MS).toISOString() },
  });
  const pair = [key('current', 365), key('next', 900), key('retired', 900)];
  assert.deepEqual(codes({ keys: pair, oldSecrets: 0 }), []);
  assert.deepEqual(troublesIn({ ...FINE, keys: pair }).topics.at(-1), 'keys');
  assert.deepEqual(codes({ keys: [key('current', 366), key('next', 1)] }), ['key_old 366']);
  assert.deepEqual(codes({ keys: [...pair, key('current', 1, 'ES256')] }), ['no_next_key 1']);
  assert.deepEqual(codes({ keys: pair, oldSecrets: 2 }), ['old_secrets 2']);
});

test('the help explains each trouble and each reason code in each language, and links to where to look', () => {
  for (const language of OWN_CATALOGUES.keys()) {
    const texts = textsIn(language);
    const explain = (about: string) =>
      String(helpPage({ ...CONSOLE, about }, { language, operator: { name: 'x' } }).body);
    const { help, troubles } = texts.console.overview;
    assert.deepEqual(Object.keys(help.ofTroubles).toSorted(), Object.keys(troubles).toSorted());
    for (const [code, { means, act }] of Object.entries(help.ofTroubles)) {
      const page = explain(code);
      for (const text of [means, act]) assert.ok(page.includes(escaped(text)), `${language} ${code}`);
    }
    const list = explain('');
    for (const [code, meaning] of Object.entries(texts.console.reasons)) {
      const page = explain(code);
      assert.ok(page.includes(escaped(meaning)), `${language} ${code}`);
      assert.match(page, /href="\/console\/(?:tokens|clients|users|audit)"/);
      assert.ok(list.includes(`<li id="${code}">`), code);
    }
    const { inactive, ended } = help.ofReasons;
    assert.ok(explain('expired').includes(escaped(inactive.act)));
    for (const code of ['subject_revoked', 'client_disabled', 'grant_revoked'])
      assert.ok(explain(code).includes(escaped(ended.act)), `${code}: refresh tokens have ended as well`);
    assert.ok(explain('<b>').includes(help.unknown) && !explain('<b>').includes('<b>'));
  }
});
