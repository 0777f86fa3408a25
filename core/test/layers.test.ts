// Runs scripts/check_layers.ts against a tree with planted violations.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const SOUND: Readonly<Record<string, string>> = {
  'core/src/http/http.ts':
    "import type { JWK } from 'jose';\nimport 'jose/base64url';\nexport const http = 1;",
  'core/src/storage/contract.ts': "import '../http/http.ts';",
  'core/src/storage/host_storage.ts': "import './contract.ts';",
  'core/src/introspection/introspection.ts': "import type { X } from '../storage/contract.ts';",
  'core/src/revocation/revocation.ts': "import { http } from '../http/http.ts';",
  'core/src/index.ts': "export { http } from './http/http.ts';",
  'protect/src/issuer_metadata.ts': "import { http } from '@grantd/core/internal/http/http';",
  'protect/src/protection.ts': "import './issuer_metadata.ts';",
  'core/src/storage/sqlite/schema.ts':
    'export const schema = `CREATE TABLE tokens (id TEXT); CREATE TABLE issuers (id TEXT)`;',
  'server/src/config/options.ts': "import { x } from '@grantd/core';",
  'server/src/data/tables.ts': "import type { M } from '@grantd/core/internal/storage/migrations';",
  'server/src/data/program_migrations.ts': 'export const people = `CREATE TABLE grantd.people (id text)`;',
  'server/src/data/people.ts':
    "// FROM tokens\nexport const sql = table('people', { text: 'id' }) + 'INSERT INTO grantd.people SELECT 1';",
  'server/src/cli/run.ts': "import '../config/options.ts';",
};

