import { existsSync, readFileSync } from 'node:fs';

/** Written by a full `npm run bench`, together with the picture. */
const TABLE = 'bench/results/latest.md';

const PART = /(<!-- measured -->\n)[\s\S]*?(<!-- end of measured -->)/;

const OF_THE_TABLE = `The table compares grantd with other servers that have the same storage, on one core, in the same run. Every write is durable. The first figure of a cell is how many times as many requests grantd answers, with the lowest and the highest of all rounds. The second figure is the CPU time of the server per request, without that of PostgreSQL. The picture is of the earlier run that it names, in which the others kept tokens in memory.`;

const OF_THE_PICTURE = `The picture compares authorization servers on one core. grantd stores a million records in an SQLite file, and every write is durable. The others keep tokens in memory.`;

/** With the figures of the stored run, between two comments. @throws Error if it lacks the comments */
export function readmePage(): string {
  const page = readFileSync('README.md', 'utf8');
  if (!PART.test(page)) throw new Error('README.md has no place for what was measured');
  const text = existsSync(TABLE)
    ? `${OF_THE_TABLE}\n\n${readFileSync(TABLE, 'utf8').trimEnd()}`
    : OF_THE_PICTURE;
  return page.replace(PART, (_, begin, end) => `${begin}\n${text}\n\n${end}`);
}
