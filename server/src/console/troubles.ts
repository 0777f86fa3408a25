// What is wrong with the server now, as far as this process knows (ADR 204).
import { X509Certificate } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyView } from '../admin/keys.ts';
import { typedPath } from '../config/configuration.ts';
import type { Settings } from '../config/options.ts';
import type { Outage, Sample } from '../monitoring/history.ts';
import type { Texts } from '../texts/texts.ts';
import type { NotReady } from './access.ts';
import type { ConsolePageName } from './frame.ts';
import { type TroubledClient, troubledClients } from './refusals.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** What was looked at, in the order of the page. */
export type Topic = keyof Texts['console']['overview']['topics'];

/** Something that an operator should look at. */
export interface Trouble {
  readonly code: keyof Texts['console']['overview']['troubles'];
  /** How often, how many seconds, or how many days. */
  readonly count: number;
  /** The client, for the codes `client` and `inactive_answers`. */
  readonly refused?: TroubledClient;
  /** What is down, for the codes `peer` and `peer_untried`. */
  readonly outage?: Outage;
}

/** The page of the console that shows more. */
export const PLACES_OF_TROUBLES: Partial<Record<Trouble['code'], ConsolePageName>> = {
  ...{ sign_ins: 'audit', locked: 'users', registrations: 'clients', mails: 'mails', mails_delayed: 'mails' },
  ...{ faults: 'overview', refusals: 'overview', limits: 'overview', client: 'clients' },
  inactive_answers: 'tokens',
  ...{ peer: 'issuers', peer_untried: 'issuers' },
  ...{ key_old: 'keys', no_next_key: 'keys', old_secrets: 'secrets' },
};

/** What is known. A member that is absent is not known here, or cannot be wrong. */
export interface Facts {
  readonly nowMs: number;
  readonly notReady?: NotReady;
  readonly skewSeconds: number;
  readonly samples?: readonly Sample[];
  readonly mails?: { readonly failed: number; readonly delayed: number };
  readonly registrations?: { readonly count: number; readonly limit: number };
  readonly certificateEndsAtMs?: number;
  /** When the newest backup was written, or `undefined` without any. */
  readonly keys?: readonly Pick<KeyView, 'algorithm' | 'status' | 'created_at'>[];
  /** Users who are locked after too many attempts. */
  readonly lockedUsers?: number;
  /** Secrets of the server besides the first. */
  readonly oldSecrets?: number;
  readonly backups?: { readonly newestAtMs: number | undefined; readonly intervalSeconds: number };
}

/** What counts as now. */
const RECENT_MS = 5 * MINUTE_MS;

/** A client that retries every minute is refused often enough in this time to be seen. */
const CLIENTS_MS = 15 * MINUTE_MS;

/** After so much time without a request, it is unknown whether an outage goes on. */
const UNTRIED_MS = 60 * MINUTE_MS;

/** An outage that no request has met for so long is forgotten. The configuration may no longer name its server. */
const FORGOTTEN_MS = DAY_MS;

/** Before it, the usual number of an event is known after so much time. */
const USUAL_AFTER_MS = 15 * MINUTE_MS;

/** Fewer events in the recent minutes are never too many. */
const MIN_RISEN = 20;

/** So many times as often as usual is too often. */
const RISEN = 3;

const CERTIFICATE_DAYS = 14;
/** A key that has signed for longer is replaced. */
const KEY_DAYS = 365;
const REGISTRATION_SHARE = 0.9;

/** A backup may be late by as much as the time between two. */
const BACKUP_INTERVALS = 2;

/** Refusals of a limit, which one address or client has reached. */
export const LIMITS: ReadonlySet<string> = new Set([
  ...['too_many_requests', 'too_many_wrong_secrets', 'too_many_unknown_tokens'],
  ...['too_many_failures', 'too_many_registered', 'too_many_client_documents'],
]);

