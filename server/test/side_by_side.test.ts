// Begins early: it bundles another version.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { programIn } from '../../scripts/program_for_tests.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantd } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { environmentOf, PROGRAM, type Program, type RunningServer, Workbench } from './harness/program.ts';
import {
  authorizationUrl,
  basic,
  introspect,
  newPkce,
  postForm,
  redeem,
  type Tokens,
} from './harness/protocol.ts';

const CLONE = join(import.meta.dirname, '..', '..');
const ISSUER = 'http://localhost:4577';
const SERVE = ['--issuer', ISSUER, '--demo'];
const LATER = ['migrate', 'status', '--json'];

/** What the next version adds, and what it removes. For both stores, and for the tables of the program. */
const CHANGES: readonly (readonly [file: string, end: string, added: string])[] = [
  [
    'core/src/storage/sqlite/schema.ts',
    '\n  ],\n};',
    `
    { expand: 'ALTER TABLE clients ADD COLUMN note TEXT', down: 'ALTER TABLE clients DROP COLUMN note' },
    { contract: 'DROP INDEX IF EXISTS nothing_of_this_name' },`,
  ],
  [
    'core/src/storage/postgres/schema.ts',
    '\n  ],\n};',
    `
    { expand: 'ALTER TABLE grantd.clients ADD COLUMN note text', down: 'ALTER TABLE grantd.clients DROP COLUMN note' },
    { contract: 'ALTER TABLE grantd.clients ALTER COLUMN note DROP DEFAULT' },`,
  ],
  [
    'server/src/data/program_migrations.ts',
    '\n];\n\n/** A script of PostgreSQL',
    `
    { expand: 'CREATE TABLE grantd.notes (issuer text NOT NULL PRIMARY KEY)', down: 'DROP TABLE grantd.notes' },
    { contract: 'DROP INDEX IF EXISTS grantd.nothing_of_this_name' },`,
  ],
];

/** Copies the sources, appends an expansion and a contraction to each list of migrations, and bundles the program. */
async function nextVersionIn(folder: string): Promise<Program> {
  const parts = ['core/src', 'core/package.json', 'protect/src', 'protect/package.json', 'server'];
  const isWanted = (path: string) => !/server\/(?:test|node_modules)$/.test(path);
  for (const part of parts)
    cpSync(join(CLONE, part), join(folder, part), { recursive: true, filter: isWanted });
  for (const [file, end, added] of CHANGES) {
    const text = readFileSync(join(folder, file), 'utf8');
    const at = text.lastIndexOf(end);
    assert.ok(at > 0, file);
    writeFileSync(join(folder, file), `${text.slice(0, at)}${added}${text.slice(at)}`);
  }
  linkPackages(join(CLONE, 'node_modules'), join(folder, 'node_modules'));
  linkPackages(join(CLONE, 'server', 'node_modules'), join(folder, 'server', 'node_modules'));
  mkdirSync(join(folder, 'node_modules', '@grantd'));
  for (const name of ['core', 'protect'])
    symlinkSync(join(folder, name), join(folder, 'node_modules', '@grantd', name));
  return [PROGRAM[0], await programIn(join(folder, 'bundled'), join(folder, 'server'))];
}

function linkPackages(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from))
    if (name !== '@grantd' && !name.startsWith('.')) symlinkSync(join(from, name), join(to, name));
}

const programs = new Workbench();
let next: Program;
before(async () => {
  next = await nextVersionIn(programs.folder());
});
after(() => programs.clear());

