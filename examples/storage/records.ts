import type {
  AuthorizationCodeRecord,
  NewAuthorizationCode,
  NewClient,
  NewToken,
  PendingKind,
  TokenRecord,
} from '@grantd/core';

type Moment = Date | null | undefined;

/** What the state of a token or code depends on besides its own row. */
export interface Standing {
  readonly grantRevokedAt?: Moment;
  readonly clientDisabledAt?: Moment;
  readonly userDisabledAt?: Moment;
  /** The user's generation when the token was issued. */
  readonly userGeneration?: number | null;
  /** The user's generation now. */
  readonly tokenGeneration?: number | null | undefined;
}

export interface TokenState extends Standing {
  readonly revokedAt?: Moment;
  readonly supersededAt?: Moment;
  readonly successorId?: string | null;
}

export interface CodeState extends Standing {
  readonly redeemedAt?: Moment;
}

/** A token from its record as issued, and what its row and the rows that it depends on say now. */
export function tokenFrom(record: Omit<NewToken, 'keepUntil'>, state: TokenState): TokenRecord {
  const { revokedAt, supersededAt, successorId } = state;
  return {
    ...record,
    ...standingOf(state),
    ...(revokedAt && { revokedAtMs: revokedAt.getTime() }),
    ...(supersededAt && { supersededAtMs: supersededAt.getTime() }),
    ...(successorId && { successorId }),
  };
}

export function codeFrom(record: NewAuthorizationCode, state: CodeState): AuthorizationCodeRecord {
  const { redeemedAt } = state;
  return { ...record, ...standingOf(state), ...(redeemedAt && { redeemedAtMs: redeemedAt.getTime() }) };
}

function standingOf(state: Standing): Pick<TokenRecord, 'standing' | 'revokedAtMs'> {
  const disabled = (at: Moment) => at && { disabledAtMs: at.getTime() };
  const generations = { copied: state.userGeneration ?? 0, current: state.tokenGeneration ?? 0 };
  return {
    standing: {
      client: { copied: 0, current: 0, ...disabled(state.clientDisabledAt) },
      subject: { ...generations, ...disabled(state.userDisabledAt) },
    },
    ...(state.grantRevokedAt && { revokedAtMs: state.grantRevokedAt.getTime() }),
  };
}

/** The key of a pending row, by either identifier. */
export function pendingKey(kind: PendingKind, id: string): string {
  return `${kind} ${id}`;
}

/** The origins of a client's redirect URIs, for `hasRedirectOrigin`. Schemes of native applications have none. */
export function originsOf({ redirectUris }: NewClient): string[] {
  const origins = redirectUris.map((uri) => new URL(uri).origin);
  return [...new Set(origins)].filter((origin) => /^https?:/.test(origin));
}
