import type { Person } from '../data/people.ts';
import type { UpstreamIdentity } from '../data/upstream_identities.ts';
import type { OperationParts } from './operation.ts';

/** What a user signs in with besides the password. */
export interface ListedFactors {
  readonly passkeys: readonly {
    readonly name: string;
    readonly createdAtMs: number;
    readonly lastUsedAtMs: number | undefined;
    readonly isBackedUp: boolean;
  }[];
  /** When the user added an authenticator app; `undefined` without one. */
  readonly authenticatorAppAddedAtMs: number | undefined;
  /** Number of unused ones. */
  readonly recoveryCodes: number;
  /** When all of them count, if a recovery code was used to add or remove some of late. */
  readonly countFromMs: number | undefined;
}

export async function listFactors(
  { factors, clock }: Pick<OperationParts, 'factors' | 'clock'>,
  { subject }: Pick<Person, 'subject'>,
): Promise<ListedFactors> {
  const [passkeys, totp, { recoveryCodes, held }] = await Promise.all([
    factors.passkeysOf(subject),
    factors.totpOf(subject),
    factors.of(subject),
  ]);
  const times = [held.untilMs, totp?.countsFromMs ?? 0, ...passkeys.map(({ countsFromMs }) => countsFromMs)];
  const countFromMs = Math.max(...times);
  return {
    countFromMs: countFromMs > clock() ? countFromMs : undefined,
    passkeys: passkeys.map(({ name, createdAtMs, lastUsedAtMs, isBackedUp }) => ({
      ...{ name, createdAtMs, lastUsedAtMs, isBackedUp },
    })),
    authenticatorAppAddedAtMs: totp?.createdAtMs,
    recoveryCodes,
  };
}

/** The links of a user to identity providers. */
export function listLinks(
  { upstreamIdentities }: Pick<OperationParts, 'upstreamIdentities'>,
  { subject }: Pick<Person, 'subject'>,
): Promise<readonly UpstreamIdentity[]> {
  return upstreamIdentities.ofSubject(subject);
}
