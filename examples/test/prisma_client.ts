import { PrismaClientTsGenerator } from '@prisma/client-generator-ts';
import { getGenerators } from '@prisma/internals';

/**
 * Does what `prisma generate` does. The command line would download an engine first, which only migrations need.
 * @param schemaPath of a schema with a generator `prisma-client`; what it makes replaces what was there
 */
export async function generateClient(schemaPath: string): Promise<void> {
  const registry = {
    'prisma-client': { type: 'in-process', generator: new PrismaClientTsGenerator() },
  } as const;
  const generators = await getGenerators({ schemaPath, registry, skipDownload: true });
  for (const generator of generators) {
    await generator.generate();
    generator.stop();
  }
}