/** Finds out what is wrong. @returns also what was looked at */
export function troublesIn(facts: Facts): {
  readonly troubles: readonly Trouble[];
  readonly topics: readonly Topic[];
  /** For how many seconds the server has counted, if that is too short to know what is usual. */
  readonly countedSeconds?: number;
} {
  const { nowMs, notReady, skewSeconds, samples, mails, registrations, certificateEndsAtMs, backups } = facts;
  const { keys = [], oldSecrets = 0 } = facts;
  const signing = keys.filter(({ status }) => status === 'current');
  const keyDays = Math.floor(
    (nowMs - Math.min(nowMs, ...signing.map((key) => Date.parse(key.created_at)))) / DAY_MS,
  );
  const withoutNext = signing.filter(
    ({ algorithm }) => !keys.some((key) => key.algorithm === algorithm && key.status === 'next'),
  );
  const recent = samples?.filter(({ atMs }) => atMs > nowMs - RECENT_MS) ?? [];
  const before = samples?.filter(({ atMs }) => atMs <= nowMs - RECENT_MS) ?? [];
  const count = (of: (sample: Sample) => number) => sum(recent, of);
  const refused = troubledClients(samples?.filter(({ atMs }) => atMs > nowMs - CLIENTS_MS) ?? []);
  const named = new Map(
    refused
      .filter(({ answer }) => answer === 'refused')
      .map(({ clientId, reasons }) => [clientId, new Set(reasons.map(({ reason }) => reason))]),
  );
  const byClients = (isCounted: (reason: string) => boolean) => (sample: Sample) =>
    Object.entries(sample.clients).reduce(
      (total, [clientId, { refusals }]) =>
        total + sumOf(refusals, (reason) => isCounted(reason) && named.get(clientId)?.has(reason) === true),
      0,
    );
  const ofAll = byClients(() => true);
  const ofLimits = byClients((reason) => LIMITS.has(reason));
  // A refusal that a client’s own trouble has is in no other.
  const otherRefusals = (sample: Sample) => refusalsOf(sample) - ofAll(sample);
  const days =
    certificateEndsAtMs === undefined ? undefined : Math.floor((certificateEndsAtMs - nowMs) / DAY_MS);
  const isBackupLate =
    backups !== undefined &&
    (backups.newestAtMs ?? 0) < nowMs - BACKUP_INTERVALS * backups.intervalSeconds * 1000;
  const found: readonly (readonly [Trouble['code'], count: number, isWrong: boolean])[] = [
    ...(notReady === undefined ? [] : [[notReady, 1, true] as const]),
    ['clock_wrong', Math.abs(skewSeconds), skewSeconds !== 0],
    ['storage_faults', count(({ storageFaults }) => storageFaults), true],
    ['faults', count(faultsOf), true],
    ['refusals', count(otherRefusals), hasRisen(recent, before, otherRefusals)],
    [
      'sign_ins',
      count(({ failedSignIns }) => failedSignIns),
      hasRisen(recent, before, (sample) => sample.failedSignIns),
    ],
    ['locked', facts.lockedUsers ?? 0, true],
    ['limits', count((sample) => limitsOf(sample) - ofLimits(sample)), true],
    ['mails', mails?.failed ?? 0, true],
    ['mails_delayed', mails?.delayed ?? 0, true],
    [
      'registrations',
      registrations?.count ?? 0,
      registrations !== undefined && registrations.count >= REGISTRATION_SHARE * registrations.limit,
    ],
    ['certificate_ended', 1, days !== undefined && days < 0],
    ['certificate', Math.max(0, days ?? 0), days !== undefined && days >= 0 && days < CERTIFICATE_DAYS],
    ['no_backup', 1, isBackupLate && backups?.newestAtMs === undefined],
    [
      'backup',
      Math.floor((nowMs - (backups?.newestAtMs ?? nowMs)) / DAY_MS),
      isBackupLate && backups?.newestAtMs !== undefined,
    ],
    ['key_old', keyDays, keyDays > KEY_DAYS],
    ['no_next_key', withoutNext.length, true],
    ['old_secrets', oldSecrets, true],
  ];
  const topics: readonly (readonly [Topic, isKnown: boolean])[] = [
    ['database', true],
    ['clock', true],
    ['requests', samples !== undefined],
    ['peers', samples !== undefined],
    ['locked', facts.lockedUsers !== undefined],
    ['mails', mails !== undefined],
    ['registrations', registrations !== undefined],
    ['certificate', days !== undefined],
    ['backups', backups !== undefined],
    ['keys', facts.keys !== undefined],
  ];
  const general = found.flatMap(([code, times, isWrong]) =>
    isWrong && (times > 0 || code === 'certificate' || code === 'backup') ? [{ code, count: times }] : [],
  );
  const ofClients = refused.map((client): Trouble => {
    const times = client.reasons.reduce((total, { count: one }) => total + one, 0);
    return {
      code: client.answer === 'refused' ? 'client' : 'inactive_answers',
      count: times,
      refused: client,
    };
  });
  const outages = (samples?.at(-1)?.outages ?? []).flatMap((outage): readonly Trouble[] => {
    const untriedMs = nowMs - outage.lastMs;
    if (untriedMs > FORGOTTEN_MS) return [];
    return [{ code: untriedMs > UNTRIED_MS ? 'peer_untried' : 'peer', count: 1, outage }];
  });
  return {
    troubles: [...general, ...outages, ...ofClients.toSorted((some, others) => others.count - some.count)],
    ...(samples !== undefined &&
      secondsIn(before) * 1000 < USUAL_AFTER_MS && { countedSeconds: Math.round(secondsIn(samples)) }),
    topics: topics.flatMap(([topic, isKnown]) => (isKnown ? [topic] : [])),
  };
}

