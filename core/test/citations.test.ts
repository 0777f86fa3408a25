// Runs scripts/check_citations.ts against a tree with planted violations.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

/** Planted text has `$` instead of the section sign and `&` instead of `RFC`, because this file is checked too. */
const SOUND: Readonly<Record<string, string>> = {
  'docs/specification.md': [
    '$ refers to this document.',
    '## 2. Tokens',
    '### 2.3 Finding',
    'As in $2.3. `Code cites nothing: $9`.',
  ].join('\n\n'),
  'scripts/cited_documents.txt': [
    '# Names, title, sections',
    'RFC 7662 | Introspection | 2.1, 2.2, 4',
    'RFC 6749 | OAuth | 3.2',
    'OpenID Connect Core, Core | Core | 5.3',
  ].join('\n'),
  'docs/specs/introspection.md':
    'Requirements.\n\n$ refers to RFC 7662.\n\n| section |\n| --- |\n| $2.1, OpenID Connect Core $5.3 |',
  'core/src/tokens/find.ts': [
    '/** grantd $2.3, Core $5.3 and what RFC 6749',
    ' * $3.2 says. */',
    "throw new Error('see RFC 6749 section 3.2');",
  ].join('\n'),
  'core/test/rfc7662_introspection.test.ts': [
    '// What a caller learns.',
    '// $ refers to RFC 7662.',
    "test('$2.1, $2.2 to $4 it answers');",
    "test('$2.1 it answers');",
  ].join('\n'),
  'server/src/pages/page.ts': '/** RFC 7662 $2.1 (3), (4); RFC 6749 $3.2 (ADR 1). */',
  'docs/adr/0001-a.md': '# 1. A\n\nDate: 2026-01-01.',
  'docs/adr/0003-c.md': '# 3. C\n\nDate: 2026-01-01. Cited by no code: it is about releases.',
};

const FILE = 'core/src/http/form.ts';

const PLANTED: readonly (readonly [breach: string, file: string, text: string, report: RegExp])[] = [
  [
    'a decision that no source cites',
    'docs/adr/0004-d.md',
    '# 4. D\n\nDate: 2026-01-01.',
    /^docs\/adr\/0004-d\.md: no source cites ADR 4\. Cite it beside its code, or write: Cited by no code: REASON\.$/,
  ],
  [
    'a citation of a decision that does not exist',
    FILE,
    '// ADR 7',
    /^core\/src\/http\/form\.ts: there is no ADR 7$/,
  ],
  [
    'a bare section sign below a header that names no document',
    FILE,
    '// Forms.\n\n// $2.1 the request',
    /^core\/src\/http\/form\.ts:3: section 2\.1 is of no document, and the header of the file names none$/,
  ],
  [
    'a bare section sign in a page whose header names no document',
    'docs/guide.md',
    '# Guide\n\n## Steps\n\n$ refers to RFC 7662.\n\nAs $2.1 says.',
    /^docs\/guide\.md:7: section 2\.1 is of no document/,
  ],
  [
    'a header that names an unknown document',
    FILE,
    '// $ refers to & 1.',
    /^core\/src\/http\/form\.ts: its header names RF[C] 1, which scripts\/cited_documents\.txt does not list$/m,
  ],
  [
    'a test file named after another RFC than its header names',
    'core/test/rfc6749_refresh.test.ts',
    "// $ refers to RFC 7662.\ntest('$2.1 it answers');",
    /^core\/test\/rfc6749_refresh\.test\.ts: its header does not say that the section sign refers to RFC 6749$/,
  ],
  [
    'a test file named after an RFC without a header',
    'core/test/rfc6749_refresh.test.ts',
    "test('RFC 7662 $2.1 it answers');",
    /^core\/test\/rfc6749_refresh\.test\.ts: its header does not say/,
  ],
  [
    'a section that our own specification does not have',
    FILE,
    '/** grantd $2.4 */',
    /^core\/src\/http\/form\.ts:1: docs\/specification\.md has no section 2\.4 of grantd$/,
  ],
  [
    'a section that our own specification cites and does not have',
    'docs/specification.md',
    '$ refers to this document.\n\n### 2.3 Finding\n\nAs in $7.1.',
    /^docs\/specification\.md:5: docs\/specification\.md has no section 7\.1 of grantd$/,
  ],
  [
    'a section that an RFC is not known to have',
    FILE,
    '/** RFC 7662 $2.1, $9.9 */',
    /^core\/src\/http\/form\.ts:1: scripts\/cited_documents\.txt has no section 9\.9 of RFC 7662$/,
  ],
  [
    'an unknown section in the words of an error description',
    FILE,
    "const description = 'see RFC 6749 section 9.9';",
    /^core\/src\/http\/form\.ts:1: scripts\/cited_documents\.txt has no section 9\.9 of RFC 6749$/,
  ],
  [
    'an unknown section of the document of the header',
    FILE,
    "// $ refers to RFC 7662.\ntest('$9.9 it answers');",
    /^core\/src\/http\/form\.ts:2: scripts\/cited_documents\.txt has no section 9\.9 of RFC 7662$/,
  ],
  [
    'an RFC that is not listed, though no section of it is cited',
    FILE,
    '/** As & 9999 wants it. */',
    /^core\/src\/http\/form\.ts:1: scripts\/cited_documents\.txt does not list RF[C] 9999$/,
  ],
  [
    'a document that is not listed, below a header that names one',
    FILE,
    '// $ refers to RFC 7662.\n/** Some Profile 2.0 $2.1 */',
    /^core\/src\/http\/form\.ts:2: section 2\.1 is of a document that scripts\/cited_documents\.txt does not list$/,
  ],
  ['a number that runs on', FILE, '/** RFC 7662 $2.1x */', /form\.ts:1: a section sign without a section/],
  ['a section sign without a number', FILE, '/** RFC 7662 $ 2.1 */', /form\.ts:1: a section sign without a/],
  ['an RFC without a space', FILE, '/** &7662 */', /form\.ts:1: RF[C]7662 is not spelled/],
  ['an RFC with a comma', FILE, '/** RFC 7662, $2.1 */', /form\.ts:1: RFC 7662, \u00a7 is not spelled/],
  [
    'a document that is listed twice',
    'scripts/cited_documents.txt',
    'RFC 7662 | Introspection | 2.1, 2.2, 4\nRFC 6749, Core, OpenID Connect Core | OAuth | 3.2, 5.3\nRFC 7662 | Again | 2.1, 2.2, 4',
    /^scripts\/cited_documents\.txt lists RFC 7662 twice$/,
  ],
];

test('a sound tree passes', () => {
  assert.deepEqual(checked({}), { status: 0, report: '' });
});

for (const [breach, file, text, expected] of PLANTED) {
  test(`${breach} is found`, () => {
    const { status, report } = checked({ [file]: text });
    assert.equal(status, 1);
    assert.match(report, expected);
  });
}

function checked(planted: Readonly<Record<string, string>>): { status: number | null; report: string } {
  const folder = mkdtempSync(join(tmpdir(), 'grantd_citations_'));
  try {
    for (const [file, text] of Object.entries({ ...SOUND, ...planted })) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text.replaceAll(/\$(?=[ \d])/g, '\u00a7').replaceAll('&', 'RFC'));
    }
    const script = join(import.meta.dirname, '..', '..', 'scripts', 'check_citations.ts');
    const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
    return { status, report: stderr.trim() };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
