CREATE TABLE "oauth_clients" (
	"id" text PRIMARY KEY NOT NULL,
	"record" json NOT NULL,
	"origins" text[] NOT NULL,
	"disabled_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "oauth_codes" (
	"id" text PRIMARY KEY NOT NULL,
	"record" json NOT NULL,
	"client_id" text NOT NULL,
	"user_id" text NOT NULL,
	"user_generation" integer NOT NULL,
	"grant_id" text NOT NULL,
	"redeemed_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "oauth_grants" (
	"id" text PRIMARY KEY NOT NULL,
	"revoked_at" timestamp (3) with time zone,
	"keep_until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "oauth_keys" (
	"kid" text PRIMARY KEY NOT NULL,
	"algorithm" text NOT NULL,
	"status" text NOT NULL,
	"public_jwk" json NOT NULL,
	"sealed_private_key" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"retired_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "oauth_one_time_identifiers" (
	"id" text PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "oauth_pending" (
	"id" text PRIMARY KEY NOT NULL,
	"other_id" text,
	"record" json NOT NULL,
	"version" integer NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "oauth_pending_other_id_unique" UNIQUE("other_id")
);
--> statement-breakpoint
CREATE TABLE "oauth_tokens" (
	"id" text PRIMARY KEY NOT NULL,
	"record" json NOT NULL,
	"kind" text NOT NULL,
	"client_id" text NOT NULL,
	"user_id" text,
	"user_generation" integer,
	"grant_id" text,
	"family_id" text,
	"pair_id" text,
	"superseded_at" timestamp (3) with time zone,
	"successor_id" text,
	"revoked_at" timestamp (3) with time zone,
	"keep_until" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "oauth_ties_belong_to_a_grant" CHECK ("oauth_tokens"."grant_id" IS NOT NULL OR ("oauth_tokens"."family_id" IS NULL AND "oauth_tokens"."pair_id" IS NULL))
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text,
	"disabled_at" timestamp (3) with time zone,
	"token_generation" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "oauth_codes" ADD CONSTRAINT "oauth_codes_client_id_oauth_clients_id_fk" FOREIGN KEY ("client_id") REFERENCES "public"."oauth_clients"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_codes" ADD CONSTRAINT "oauth_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_codes" ADD CONSTRAINT "oauth_codes_grant_id_oauth_grants_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."oauth_grants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_tokens" ADD CONSTRAINT "oauth_tokens_client_id_oauth_clients_id_fk" FOREIGN KEY ("client_id") REFERENCES "public"."oauth_clients"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_tokens" ADD CONSTRAINT "oauth_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_tokens" ADD CONSTRAINT "oauth_tokens_grant_id_oauth_grants_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."oauth_grants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "oauth_clients_origins_index" ON "oauth_clients" USING gin ("origins");--> statement-breakpoint
CREATE INDEX "oauth_codes_grant_id_index" ON "oauth_codes" USING btree ("grant_id");--> statement-breakpoint
CREATE INDEX "oauth_codes_client_id_index" ON "oauth_codes" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "oauth_codes_user_id_index" ON "oauth_codes" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "oauth_grants_keep_until_index" ON "oauth_grants" USING btree ("keep_until");--> statement-breakpoint
CREATE UNIQUE INDEX "oauth_keys_algorithm_status_index" ON "oauth_keys" USING btree ("algorithm","status") WHERE "oauth_keys"."status" <> 'retired';--> statement-breakpoint
CREATE INDEX "oauth_tokens_client_id_index" ON "oauth_tokens" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "oauth_tokens_user_id_index" ON "oauth_tokens" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "oauth_tokens_grant_id_index" ON "oauth_tokens" USING btree ("grant_id");--> statement-breakpoint
CREATE INDEX "oauth_tokens_keep_until_index" ON "oauth_tokens" USING btree ("keep_until");