function sum(samples: readonly Sample[], of: (sample: Sample) => number): number {
  return samples.reduce((total, sample) => total + of(sample), 0);
}

function faultsOf({ refusals }: Sample): number {
  return refusals.fault ?? 0;
}

function refusalsOf({ refusals }: Sample): number {
  return sumOf(refusals, (name) => name !== 'fault');
}

function limitsOf({ refusals }: Sample): number {
  return sumOf(refusals, (name) => LIMITS.has(name));
}

function sumOf(counts: Readonly<Record<string, number>>, isCounted: (name: string) => boolean): number {
  return Object.entries(counts).reduce((total, [name, count]) => total + (isCounted(name) ? count : 0), 0);
}

function secondsIn(samples: readonly Sample[]): number {
  return sum(samples, ({ seconds }) => seconds);
}

function hasRisen(
  recent: readonly Sample[],
  before: readonly Sample[],
  of: (sample: Sample) => number,
): boolean {
  if (secondsIn(before) * 1000 < USUAL_AFTER_MS || sum(recent, of) < MIN_RISEN) return false;
  return sum(recent, of) / secondsIn(recent) > (RISEN * sum(before, of)) / secondsIn(before);
}

/** When the certificate of the server ends. @returns `undefined` if another program speaks TLS for it */
export async function certificateEnd(
  { tlsCertificate }: Pick<Settings, 'tlsCertificate'>,
  environment: NodeJS.ProcessEnv,
): Promise<number | undefined> {
  if (tlsCertificate === undefined) return undefined;
  try {
    const file = await readFile(typedPath(environment, tlsCertificate));
    return Date.parse(new X509Certificate(file).validTo);
  } catch {
    // A file that is being replaced. The server goes on with the one that it has read.
    return undefined;
  }
}

/** When the newest file in the folder of backups was written. */
export async function newestBackup(
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<number | undefined> {
  const path = typedPath(environment, folder);
  const names = await readdir(path).catch(() => []);
  const times = await Promise.all(
    names.map((name) =>
      stat(join(path, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  const newest = Math.max(0, ...times);
  return newest === 0 ? undefined : newest;
}
