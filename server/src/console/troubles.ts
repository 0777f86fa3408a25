// What is wrong with the server now, as far as this process knows.
import { X509Certificate } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyView } from '../admin/keys.ts';
import { typedPath } from '../config/configuration.ts';
import type { Settings } from '../config/options.ts';
import type { Sample } from '../monitoring/history.ts';
import type { Texts } from '../texts/texts.ts';
import type { ConsolePageName } from './frame.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** What was looked at, in the order of the page. */
export type Topic = keyof Texts['console']['overview']['topics'];

/** Something that an operator should look at. */
export interface Trouble {
  readonly code: keyof Texts['console']['overview']['troubles'];
  /** How often, how many seconds, or how many days. */
  readonly count: number;
}

/** The page of the console that shows more. */
export const PLACES_OF_TROUBLES: Partial<Record<Trouble['code'], ConsolePageName>> = {
  ...{ sign_ins: 'audit', registrations: 'clients', mails: 'mails' },
  ...{ key_old: 'keys', no_next_key: 'keys', old_secrets: 'secrets' },
};

/** What is known. A member that is absent is not known here, or cannot be wrong. */
export interface Facts {
  readonly nowMs: number;
  readonly isReady: boolean;
  readonly skewSeconds: number;
  readonly samples?: readonly Sample[];
  readonly failedMails?: number;
  readonly registrations?: { readonly count: number; readonly limit: number };
  readonly certificateEndsAtMs?: number;
  /** When the newest backup was written, or `undefined` without any. */
  readonly keys?: readonly Pick<KeyView, 'algorithm' | 'status' | 'created_at'>[];
  /** Secrets of the server besides the first. */
  readonly oldSecrets?: number;
  readonly backups?: { readonly newestAtMs: number | undefined; readonly intervalSeconds: number };
}

/** What counts as now. */
const RECENT_MS = 5 * MINUTE_MS;

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
} {
  const { nowMs, isReady, skewSeconds, samples, failedMails, registrations, certificateEndsAtMs, backups } =
    facts;
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
  const days =
    certificateEndsAtMs === undefined ? undefined : Math.floor((certificateEndsAtMs - nowMs) / DAY_MS);
  const isBackupLate =
    backups !== undefined &&
    (backups.newestAtMs ?? 0) < nowMs - BACKUP_INTERVALS * backups.intervalSeconds * 1000;
  const found: readonly (readonly [Trouble['code'], count: number, isWrong: boolean])[] = [
    ['not_ready', 1, !isReady],
    ['clock_wrong', Math.abs(skewSeconds), skewSeconds !== 0],
    ['storage_faults', count(({ storageFaults }) => storageFaults), true],
    ['faults', count(faultsOf), true],
    ['refusals', count(refusalsOf), hasRisen(recent, before, refusalsOf)],
    [
      'sign_ins',
      count(({ failedSignIns }) => failedSignIns),
      hasRisen(recent, before, (sample) => sample.failedSignIns),
    ],
    ['limits', count(limitsOf), true],
    ['mails', failedMails ?? 0, true],
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
    ['mails', failedMails !== undefined],
    ['registrations', registrations !== undefined],
    ['certificate', days !== undefined],
    ['backups', backups !== undefined],
    ['keys', facts.keys !== undefined],
  ];
  return {
    troubles: found.flatMap(([code, times, isWrong]) =>
      isWrong && (times > 0 || code === 'certificate' || code === 'backup') ? [{ code, count: times }] : [],
    ),
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
  return Object.entries(refusals).reduce((total, [name, count]) => total + (name === 'fault' ? 0 : count), 0);
}

function limitsOf({ refusals }: Sample): number {
  return [...LIMITS].reduce((total, name) => total + (refusals[name] ?? 0), 0);
}

function hasRisen(
  recent: readonly Sample[],
  before: readonly Sample[],
  of: (sample: Sample) => number,
): boolean {
  const seconds = (some: readonly Sample[]) => sum(some, (sample) => sample.seconds);
  if (seconds(before) * 1000 < USUAL_AFTER_MS || sum(recent, of) < MIN_RISEN) return false;
  return sum(recent, of) / seconds(recent) > (RISEN * sum(before, of)) / seconds(before);
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
