import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { errorsPage } from '../../scripts/errors_page.ts';

process.chdir(dirname(dirname(import.meta.dirname)));

const PAGE = errorsPage();

/** Rows of the page: a description, in which … stands for anything. */
const DESCRIPTIONS = [...PAGE.matchAll(/^\| ([^|]+) \| [^|]+ \|$/gm)].map(
  ([, description = '']) =>
    new RegExp(`^${description.replaceAll(/[.*+?^$()|[\]\\{}]/g, '\\$&').replaceAll('…', '.+')}$`),
);

/** Descriptions that a host chooses, in tests of hosts. */
const OF_HOSTS = ['no', 'nobody is here', 'nobody is signed in'];

test('the page of errors has every error_description that a test expects', () => {
  const expected = globSync('{core,protect,server}/test/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/error_description['"]?: ?(['"])([^$]*?)\1/g)].map(
      ([, , description = '']) => description,
    ),
  );
  const missing = new Set(expected.filter((text) => !DESCRIPTIONS.some((row) => row.test(text))));
  assert.ok(new Set(expected).size > 20, `${expected.length} found`);
  assert.deepEqual([...missing].sort(), OF_HOSTS);
});

test('the page of errors says for which reason each error is, or that the log says it', () => {
  assert.match(PAGE, /^\| the grant_type is not supported \| `grant_unknown`: [^|]+ \|$/m);
  assert.match(PAGE, /^\| the DPoP proof is expired \| `dpop_proof_expired`: [^|]+ \|$/m);
  assert.match(
    PAGE,
    /^\| client authentication failed \| .*`client_unknown`: [^|]+<br>other causes, whose reason code is in the log \|$/m,
  );
  assert.match(PAGE, /^\| the DPoP proof is not valid \| the log shows the cause \|$/m);
});
