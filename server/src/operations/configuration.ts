import type { EffectiveOption } from '../config/configuration.ts';
import { isPostgresUrl, OPTIONS, withoutPassword } from '../config/options.ts';

/** An option as it is in force. */
export interface ShownOption {
  readonly option: string;
  /** `null` if it is not set and has no default. A secret is only “set”. */
  readonly value: unknown;
}

export function shownOption({ name, value }: Pick<EffectiveOption, 'name' | 'value'>): ShownOption {
  return { option: name, value: value === undefined ? null : shown(name, value) };
}

function shown(name: EffectiveOption['name'], value: unknown): unknown {
  if ('isSecret' in OPTIONS[name]) return 'set';
  if (name === 'smtpUrl') return withoutPassword(String(value));
  return name === 'database' && isPostgresUrl(String(value)) ? withoutPassword(String(value)) : value;
}
