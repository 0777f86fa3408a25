import { join } from 'node:path';
import { bareLike, grantd } from '../subjects/contestants.ts';
import { ACTIVE } from './answers.ts';
import { introspecting } from './requests.ts';
import { tokensOf } from './stage.ts';
import type { Work } from './work.ts';

const WRITER = join(import.meta.dirname, '..', 'subjects', 'writer.ts');

const name = 'introspection-jwt-beside-writer';

/** As `introspection-jwt`, while another process issues and revokes in the same database. */
export const introspectionJwtBesideWriter: Work = {
  name,
  title: 'introspection, JWT, seen before, beside a writer',
  connections: 32,
  async contestants(stage) {
    const population = await stage.population();
    const workload = {
      ...(await stage.requests(name, introspecting(tokensOf(population, 'jwt_rs256')))),
      answers: [ACTIVE],
    };
    const measured = grantd(stage, population, workload, { changes: true, first: workload });
    const { database = '' } = measured;
    return [{ ...measured, beside: [process.execPath, WRITER, database] }, await bareLike(measured)];
  },
};
