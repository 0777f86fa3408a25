// Runs scripts/check_links.ts against a tree with planted violations.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const SOUND: Readonly<Record<string, string>> = {
  'README.md': [
    '# Sound',
    '[guide](docs/guide.md), [a step](docs/guide.md#2-run-the-server), [here](#sound), [out](https://example.com/x)',
    '<img src="docs/picture.svg">',
    '`[code](nowhere.md)` and `core/src/form.ts`',
    '```md\n[example](nowhere.md)\n```',
    '1. step\n\n   ```html\n   <script src="/nowhere.js"></script>\n   ```',
  ].join('\n\n'),
  'docs/guide.md': '# Guide\n\n## 2. Run `the server`\n\n## Again\n\n## Again\n\n[second](#again-1)',
  'docs/picture.svg': '<svg/>',
  'docs/adr/0001-first.md': 'It was in `core/src/gone.ts`.',
  'CONTRIBUTING.md': ['# Folders', '', '    core/   library', '    docs/   pages'].join('\n'),
  'core/src/form.ts': '// docs/guide.md describes it.\nexport const path = "core/src/planted.ts";\n',
};

const PLANTED: readonly (readonly [breach: string, file: string, text: string, report: string])[] = [
  ['a link to no file', 'docs/a.md', 'x\n[a](b.md)', 'docs/a.md:2: b.md leads to no file'],
  ['a named link to no file', 'docs/a.md', '[a]: b.md', 'docs/a.md:1: b.md leads to no file'],
  ['a picture that is not there', 'docs/a.md', '<img src="b.png">', 'docs/a.md:1: b.png leads to no file'],
  [
    'an anchor without a heading',
    'docs/a.md',
    '[a](guide.md#3-stop)',
    'docs/a.md:1: docs/guide.md has no heading for #3-stop',
  ],
  ['an anchor of its own page', 'a.md', '# A\n[b](#b)', 'a.md:2: a.md has no heading for #b'],
  ['a path in a page', 'a.md', 'see `core/src/gone.ts`', 'a.md:1: there is no core/src/gone.ts'],
  [
    'a folder that the list leaves out',
    'server/src/cli/a.ts',
    '',
    'CONTRIBUTING.md: names the folder server/ 0 times instead of once\nCONTRIBUTING.md: names the folder server/src/cli/ 0 times instead of once',
  ],
  [
    'a folder that the list names twice',
    'CONTRIBUTING.md',
    '    core/  a\n    docs/  b\n    core/  c',
    'CONTRIBUTING.md: names the folder core/ 2 times instead of once',
  ],
  [
    'a folder of the list that is gone',
    'CONTRIBUTING.md',
    '    core/  a\n    docs/  b\n    gone/  c',
    'CONTRIBUTING.md: there is no folder gone/',
  ],
  ['a path in a comment', 'core/src/a.ts', 'x; // see docs/b.md', 'core/src/a.ts:1: there is no docs/b.md'],
];

test('a sound tree passes', () => {
  assert.deepEqual(checked({}), { status: 0, report: '' });
});

for (const [breach, file, text, report] of PLANTED) {
  test(`${breach} is found`, () => {
    assert.deepEqual(checked({ [file]: text }), { status: 1, report });
  });
}

function checked(planted: Readonly<Record<string, string>>): { status: number | null; report: string } {
  const folder = mkdtempSync(join(tmpdir(), 'grantd_links_'));
  try {
    for (const [file, text] of Object.entries({ ...SOUND, ...planted })) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
    const script = join(import.meta.dirname, '..', '..', 'scripts', 'check_links.ts');
    const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
    return { status, report: stderr.trim() };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
