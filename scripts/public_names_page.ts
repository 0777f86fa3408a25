import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Manifest, publicEntries } from './packaging/published_manifest.ts';

/** `docs/public_names.md`: what each entry point exports, so that a new public name shows in the diff of a change. */
export async function publicNamesPage(): Promise<string> {
  const sections: string[] = [];
  for (const folder of ['core', 'protect']) {
    const { name, exports }: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    for (const [entry, file] of Object.entries(publicEntries(exports ?? {}))) {
      const specifier = name + entry.slice(1);
      const { values, types } = await publicNames(specifier, join(folder, String(file)));
      sections.push(`## \`${specifier}\`\n${listOf('Values', values)}${listOf('Types', types)}`);
    }
  }
  return `# Public names

This page lists all names that \`@grantd/core\` and \`@grantd/protect\` export. Your editor shows the documentation of each name. The website that \`npm run site\` builds has the same documentation.

\`npm run docs\` writes this page from the source, so if a change adds or removes a public name, its reviewers see it here.

${sections.join('\n')}`;
}

/** @param file the source of the entry point */
export async function publicNames(
  specifier: string,
  file: string,
): Promise<{ readonly values: readonly string[]; readonly types: readonly string[] }> {
  const values = Object.keys(await import(specifier));
  return { values, types: typesIn(readFileSync(file, 'utf8'), specifier) };
}

/** Types leave no trace at run time, so they come from the source of the entry point. */
function typesIn(source: string, specifier: string): readonly string[] {
  if (/^export \*/m.test(source)) throw new Error(`${specifier} has \`export *\`: name what it exports`);
  const declared = source.matchAll(/^export (?:interface|type) (\w+)/gm);
  const lists = source.matchAll(/^export (type )?\{([^}]*)\}/gm);
  const named = [...lists].flatMap(([, all, names = '']) =>
    [...names.matchAll(all === undefined ? /\btype (?:\w+ as )?(\w+)/g : /(?:\w+ as )?(\w+)/g)].map(
      ([, name]) => name,
    ),
  );
  return [...[...declared].map(([, name]) => name), ...named].map(String);
}

function listOf(title: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const items = [...names].sort().map((name) => `\`${name}\``);
  return `\n**${title}:** ${items.join(', ')}\n`;
}
