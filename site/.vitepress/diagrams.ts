// Draws Mermaid diagrams as SVG when the website is built. Their colours are those of the website, light or dark.
import { renderMermaidSVG } from 'beautiful-mermaid';

const COLORS = {
  bg: 'var(--vp-c-bg)',
  fg: 'var(--vp-c-text-1)',
  line: 'var(--vp-c-text-2)',
  muted: 'var(--vp-c-text-1)',
  surface: 'var(--vp-c-bg-soft)',
  border: 'var(--vp-c-text-3)',
};

/** The style of the picture names a font of another server. theme/style.css has what the website needs of it. */
const OWN_STYLE = /<style>.*?<\/style>/s;

/** The labels of a picture have 11 pixels, the text of the website has 16. */
const SCALE = 1.25;
/** Pixels. A wider picture keeps its size, and scrolls. */
const WIDEST_TO_SHRINK = 1100;

let count = 0;

/** @param label what the diagram shows, for readers who do not see it */
export function drawDiagram(text: string, label: string): string {
  count += 1;
  const drawn = renderMermaidSVG(text, { ...COLORS, transparent: true });
  const missing = labelsOf(text).find((words) => !drawn.includes(words));
  if (missing !== undefined) throw new Error(`the diagram of “${label}” lacks “${missing}”`);
  const svg = drawn
    .replace(OWN_STYLE, '')
    .replaceAll(/(id="|url\(#)arrowhead/g, `$1d${count}-arrowhead`)
    .replace(/ width="([\d.]+)" height="([\d.]+)"/, (_, width: string, height: string) => {
      const [wide, high] = [width, height].map((size) => Math.round(Number(size) * SCALE));
      const kind = (wide ?? 0) <= WIDEST_TO_SHRINK ? ' class="shrinks"' : '';
      return ` width="${wide}" height="${high}"${kind}`;
    })
    .replace('<svg ', `<svg role="img" aria-label="${label}" `);
  return `<div class="diagram" tabindex="0" v-pre>${svg}</div>\n`;
}

/** What a reader must find in the picture: the renderer leaves out lines that it does not understand. */
function labelsOf(text: string): readonly string[] {
  const labels = text.matchAll(/: (.+)$|\["(.+)"\]|participant \w+ as (.+)$/gm);
  return [...labels].flatMap(([, message, node, participant]) =>
    (message ?? node ?? participant ?? '').split('<br/>').map((words) => words.replaceAll("'", '&#39;')),
  );
}
