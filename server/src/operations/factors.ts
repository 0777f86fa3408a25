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
}

export async function listFactors(
  { factors }: Pick<OperationParts, 'factors'>,
  { subject }: Pick<Person, 'subject'>,
): Promise<ListedFactors> {
  const [passkeys, totp, { recoveryCodes }] = await Promise.all([
    factors.passkeysOf(subject),
    factors.totpOf(subject),
    factors.of(subject),
  ]);
  return {
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
