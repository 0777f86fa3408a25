import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ISSUER } from '../population/clients.ts';
import type { BarePostgresOrder } from '../subjects/bare_postgres.ts';
import { isReady, sampleAnswer, startOf } from '../subjects/contestants.ts';
import { postgresPopulation } from '../subjects/postgres.ts';
import { ACTIVE } from './answers.ts';
import { introspecting } from './requests.ts';
import { tokensOf } from './stage.ts';
import type { Contestant, Work } from './work.ts';

const name = 'introspection-postgres';

/** The program's default. */
const CONNECTIONS_TO_POSTGRES = 10;

const BARE_POSTGRES = join(import.meta.dirname, '..', 'subjects', 'bare_postgres.ts');

/** The smallest lookup: whether the token exists, by its primary key. */
const LOOK_UP = 'SELECT id FROM grantd.tokens WHERE issuer_id = $1 AND id = $2';

/** The program on PostgreSQL, compared with a bare server that makes one lookup per request. */
export const introspectionPostgres: Work = {
  name,
  title: 'introspection, JWT, seen before, PostgreSQL',
  connections: 32,
  async contestants(stage) {
    const records = Math.round(stage.sizes.records / 10);
    const jwt_rs256 = Math.min(stage.sizes.tokens, Math.floor(records * 0.9));
    const population = await stage.populationOf({ records, tokens: { jwt_rs256 } });
    const planned = introspecting(tokensOf(population, 'jwt_rs256'));
    const asked = { ...(await stage.requests(name, planned)), answers: [ACTIVE] };
    const { url, password, secret, servants, rows } = await postgresPopulation(population, stage.say);
    const environment = { PGPASSWORD: password };
    const start = startOf(stage.program);
    const measured: Contestant = {
      name: 'grantd',
      ...asked,
      first: asked,
      servants,
      wakeUpSeconds: 1,
      process: {
        command: (port) => [
          ...[...start.command, '--database', url, '--issuer', ISSUER, '--port', String(port)],
        ],
        environment: { ...start.environment, ...environment, GRANTD_SECRET: secret },
        isReady,
      },
    };

    const [{ issuer_id: issuerId } = {}] = await rows('SELECT issuer_id FROM grantd.tokens LIMIT 1');
    const ids = await rows(
      `SELECT id FROM grantd.tokens WHERE kind = 'access_token' ORDER BY random() LIMIT ${asked.requestCount}`,
    );
    const file = join(stage.folder, `${name}.bare.json`);
    const order: BarePostgresOrder = {
      answer: await sampleAnswer(measured),
      database: url,
      connections: CONNECTIONS_TO_POSTGRES,
      lookUp: { name: 'look_up', text: LOOK_UP },
      issuerId: Number(issuerId),
      ids: ids.map(({ id }) => String(id)),
    };
    writeFileSync(file, JSON.stringify(order));
    const bare: Contestant = {
      ...measured,
      name: 'bare',
      process: {
        command: (port) => [process.execPath, BARE_POSTGRES, String(port), file],
        environment,
        isReady,
      },
    };
    return [measured, bare];
  },
};
