import { createRequire } from 'node:module';

// Imported, the generator lacks files of its own, and what exports `getGenerators` does not name it in time.
const require = createRequire(import.meta.url);
const generator: typeof import('@prisma/client-generator-ts') = require('@prisma/client-generator-ts');
const internals: typeof import('@prisma/internals') = require('@prisma/internals');

/**
 * Does what `prisma generate` does. The command line would download an engine first, which only migrations need.
 * @param schema path of a schema with a generator `prisma-client`; what it makes replaces what was there
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
  for (const one of generators) {
    await one.generate();
    one.stop();
  }
}
