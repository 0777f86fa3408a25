import { html } from 'hono/html';
import type { ExplanationView } from '../admin/tokens.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';

interface Box {
  readonly label: string;
  readonly detail: string;
  /** `this` for the token itself, `dead` for what is no longer valid. */
  readonly className: string;
}

/** Reasons with which the token of the same pair has ended too. */
const ENDS_PAIR: ReadonlySet<string> = new Set([
  ...['revoked', 'grant_revoked', 'session_revoked', 'issued_before_cutoff'],
  ...['subject_revoked', 'subject_disabled', 'client_revoked', 'client_disabled', 'client_gone'],
]);

const WIDTH = 360;
const BOX = { width: 165, height: 44, gap: 26 };

/**
 * The family of a token, as far as its record tells: session, grant, family and the tokens that it was obtained from
 * above, its pair beside it, its successor and what was obtained with it below.
 * @returns `undefined` if the token belongs to no grant and no chain
 */
export function familyPicture(explanation: ExplanationView, texts: Texts): Html | undefined {
  const { record, active, kind, reason, ancestors = [], descendants = [] } = explanation;
  const isInChain = ancestors.length + descendants.length > 0;
  if (record === undefined || (record.grant_id === undefined && !isInChain)) return undefined;
  const { console: words } = texts;
  const ties: readonly Box[] = [
    { label: words.session, id: record.session_id },
    { label: words.grant, id: record.grant_id },
    { label: words.rotations, id: record.family_id },
  ].flatMap(({ label, id }) => (id === undefined ? [] : [{ label, detail: shortened(id), className: '' }]));
  const before = ancestors.map((token) => ({
    label: words.kinds[token.kind],
    detail: `${token.client_id ?? shortened(token.id)}: ${token.active ? words.active : words.inactive}`,
    className: token.active ? '' : 'dead',
  }));
  const above = [...ties, ...before];
  const isRefresh = kind === 'refresh_token';
  const own: Box = {
    label: words.kinds[kind],
    detail: `${words.thisToken}: ${active ? words.active : words.inactive}`,
    className: active ? 'this' : 'this dead',
  };
  const pair: Box | undefined =
    record.pair_id === undefined
      ? undefined
      : {
          label: isRefresh ? words.kinds.access_token : words.kinds.refresh_token,
          ...(ENDS_PAIR.has(reason ?? '')
            ? { detail: `${words.pair}: ${words.inactive}`, className: 'dead' }
            : { detail: words.pair, className: '' }),
        };
  const successor: Box | undefined =
    record.successor_id === undefined
      ? undefined
      : { label: words.successor, detail: shortened(record.successor_id), className: '' };
  const alive = descendants.filter((token) => token.active).length;
  const obtained: Box | undefined =
    descendants.length === 0
      ? undefined
      : {
          label: words.descendants,
          detail: words.descendantCount(descendants.length, alive),
          className: alive === 0 ? 'dead' : '',
        };
  const yOf = (row: number) => 4 + row * (BOX.height + BOX.gap);
  const left = pair === undefined ? (WIDTH - BOX.width) / 2 : 6;
  const right = WIDTH - BOX.width - 6;
  const center = (WIDTH - BOX.width) / 2;
  const row = above.length;
  const hasBelow = successor !== undefined || obtained !== undefined;
  const height = yOf(row + (hasBelow ? 2 : 1)) - BOX.gap + 8;
  const obtainedX = successor === undefined ? left : right;
  const lines = [
    ...above.slice(1).map((_, index) => line(center, yOf(index), center, yOf(index + 1))),
    ...(row > 0 ? [line(center, yOf(row - 1), left, yOf(row))] : []),
    ...(row > 0 && pair !== undefined ? [line(center, yOf(row - 1), right, yOf(row))] : []),
    ...(successor === undefined ? [] : [line(left, yOf(row), left, yOf(row + 1))]),
    ...(obtained === undefined ? [] : [line(left, yOf(row), obtainedX, yOf(row + 1))]),
  ];
  return html`<svg class="family" viewBox="0 0 ${String(WIDTH)} ${String(height)}" role="img" aria-label="${words.pictureText([...above, own, pair, successor, obtained].flatMap((box) => (box === undefined ? [] : [box.label])).join(', '))}">
${lines}${above.map((box, index) => drawn(box, center, yOf(index)))}${drawn(own, left, yOf(row))}${pair === undefined ? '' : drawn(pair, right, yOf(row))}${successor === undefined ? '' : drawn(successor, left, yOf(row + 1))}${obtained === undefined ? '' : drawn(obtained, obtainedX, yOf(row + 1))}</svg>`;
}

function line(fromX: number, fromY: number, toX: number, toY: number): Html {
  const half = BOX.width / 2;
  return html`<path d="M${String(fromX + half)} ${String(fromY + BOX.height)}L${String(toX + half)} ${String(toY)}"/>\n`;
}

/** Text as HTML, whose contrast with its background tools can measure. */
function drawn({ label, detail, className }: Box, x: number, y: number): Html {
  return html`<foreignObject x="${String(x)}" y="${String(y)}" width="${String(BOX.width)}" height="${String(BOX.height)}"><div class="box ${className}"><span>${label}</span><small>${detail}</small></div></foreignObject>\n`;
}

/** Identifiers that fit into a box. The list above has them whole. */
function shortened(id: string): string {
  return id.length > 22 ? `${id.slice(0, 21)}…` : id;
}
