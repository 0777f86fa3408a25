import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Command, MARK, said } from './outcomes.ts';
import { hostFolder, MANIFEST } from './package_under_test.ts';

/** The package's conditional imports, such as `#crypto`, with the file of each. */
export const CONDITIONAL = MANIFEST.imports;

/** Creates a package with the same conditions, whose files name their condition. */
export function probe(t: TestContext, last: string): string {
  const folder = hostFolder(t);
  const inside = join(folder, 'node_modules', 'probe');
  mkdirSync(inside, { recursive: true });
  const names = Object.keys(CONDITIONAL);
  const imports = Object.entries(CONDITIONAL).map(([name, conditions]) => {
    const files = Object.keys(conditions).map((condition) => [condition, `./${condition}.js`]);
    return [name, Object.fromEntries(files)];
  });
  for (const condition of new Set(Object.values(CONDITIONAL).flatMap(Object.keys))) {
    writeFileSync(join(inside, `${condition}.js`), `export default ${JSON.stringify(condition)};`);
  }
  const manifest = {
    name: 'probe',
    type: 'module',
    exports: './index.js',
    imports: Object.fromEntries(imports),
  };
  writeFileSync(join(inside, 'package.json'), JSON.stringify(manifest));
  const lines = names.map((name, index) => `import taken${index} from '${name}';`);
  const taken = names.map((name, index) => `'${name}': taken${index}`);
  writeFileSync(join(inside, 'index.js'), `${lines.join('\n')}\nexport default { ${taken.join(', ')} };`);
  writeFileSync(join(folder, 'probe.mjs'), `import taken from 'probe';\n${last}`);
  return folder;
}

/** Every conditional import uses this condition, by the runtime's own rules. */
export async function assertConditions(t: TestContext, command: Command, expected: string): Promise<void> {
  const folder = probe(t, `console.log('${MARK}' + JSON.stringify(taken));`);
  const taken = await said(folder, command, 'probe.mjs');
  assert.deepEqual(taken, Object.fromEntries(Object.keys(CONDITIONAL).map((name) => [name, expected])));
}
