// What an event of a change records: which members changed, from what, and to what (ADR 205).
import { isJsonObject } from '@grantd/core/options';

/** A changed member. Without values, it has some that events do not keep. */
export interface MemberChange {
  readonly member: string;
  /** Value before and after, as texts. An empty text is no value. */
  readonly values?: readonly [before: string, after: string];
}

/** Characters of a value. Longer ones are cut. */
const MAX_VALUE = 200;
/** Characters of all changes. Further members have no values. */
const MAX_CHANGES = 3000;
/** Members of an event. Further ones are left out. */
const MAX_MEMBERS = 50;

/**
 * The reason of an event of a change: a JSON object with a list for each member that differs, of the value before and the
 * one after, or an empty list for values that events do not keep.
 * @param keepsValue whether events keep the values of a member. Objects are never kept
 * @returns `undefined` if nothing differs
 */
export function changesOf(
  before: object,
  after: object,
  keepsValue: (member: string) => boolean = () => true,
): string | undefined {
  const [old, wanted] = [Object(before), Object(after)];
  const differing = [...new Set([...Object.keys(old), ...Object.keys(wanted)])].filter(
    (member) => JSON.stringify(old[member]) !== JSON.stringify(wanted[member]),
  );
  if (differing.length === 0) return undefined;
  let left = MAX_CHANGES;
  const changes = differing.slice(0, MAX_MEMBERS).map((member) => {
    const values = [shownOf(old[member]), shownOf(wanted[member])];
    const isKept = keepsValue(member) && values.every((value) => value !== undefined);
    left -= isKept ? values.join('').length : 0;
    return [member, isKept && left >= 0 ? values : []];
  });
  return JSON.stringify(Object.fromEntries(changes));
}

/** @returns `undefined` for values that are not kept */
function shownOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return '';
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  if (typeof value === 'object' && !isList) return undefined;
  const text = isList ? value.join(' ') : String(value);
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…`;
}

/** The changes in the reason of an event. @returns `undefined` if it has none, as those of earlier versions */
export function changesIn(type: string, reason = ''): readonly MemberChange[] | undefined {
  if (!type.endsWith('_changed') || !reason.startsWith('{')) return undefined;
  let stored: unknown;
  try {
    stored = JSON.parse(reason);
  } catch {
    return undefined;
  }
  if (!isJsonObject(stored)) return undefined;
  return Object.entries(stored).map(([member, values]) => {
    const [before, after] = Array.isArray(values) ? values : [];
    return typeof before === 'string' && typeof after === 'string'
      ? { member, values: [before, after] }
      : { member };
  });
}
