import { createRequire } from 'node:module';

// Imports of the generator fail: it lacks files, and the module with `getGenerators` does not export it in time.
const require = createRequire(import.meta.url);
const generator: typeof import('@prisma/client-generator-ts') = require('@prisma/client-generator-ts');
const internals: typeof import('@prisma/internals') = require('@prisma/internals');

/**
 * Runs the generator of `prisma generate`. The command line would download an engine first, which only migrations need.
 * @param schema path of a schema with a generator `prisma-client`; previous output is replaced
 */
export async function generateClient(schema: string): Promise<void> {
  const generators = await internals.getGenerators({
    schemaContext: await internals.loadSchemaContext({
      schemaPath: { cliProvidedPath: schema },
      printLoadMessage: false,
    }),
    registry: { 'prisma-client': { type: 'in-process', generator: new generator.PrismaClientTsGenerator() } },
    skipDownload: true,
    cliCommand: 'prisma',
  });
  for (const generator of generators) {
    await generator.generate();
    generator.stop();
  }
}
