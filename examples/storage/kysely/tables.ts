import type { KeyRecord, NewAuthorizationCode, NewClient, NewPendingRow, NewToken } from '@grantd/core';
import type { ColumnType, Generated } from 'kysely';

/** A `json` column. Unlike `jsonb`, it keeps the order of members and every character. */
type Json<T> = ColumnType<T, string, never>;
type Time = ColumnType<Date, Date, Date>;
type Moment = ColumnType<Date | null, Date | null | undefined, Date | null>;

/** The part of the host's own user table that tokens depend on. */
interface Users {
  id: string;
  /** While it is set, the user has no live token. */
  disabled_at: Moment;
  /** Raising it by one ends all tokens of the user, since each copied the previous value. */
  token_generation: Generated<number>;
}

interface Tokens {
  id: string;
  record: Json<Omit<NewToken, 'keepUntil'>>;
  kind: NewToken['kind'];
  client_id: string;
  user_id: string | null;
  user_generation: number | null;
  grant_id: string | null;
  family_id: string | null;
  pair_id: string | null;
  superseded_at: Moment;
  successor_id: string | null;
  revoked_at: Moment;
  keep_until: Time;
}

/** Add these to the interface of your own tables. */
export interface GrantdTables {
  users: Users;
  oauth_clients: {
    id: string;
    record: ColumnType<NewClient, string, string>;
    origins: string[];
    disabled_at: Moment;
  };
  oauth_grants: { id: string; revoked_at: Moment; keep_until: Time };
  oauth_tokens: Tokens;
  oauth_codes: {
    id: string;
    record: Json<NewAuthorizationCode>;
    client_id: string;
    user_id: string;
    user_generation: number;
    grant_id: string;
    redeemed_at: Moment;
  };
  oauth_keys: {
    kid: string;
    algorithm: KeyRecord['algorithm'];
    status: KeyRecord['status'];
    public_jwk: Json<KeyRecord['publicJwk']>;
    sealed_private_key: string;
    created_at: Time;
    retired_at: Moment;
  };
  oauth_pending: {
    /** Kind and identifier. */
    id: string;
    other_id: string | null;
    record: ColumnType<NewPendingRow, string, string>;
    version: number;
    expires_at: Time;
  };
  oauth_one_time_identifiers: { id: string; expires_at: Time };
}
