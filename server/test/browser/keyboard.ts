import type { Page } from 'playwright-core';

/** A control, as a keyboard user finds it. */
export interface Control {
  /** Its id, or the start of its text. */
  readonly name: string;
  readonly isFocusVisible: boolean;
}

/**
 * All controls that a mouse could use, in document order. Fields that only password managers see are hidden. Tab leads to
 * the chosen one of several radio buttons, and arrow keys lead to the others.
 */
export function controls(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    [
      ...document.querySelectorAll(
        'a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex="-1"])',
      ),
    ]
      .filter(
        (element) =>
          element.checkVisibility() &&
          !element.matches('[type=hidden], [disabled], [aria-hidden=true]') &&
          !element.matches('form:has([type=radio]:checked) [type=radio]:not(:checked)'),
      )
      .map((element) => element.id || element.outerHTML.slice(0, 60)),
  );
}

/** The controls that Tab reaches, from the start of the page until it wraps around. */
export async function tabStops(page: Page): Promise<readonly Control[]> {
  await page.evaluate(() => {
    const start = document.createElement('span');
    start.tabIndex = -1;
    document.body.prepend(start);
    start.focus();
    start.remove();
  });
  const stops: Control[] = [];
  for (let presses = 0; presses < 100; presses++) {
    await page.keyboard.press('Tab');
    const stop = await focused(page);
    if (stop === undefined) return stops;
    stops.push(stop);
  }
  throw new Error(`Tab does not come to an end: ${stops.map(({ name }) => name).join(', ')}`);
}

/** Presses Tab until the control has the focus. */
export async function tabTo(page: Page, id: string): Promise<void> {
  for (let presses = 0; presses < 30; presses++) {
    if ((await focused(page))?.name === id) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to #${id}`);
}

/** @returns `undefined` if nothing on the page has the focus */
function focused(page: Page): Promise<Control | undefined> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return undefined;
    const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(element);
    const hasOutline =
      outlineStyle !== 'none' &&
      Number.parseFloat(outlineWidth) >= 1 &&
      !/^rgba\(.*, 0\)$/.test(outlineColor);
    return {
      name: element.id || element.outerHTML.slice(0, 60),
      isFocusVisible: hasOutline || boxShadow !== 'none',
    };
  });
}