for (const database of DATABASES) {
  describe(`two versions on one database: ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let folder: string;
    let earlier: RunningServer;
    let later: RunningServer;
    let tokens: Tokens;

    /** @returns the output of a command that must succeed, parsed */
    const shown = async (args: readonly string[], program: Program = PROGRAM) => {
      const { code, stdout, stderr } = await grantd(folder, args, { program });
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const refused = async (args: readonly string[], program: Program = PROGRAM) => {
      const { code, stderr } = await grantd(folder, args, { program });
      assert.equal(code, 1, stderr);
      return stderr;
    };
    const signedIn = async (url: string): Promise<Tokens> => {
      const pkce = newPkce();
      return redeem(url, pkce, await signInAndConsent(new Browser(url), authorizationUrl(url, pkce)));
    };
    const refresh = ({ url }: RunningServer, { refresh_token }: Tokens) =>
      postForm(
        `${url}/token`,
        { grant_type: 'refresh_token', refresh_token: refresh_token ?? '' },
        basic('demo-web', 'demo-web-secret'),
      );

    /** While the contraction waits for the lock of a table, every request that reads the table waits too. */
    const assertWaitsBriefly = async () => {
      const reader = new Client({ connectionString: environmentOf(folder).GRANTD_DATABASE });
      await reader.connect();
      try {
        await reader.query('BEGIN; SELECT FROM grantd.clients');
        assert.match(
          await refused(['migrate', 'contract', '--yes'], next),
          /are in use, for example by a backup: try again when it has ended\.$/m,
        );
      } finally {
        await reader.end();
      }
    };

    before(async () => {
      folder = await workbench.home();
      earlier = await workbench.start(folder, SERVE);
      tokens = await signedIn(earlier.url);
    });

    test('the later version only adds, so it starts while the earlier one serves', async () => {
      const { start, isOnline, library } = await shown(LATER, next);
      assert.deepEqual([start, isOnline], ['migrate', true]);
      later = await workbench.start(folder, SERVE, {}, next);
      const after = await shown(LATER, next);
      assert.deepEqual(
        [after.start, after.canContract, after.library],
        ['serve', true, { stored: library.stored + 1, floor: library.floor, known: library.known }],
      );
    });

    test('both serve the same tokens, and a token that one revokes is dead at the other', async () => {
      const { refresh_token } = tokens;
      for (const { url } of [earlier, later])
        assert.equal((await introspect(url, tokens.access_token)).active, true, url);
      const refreshed = await refresh(later, tokens);
      assert.equal(refreshed.status, 200);
      const successor: Tokens = await refreshed.json();
      assert.equal((await introspect(earlier.url, successor.access_token)).active, true);
      const token = { token: successor.refresh_token ?? '' };
      const revoked = await postForm(
        `${earlier.url}/token/revoke`,
        token,
        basic('demo-web', 'demo-web-secret'),
      );
      assert.equal(revoked.status, 200);
      for (const { url } of [earlier, later])
        for (const dead of [successor.access_token, refresh_token ?? ''])
          assert.deepEqual(await introspect(url, dead), { active: false });
      tokens = await signedIn(earlier.url);
      assert.equal((await introspect(later.url, tokens.access_token)).active, true);
    });

    test('the earlier version starts again, and its commands work', async () => {
      await earlier.stop();
      earlier = await workbench.start(folder, SERVE);
      assert.equal((await introspect(earlier.url, tokens.access_token)).active, true);
      assert.ok((await shown(['client', 'list', '--json'])).length > 0);
      assert.equal((await shown(LATER)).start, 'serve_newer');
      assert.equal((await shown(['migrate', 'up', '--json'])).migrated, false);
    });

    test('a contraction asks for --yes, and ends the earlier version but not the later one', async () => {
      const { code, stderr } = await grantd(folder, ['migrate', 'contract'], { program: next });
      assert.equal(code, 2);
      assert.match(stderr, /--yes: required, because a contraction cannot be undone/);
      if (database.name === 'PostgreSQL') await assertWaitsBriefly();
      assert.equal((await shown(['migrate', 'contract', '--yes', '--json'], next)).migrated, true);
      assert.equal((await introspect(later.url, tokens.access_token)).active, true);
      const { library } = await shown(LATER, next);
      assert.deepEqual([library.stored, library.floor], [library.known, library.known]);

      // On PostgreSQL, a server looks at the version with each write and with each renewal of its lease.
      const endsAt = Date.now() + 5000;
      let status = 200;
      while (status !== 503 && Date.now() < endsAt)
        status = (
          await postForm(
            `${earlier.url}/token/introspect`,
            { token: tokens.access_token },
            basic('demo-api', 'demo-api-secret'),
          )
        ).status;
      assert.equal(status, 503);
      assert.match(await refused(['client', 'list']), /newer/);
      assert.equal((await shown(['migrate', 'contract', '--yes', '--json'], next)).migrated, false);
      await earlier.stop();
      await later.stop();
    });

    test('migrate down takes the additions away that follow the named versions, but not after a contraction', async () => {
      const { library: contracted, program } = await shown(LATER, next);
      const to = (tables: string, version: number) => ['migrate', 'down', '--to', `${tables}=${version}`];
      assert.match(
        await refused([...to('library', contracted.stored - 1), '--yes'], next),
        /^grantd: --to library=\d+: the tables can only go back from version (\d+) to \1, which they have\.$/m,
      );
      const stays = [...to('program', program.stored), '--yes', '--json'];
      assert.equal((await shown(stays, next)).migrated, false);

      folder = await workbench.home();
      await (await workbench.start(folder, SERVE)).stop();
      const before = await shown(LATER);
      await shown(['migrate', 'up', '--json'], next);
      const after = await shown(LATER, next);
      assert.equal(after.library.stored, before.library.stored + 1);
      const misused = async (args: readonly string[]) => {
        const { code, stderr } = await grantd(folder, args, { program: next });
        assert.equal(code, 2, stderr);
        return stderr;
      };
      assert.match(await misused(['migrate', 'down', '--yes']), /^grantd: --to: required/m);
      for (const wrong of ['library', 'library=', 'tables=1', 'library=-1'])
        assert.match(
          await misused(['migrate', 'down', '--to', wrong]),
          /^grantd: --to: expected library=VERSION/m,
        );
      const { stored, floor } = after.library;
      assert.match(
        await misused(to('library', stored - 1)),
        new RegExp(`^grantd: --yes: required, because the data .* is lost: library ${stored}$`, 'm'),
      );
      for (const unreachable of [floor - 1, stored + 1])
        assert.match(await refused([...to('library', unreachable), '--yes'], next), /can only go back/);
      assert.deepEqual(await shown(LATER, next), after);

      // The earlier version does not know what the later one has added.
      assert.match(await refused([...to('library', stored - 2), '--yes']), /can only go back/);

      // Only what is named: the program’s tables stay.
      assert.equal((await shown([...to('library', stored - 1), '--yes', '--json'], next)).migrated, true);
      const { library, program: ofProgram } = await shown(LATER);
      assert.deepEqual([library, ofProgram.stored], [before.library, after.program.stored]);
      await shown([...to('program', before.program.stored), '--yes', '--json'], next);
      assert.deepEqual((await shown(LATER)).program, before.program);
      assert.match(await refused(['client', 'list'], next), /earlier version of grantd/);
      const server = await workbench.start(folder, SERVE);
      assert.ok((await signedIn(server.url)).access_token);
      await server.stop();
    });
  });
}
