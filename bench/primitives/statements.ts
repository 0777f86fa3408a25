import { randomBytes } from 'node:crypto';
import { openSqliteConnection } from '@grantd/core/internal/storage/sqlite/connection';
import type { RowList } from '../../core/src/storage/columns.ts';
import { returningLists } from '../../core/src/storage/sqlite/queues.ts';
import { ISSUING_SQL, TOKENS_SQL, tokenValues } from '../../core/src/storage/sqlite/tokens.ts';
import { newTimedIdentifier } from '../../core/src/tokens/opaque_token.ts';
import { BENCH_CLIENTS } from '../population/clients.ts';
import type { Primitives } from './primitives.ts';
import { type Effort, inTurn, timed } from './stopwatch.ts';

/** The most lookups in one tick while 32 connections are served in two halves. */
const LOOK_UPS_OF_A_TURN = 16;
const TURNS_AT_ONCE = 64;
/** The number of writes that share a commit, with as many connections. */
const INSERTS_AT_ONCE = 64;
const COMMITS_AT_ONCE = 10;

/**
 * The cost of the program's own statements, on a connection that is configured like the program's.
 * @param path of a copy, which changes
 */
export async function measureStatements(
  path: string,
  effort: Effort,
): Promise<Pick<Primitives, 'lookUp' | 'insert' | 'commit'>> {
  const database = openSqliteConnection(path);
  try {
    const [{ issuer_id: issuerId } = {}] = database.prepare('SELECT issuer_id FROM tokens LIMIT 1').all();
    if (typeof issuerId !== 'number') throw new Error('there are no tokens to look up');
    const own = Object.values(BENCH_CLIENTS).map(({ id }) => `'${id}'`);
    const ids = database
      .prepare(
        `SELECT id FROM tokens WHERE kind = 'access_token'
           AND (client_id IN (${own}) OR NOT EXISTS (SELECT 1 FROM tokens WHERE client_id IN (${own})))
         ORDER BY random() LIMIT 100000`,
      )
      .all()
      .map(({ id }) => String(id));
    const begin = database.prepare('BEGIN');
    const end = database.prepare('COMMIT');
    const lookUp = returningLists<RowList>(database.prepare(TOKENS_SQL.getAccessToken));
    const insert = database.prepare(ISSUING_SQL.insert);
    const change = database.prepare('UPDATE tokens SET revoked_at_ms = ? WHERE issuer_id = ? AND id = ?');
    let next = 0;
    const anotherId = () => ids[next++ % ids.length] ?? '';

    return {
      lookUp: await timed(effort, () => {
        const turns = inTurn(TURNS_AT_ONCE, () => {
          begin.run();
          for (let count = 0; count < LOOK_UPS_OF_A_TURN; count++)
            if (lookUp.get(issuerId, anotherId()) === undefined) throw new Error('a token was not found');
          end.run();
        });
        return { ...turns, operations: turns.operations * LOOK_UPS_OF_A_TURN };
      }),
      insert: await timed(effort, () => {
        const rows = Array.from({ length: INSERTS_AT_ONCE }, () => newRow(issuerId));
        database.exec('BEGIN IMMEDIATE');
        const batch = inTurn(INSERTS_AT_ONCE, (index) => void insert.run(...(rows[index] ?? [])));
        database.exec('COMMIT');
        return batch;
      }),
      commit: await timed(effort, () =>
        inTurn(COMMITS_AT_ONCE, () => {
          if (change.run(Date.now(), issuerId, anotherId()).changes !== 1) throw new Error('nothing changed');
        }),
      ),
    };
  } finally {
    database.close();
  }
}

/** A JWT of a client that acts for itself. */
function newRow(issuerId: number) {
  const issuedAtMs = Date.now();
  const expiresAt = Math.floor(issuedAtMs / 1000) + 3600;
  return tokenValues(issuerId, {
    id: newTimedIdentifier({ clock: () => issuedAtMs, random: randomBytes }),
    kind: 'access_token',
    digest: randomBytes(32).toString('base64url'),
    clientId: BENCH_CLIENTS.machine_es256.id,
    scopes: ['read'],
    tokenType: 'Bearer',
    issuedAtMs,
    expiresAt,
    keepUntil: expiresAt,
    keyId: randomBytes(32).toString('base64url'),
  });
}
