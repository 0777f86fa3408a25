// Copies what a page shows, such as a request number.
import { html, raw } from 'hono/html';
import { type Html, icon, unseen } from '../../texts/formats/html.ts';
import type { Texts } from '../../texts/texts.ts';

/** Its hash is in the policy of the pages that have a `copyButton`. */
export const COPY_SCRIPT = `
for (const button of navigator.clipboard ? document.querySelectorAll('button.copy') : []) {
  const { copies, copied } = button.dataset;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const lines = copies ? document.querySelectorAll(copies) : [button.previousElementSibling];
    try {
      await navigator.clipboard.writeText([...lines].map((line) => line.textContent).join('\\n'));
      button.querySelector('[role=status]').textContent = copied;
      button.firstElementChild.hidden = true;
    } catch {
      getSelection().selectAllChildren(copies ? lines[0].parentElement : lines[0]);
    }
  });
}
`;

export function copyScript(): Html {
  return html`<script>${raw(COPY_SCRIPT)}</script>`;
}

/**
 * Stays hidden if the browser cannot copy.
 * @param selector of the elements whose texts are copied, each on a line
 */
export function copyButton(id: string, selector: string, { copying }: Texts): Html {
  return html`<button id="${id}" type="button" class="copy" data-copies="${selector}" data-copied="${copying.copied}" hidden><span>${copying.copy}</span><span role="status"></span></button>`;
}

/** A small button that copies the text of the element before it. @param name what the text is, for screen readers */
export function copyOf(name: string, { copying }: Texts, id?: string): Html {
  return html`<button${id === undefined ? '' : html` id="${id}"`} type="button" class="copy small" data-copied="${copying.copied}" hidden><span>${icon('copy')}${unseen(html`${copying.copy} ${name}`)}</span><span role="status"></span></button>`;
}

/** The number of a request, with which operators find its lines in the log. It comes first. The page needs `copyScript`. */
export function requestNumber(requestId: string | undefined, texts: Texts): Html | '' {
  if (requestId === undefined || requestId === '') return '';
  return html`<p class="request-number">${texts.copying.requestNumber} <code id="request-number" lang="zxx">${requestId}</code> ${copyOf(texts.copying.requestNumber, texts, 'copy-request-number')}</p>`;
}
