// How PostgreSQL reads a part of the list of users.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../../core/test/harness/postgres_server.ts';
import { LISTED_FACTORS, listCall } from '../src/data/people_list.ts';
import { POSTGRESQL } from './harness/databases.ts';
import { emptyPostgres } from './harness/empty_databases.ts';

test('a filter by factor looks up the factors of each user in the part, and no others', {
  skip: POSTGRESQL.absence,
}, async () => {
  const url = await emptyPostgres();
  await ask(
    { url },
    `INSERT INTO grantd.people (issuer, subject, name, password_hash, claims, created_at_ms, revision)
     SELECT 'https://id.example', 's' || at, 'user' || lpad(at::text, 6, '0'), '', '{}', at, 0
     FROM generate_series(1, 20000) AS at;
     INSERT INTO grantd.totp_secrets (issuer, subject, sealed, last_step, created_at_ms)
     SELECT issuer, subject, '', 0, 0 FROM grantd.people;
     INSERT INTO grantd.passkeys
       (issuer, id, subject, public_key, counter, transports, is_backed_up, name, created_at_ms)
     SELECT issuer, subject, subject, 'key', 0, '[]', 0, 'Key', 0 FROM grantd.people;
     ANALYZE grantd.people, grantd.totp_secrets, grantd.passkeys`,
  );
  for (const factor of LISTED_FACTORS) {
    const part = { after: 'user001000', upTo: 'user002000', limit: 50, activityAtMs: 0 };
    const { sql, parameters, values } = listCall('subject', { factor, ...part });
    const given: Readonly<Record<string, unknown>> = {
      issuer: 'https://id.example',
      ...Object.fromEntries(parameters.map((name, at) => [name, values[at]])),
    };
    const written = sql.replaceAll(/:(?!:)([a-z]\w*)/gi, (_, name: string) => {
      const value = given[name];
      return typeof value === 'number' ? String(value) : `'${String(value)}'`;
    });
    const [[{ Plan: plan }]] = (await ask({ url }, `EXPLAIN (FORMAT JSON) ${written}`)).flatMap(
      (row: object) => Object.values(row),
    );
    const nodes = nodesOf(plan);
    const whole = nodes.filter(
      ({ type, relation }) => type === 'Seq Scan' && relation !== undefined && relation !== 'people',
    );
    assert.deepEqual(whole, [], `${factor}: ${JSON.stringify(nodes)}`);
  }
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(
  plan: PlanNode,
): readonly { readonly type: string; readonly relation: string | undefined }[] {
  const { 'Node Type': type, 'Relation Name': relation, Plans: below = [] } = plan;
  return [{ type, relation }, ...below.flatMap(nodesOf)];
}
