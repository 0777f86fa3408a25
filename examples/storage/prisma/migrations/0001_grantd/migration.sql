-- The host's table "users" is there already.
ALTER TABLE "users"
  ADD COLUMN "disabled_at" TIMESTAMPTZ(3),
  ADD COLUMN "token_generation" INTEGER NOT NULL DEFAULT 0;

CREATE TABLE "oauth_clients" (
  "id" TEXT PRIMARY KEY,
  "record" TEXT NOT NULL,
  "origins" TEXT[],
  "disabled_at" TIMESTAMPTZ(3)
);
CREATE INDEX "oauth_clients_origins_idx" ON "oauth_clients" USING GIN ("origins");

CREATE TABLE "oauth_grants" (
  "id" TEXT PRIMARY KEY,
  "revoked_at" TIMESTAMPTZ(3),
  "keep_until" TIMESTAMPTZ(3) NOT NULL
);
CREATE INDEX "oauth_grants_keep_until_idx" ON "oauth_grants" ("keep_until");

CREATE TABLE "oauth_tokens" (
  "id" TEXT PRIMARY KEY,
  "record" TEXT NOT NULL,
  "kind" TEXT NOT NULL,
  "client_id" TEXT NOT NULL REFERENCES "oauth_clients" ON DELETE CASCADE ON UPDATE CASCADE,
  "user_id" TEXT REFERENCES "users" ON DELETE CASCADE ON UPDATE CASCADE,
  "user_generation" INTEGER,
  "grant_id" TEXT REFERENCES "oauth_grants" ON DELETE CASCADE ON UPDATE CASCADE,
  "family_id" TEXT,
  "pair_id" TEXT,
  "superseded_at" TIMESTAMPTZ(3),
  "successor_id" TEXT,
  "revoked_at" TIMESTAMPTZ(3),
  "keep_until" TIMESTAMPTZ(3) NOT NULL,
  CHECK ("grant_id" IS NOT NULL OR ("family_id" IS NULL AND "pair_id" IS NULL))
);
CREATE INDEX "oauth_tokens_client_id_idx" ON "oauth_tokens" ("client_id");
CREATE INDEX "oauth_tokens_user_id_idx" ON "oauth_tokens" ("user_id");
CREATE INDEX "oauth_tokens_grant_id_idx" ON "oauth_tokens" ("grant_id");
CREATE INDEX "oauth_tokens_keep_until_idx" ON "oauth_tokens" ("keep_until");

CREATE TABLE "oauth_codes" (
  "id" TEXT PRIMARY KEY,
  "record" TEXT NOT NULL,
  "client_id" TEXT NOT NULL REFERENCES "oauth_clients" ON DELETE CASCADE ON UPDATE CASCADE,
  "user_id" TEXT NOT NULL REFERENCES "users" ON DELETE CASCADE ON UPDATE CASCADE,
  "user_generation" INTEGER NOT NULL,
  "grant_id" TEXT NOT NULL REFERENCES "oauth_grants" ON DELETE CASCADE ON UPDATE CASCADE,
  "redeemed_at" TIMESTAMPTZ(3)
);
CREATE INDEX "oauth_codes_grant_id_idx" ON "oauth_codes" ("grant_id");
CREATE INDEX "oauth_codes_client_id_idx" ON "oauth_codes" ("client_id");
CREATE INDEX "oauth_codes_user_id_idx" ON "oauth_codes" ("user_id");

CREATE TABLE "oauth_keys" (
  "kid" TEXT PRIMARY KEY,
  "record" TEXT NOT NULL,
  "role" TEXT,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "retired_at" TIMESTAMPTZ(3)
);
CREATE UNIQUE INDEX "oauth_keys_role_key" ON "oauth_keys" ("role");

CREATE TABLE "oauth_pending" (
  "id" TEXT PRIMARY KEY,
  "other_id" TEXT,
  "record" TEXT NOT NULL,
  "version" INTEGER NOT NULL,
  "expires_at" TIMESTAMPTZ(3) NOT NULL
);
CREATE UNIQUE INDEX "oauth_pending_other_id_key" ON "oauth_pending" ("other_id");

CREATE TABLE "oauth_one_time_identifiers" (
  "id" TEXT PRIMARY KEY,
  "expires_at" TIMESTAMPTZ(3) NOT NULL
);