const PLANTED: readonly (readonly [
  breach: string,
  files: Readonly<Record<string, string>>,
  report: RegExp,
])[] = [
  [
    'an import of a later layer',
    {
      'core/src/http/http.ts': "import type { X } from '../tokens/find.ts';",
      'core/src/tokens/state.ts': '',
    },
    /http\/http\.ts imports core\/src\/tokens\/find\.ts, which is in a later layer/,
  ],
  [
    'an import of another slice',
    { 'core/src/revocation/revocation.ts': "import '../introspection/introspection.ts';" },
    /revocation\.ts imports core\/src\/introspection\/introspection\.ts, which is in another slice/,
  ],
  [
    'a slice that knows more of storage than the contract',
    { 'core/src/revocation/revocation.ts': "import '../storage/host_storage.ts';" },
    /revocation\.ts imports core\/src\/storage\/host_storage\.ts; a slice knows only/,
  ],
  [
    'a file of more than 600 lines without a reason in its first comment',
    {
      'core/src/http/http.ts': `// One thing.\n${'export {};\n'.repeat(600)}`,
      'core/test/http.test.ts': `// Long: a table.\n${'export {};\n'.repeat(700)}`,
    },
    /^core\/src\/http\/http\.ts has 601 lines; split it, or say why not: \/\/ Long: …\n$/,
  ],
  [
    'a file that reads the clock itself',
    { 'server/src/config/options.ts': '// Date.now()\nexport const atMs = () => Date.now();' },
    /server\/src\/config\/options\.ts reads the clock itself/,
  ],
  [
    'an import of all of jose',
    { 'server/src/config/options.ts': "import type { JWK } from 'jose';\nimport { importJWK } from 'jose';" },
    /server\/src\/config\/options\.ts imports all of jose; import only its parts/,
  ],
  [
    'a circle of files',
    { 'core/src/http/http.ts': "import './form.ts';", 'core/src/http/form.ts': "import './http.ts';" },
    /http\/form\.ts is part of a circle of imports between files/,
  ],
  [
    'a circle of folders in the program',
    {
      'server/src/pages/pages.ts': "import './sign_in/sign_in.ts';",
      'server/src/pages/sign_in/sign_in.ts': "import '../html.ts';",
      'server/src/pages/html.ts': '',
    },
    /server\/src\/pages is part of a circle of imports between folders/,
  ],
  [
    'a flow of pages that imports another one',
    { 'server/src/pages/sign_in/sign_in.ts': "import '../consent/consent.ts';" },
    /sign_in\/sign_in\.ts imports server\/src\/pages\/consent\/consent\.ts, which is in another slice/,
  ],
  [
    'a later layer of the program',
    { 'server/src/config/options.ts': "import '../cli/run.ts';" },
    /config\/options\.ts imports server\/src\/cli\/run\.ts, which is in a later layer/,
  ],
  [
    'the core by path',
    { 'server/src/config/options.ts': "import '../../../core/src/index.ts';" },
    /imports core\/src\/index\.ts by path/,
  ],
  [
    'protect with a part of the server',
    {
      'protect/src/protection.ts': "import '@grantd/core/internal/clients/client';",
      'core/src/clients/client.ts': '',
    },
    /protection\.ts imports core\/src\/clients\/client\.ts, which protect may not carry/,
  ],
  [
    'protect with a part of the server that another module imports',
    {
      'protect/src/protection.ts': "import '@grantd/core/internal/tokens/jwt';",
      'core/src/tokens/jwt.ts': "import type { X } from './find.ts';",
      'core/src/tokens/find.ts': '',
    },
    /tokens\/jwt\.ts imports core\/src\/tokens\/find\.ts, which protect may not carry/,
  ],
  [
    'the core by path in protect',
    { 'protect/src/protection.ts': "import '../../core/src/http/http.ts';" },
    /protect\/src\/protection\.ts imports core\/src\/http\/http\.ts by path/,
  ],
  [
    'protect with the whole core',
    { 'protect/src/protection.ts': "import '@grantd/core';" },
    /protect\/src\/protection\.ts depends on @grantd\/core/,
  ],
  [
    'a later layer of protect',
    { 'protect/src/issuer_metadata.ts': "import './protection.ts';" },
    /issuer_metadata\.ts imports protect\/src\/protection\.ts, which is in a later layer/,
  ],
  [
    'an internal entry point in the program',
    { 'server/src/config/options.ts': "import '@grantd/core/internal/http/http';" },
    /config\/options\.ts imports @grantd\/core\/internal\/http\/http/,
  ],
  [
    'an internal entry point of a store in the program, outside of its files of databases',
    { 'server/src/config/options.ts': "import '@grantd/core/internal/storage/migrations';" },
    /config\/options\.ts imports @grantd\/core\/internal\/storage\/migrations/,
  ],
  [
    'a whole store by its internal entry point in the program',
    { 'server/src/data/tables.ts': "import '@grantd/core/internal/storage/sqlite/sqlite_storage';" },
    /data\/tables\.ts imports @grantd\/core\/internal\/storage\/sqlite\/sqlite_storage/,
  ],
  [
    'node: in protect',
    { 'protect/src/protection.ts': "import 'node:fs';" },
    /protection\.ts imports node:fs/,
  ],
  ['node: in a file for all runtimes', { 'core/src/http/http.ts': "import 'node:fs';" }, /imports node:fs/],
  ['a dependency of the core', { 'core/src/http/http.ts': "import 'express';" }, /depends on express/],
  [
    'SQL of the program on a table of the library',
    {
      'server/src/data/mails.ts':
        'export const sql = `SELECT 1 FROM grantd.people JOIN grantd.issuers i ON 1`;',
    },
    /data\/mails\.ts has SQL on issuers, a table of the library/,
  ],
  [
    'SQL of the program on a table of the library, as SQLite takes it',
    { 'server/src/data/mails.ts': "export const sql = 'DELETE FROM tokens WHERE id = 1';" },
    /data\/mails\.ts has SQL on tokens, a table of the library/,
  ],
  [
    'SQL of the library on a table of the program',
    { 'core/src/storage/sqlite/events.ts': "export const sql = 'UPDATE people SET id = 1';" },
    /sqlite\/events\.ts has SQL on people, a table of the program/,
  ],
  [
    'SQL outside of the folders that have some',
    { 'server/src/pages/pages.ts': "export const sql = 'SELECT 1 FROM people';" },
    /pages\/pages\.ts has SQL on people; only core\/src\/storage\/ and server\/src\/data\/ have any/,
  ],
  [
    'an insertion outside of the file that states the columns',
    { 'server/src/data/mails.ts': "export const sql = 'INSERT INTO grantd.people (id) VALUES (1)';" },
    /data\/mails\.ts inserts rows of people, whose columns server\/src\/data\/people\.ts states/,
  ],
  ['a file in no layer', { 'core/src/utils/text.ts': '' }, /core\/src\/utils\/text\.ts is in no layer/],
  [
    'a store in the main entry point',
    {
      'core/src/index.ts': "export * from './storage/memory/memory_storage.ts';",
      'core/src/storage/memory/memory_storage.ts': '',
    },
    /exports a store/,
  ],
];

test('a sound tree passes', () => {
  assert.deepEqual(checked({}), { status: 0, report: '' });
});

for (const [breach, files, report] of PLANTED) {
  test(`${breach} is reported`, () => {
    const { status, report: printed } = checked(files);
    assert.equal(status, 1);
    assert.match(printed, report);
  });
}

function checked(files: Readonly<Record<string, string>>): { status: number | null; report: string } {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-layers-'));
  try {
    for (const [path, text] of Object.entries({ ...SOUND, ...files })) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const script = join(import.meta.dirname, '../../scripts/check_layers.ts');
    const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
    return { status, report: stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
