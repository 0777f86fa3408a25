// Users as rows of lists.
import { html } from 'hono/html';
import type { User } from '../admin/users.ts';
import type { Texts } from '../texts/texts.ts';
import type { Badge, Cell, Column, ListRow, TableNeeds } from './lists.ts';
import { instant, moment } from './values.ts';

/** A user as a row of a list. @param texts for the columns of a table */
export function rowOf(user: User, adminGroup: string, table?: TableNeeds): ListRow {
  const { sub, username, claims, groups } = user;
  return {
    ...{ key: sub, name: username },
    details: [claims.name, claims.email].filter((one) => typeof one === 'string'),
    badges: badgesOf(user, groups.includes(adminGroup), user.activity?.locked_until !== undefined),
    ...(table && { cells: cellsOf(user, table) }),
  };
}

/** The columns of the list. Those with an order have an index. */
export function columnsOf({ console: words }: Texts): readonly Column[] {
  return [
    { title: words.username, size: 'large', sort: 'username' },
    { title: words.columns.name },
    { title: words.columns.email, size: 'large' },
    ...[words.filters.factor, words.groups].map((title) => ({ title })),
    { title: words.columns.lastSignIn, size: 'small' },
    { title: words.columns.added, size: 'small', sort: 'created_at' },
  ];
}

/** More are only on the page of the user. */
const MAX_GROUPS_SHOWN = 3;

function cellsOf(
  { claims, groups, activity, created_at: createdAt }: User,
  { texts, nowMs }: TableNeeds,
): readonly Cell[] {
  const { console: words } = texts;
  const lockedUntil = activity?.locked_until;
  const isolated = (value: unknown) =>
    typeof value === 'string' ? html`<bdi title="${value}">${value}</bdi>` : undefined;
  const factors = [
    ...(activity !== undefined && activity.passkeys > 0 ? [words.filterValues.factor.passkey] : []),
    ...(activity !== undefined && activity.security_keys > 0 ? [words.filterValues.factor.security_key] : []),
    ...(activity?.has_totp === true ? [words.filterValues.factor.totp] : []),
  ];
  const shown = groups.slice(0, MAX_GROUPS_SHOWN).join(', ');
  return [
    isolated(claims.name),
    isolated(claims.email),
    factors.length === 0 ? undefined : factors.join(', '),
    shown === '' ? undefined : html`<bdi>${shown}${groups.length > MAX_GROUPS_SHOWN ? ' …' : ''}</bdi>`,
    html`${moment(activity?.last_sign_in_at, nowMs, texts) ?? ''}${lockedUntil === undefined ? '' : html`<div class="detail">${words.lockedUntil(instant(lockedUntil, texts))}</div>`}`,
    moment(createdAt, nowMs, texts),
  ];
}

/** What the state of a user is called. */
export function badgesOf(
  { disabled_at: disabledAt }: User,
  isAdministrator: boolean,
  isLocked: boolean,
): readonly Badge[] {
  return [
    ...(isAdministrator ? (['administrator'] as const) : []),
    ...(disabledAt === undefined ? [] : (['disabled'] as const)),
    ...(isLocked ? (['locked'] as const) : []),
  ];
}
