import type { PostgresTables } from '@grantd/core/postgres';

/** The program's own tables, beside the library's in its schema, with the columns that they have in SQLite. */
export const PROGRAM_TABLES: PostgresTables = {
  versions: 'grantd.program_schema',
  migrations: [
    `
    CREATE TABLE grantd.people (
      issuer        text COLLATE "C" NOT NULL,
      subject       text COLLATE "C" NOT NULL,
      name          text COLLATE "C" NOT NULL,
      password_hash text NOT NULL,
      claims        text NOT NULL,
      created_at_ms bigint NOT NULL,
      PRIMARY KEY (issuer, subject),
      UNIQUE (issuer, name)
    );

    CREATE TABLE grantd.demo_issuers (
      issuer text COLLATE "C" NOT NULL PRIMARY KEY
    );
    `,
  ],
};
