import { html, raw } from 'hono/html';
import type { Html } from '../../texts/html.ts';

/** Copies the text of an element. Browsers that allow no access to the clipboard select it instead. */
export const COPY_SCRIPT = `
for (const button of document.querySelectorAll('button.copy')) {
  const source = document.getElementById(button.getAttribute('aria-controls'));
  button.hidden = false;
  button.addEventListener('click', async () => {
    getSelection().selectAllChildren(source);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = button.dataset.copied;
    } catch {}
  });
}
`;

export function copyScript(): Html {
  return html`<script>${raw(COPY_SCRIPT)}</script>`;
}

/** Without scripts, it stays hidden. @param source the `id` of the element with the text */
export function copyButton(source: string, words: { readonly copy: string; readonly copied: string }): Html {
  return html`<button id="${source}-copy" type="button" class="copy" aria-controls="${source}" data-copied="${words.copied}" hidden>${words.copy}</button>`;
}
