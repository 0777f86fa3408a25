import { OVERVIEW } from '../server/src/texts/en/overview.ts';

/** The page of what the overview of the console calls wrong, from the texts of its help. */
export function troublesPage(): string {
  const { ofTroubles, look, act } = OVERVIEW.help;
  const sections = Object.values(ofTroubles).map(
    (one) => `## ${one.title}\n\n${one.means}\n\n- **${look}:** ${one.look}\n- **${act}:** ${one.act}\n`,
  );
  return `# What the overview calls wrong

The overview of the [console](console.md#what-is-wrong-now) names these troubles. Its page **Help** has the same
explanations, in English and German.

${sections.join('\n')}`;
}
