// Writes the reference of what the packages export, one page for each entry point, and the list of these pages.
//
//     node site/.vitepress/api_pages.ts FOLDER
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Application, ReflectionKind } from 'typedoc';
import { type Manifest, publicEntries } from '../../scripts/packaging/published_manifest.ts';
import { API_FOLDER } from '../navigation.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const [, , pages = ''] = process.argv;
const out = join(pages, API_FOLDER);

/** The names under which applications import each source, by its path. */
const names = new Map<string, string[]>();
for (const folder of ['core', 'protect', 'server']) {
  const manifest: Manifest = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  for (const [entry, source] of Object.entries(publicEntries(manifest.exports ?? {}))) {
    const path = join(folder, String(source));
    names.set(path, [...(names.get(path) ?? []), manifest.name + entry.slice(1)]);
  }
}

const application = await Application.bootstrapWithPlugins({
  entryPoints: [...names.keys()].map((path) => join(ROOT, path)),
  tsconfig: join(ROOT, 'tsconfig.json'),
  plugin: ['typedoc-plugin-markdown'],
  // The types are checked by the compiler of the repository, which may be a later one.
  skipErrorChecking: true,
  excludeExternals: true,
  treatWarningsAsErrors: true,
  outputs: [{ name: 'markdown', path: out }],
  readme: 'none',
  disableSources: true,
  githubPages: false,
  logLevel: 'Warn',
  ...{
    outputFileStrategy: 'modules',
    useHTMLAnchors: true,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    parametersFormat: 'table',
    propertiesFormat: 'table',
    interfacePropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    formatWithPrettier: false,
  },
});
const project = await application.convert();
if (project === undefined || application.logger.hasWarnings()) process.exit(1);
for (const module of project.getChildrenByKind(ReflectionKind.Module)) module.name = nameOf(module.name);
await application.generateOutputs(project);
rmSync(join(out, 'README.md'));
writeFileSync(join(out, 'index.md'), indexPage());

/** @param module the path of a source without its extension */
function nameOf(module: string): string {
  const found = [...names].find(([path]) => path.replace(/(?:\/index)?\.ts$/, '') === module)?.[1];
  if (found === undefined) throw new Error(`${module} is the source of no entry point`);
  return found[0] ?? module;
}

function indexPage(): string {
  const rows = [...names.values()].map(
    ([first = '', ...others]) =>
      `| [\`${first}\`](./${first}.md) | ${others.map((name) => `\`${name}\``).join(', ')} |`,
  );
  return `# TypeScript interfaces

Everything that the packages export, from the comments in their sources. Each page is an entry point.

| entry point | the same under another name |
| --- | --- |
${rows.join('\n')}
`;
}
