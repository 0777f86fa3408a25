/** `@grantd/core/options`: lets a program declare its options in the same way as those of the core. */

import { type Described, described } from '../protocol/option_kinds.ts';
import { REGISTRATION_OPTIONS as REGISTRATION, SHARED_OPTIONS as SHARED } from './options.ts';
import { REGISTRATION_OPTION_TEXTS, SHARED_OPTION_TEXTS } from './texts.ts';

export { isScopeToken } from '../http/form.ts';
export { isJsonObject } from '../http/http.ts';
export { MEMBER_TEXTS, type MemberText } from '../protocol/client_member_texts.ts';
export {
  block,
  describeOption,
  type Kind,
  milliseconds,
  type Option,
  oneOf,
  option,
  optionWithoutDefault,
  SWITCH,
  seconds,
  similarName,
  switchOrBlock,
  text,
  textList,
  textOrArray,
  trueOrFalse,
  unknownName,
  type ValuesOf,
  wholeNumber,
} from '../protocol/option_kinds.ts';
export { narrowingBy } from '../protocol/profile.ts';
export { isHttpsOrigin } from './options.ts';

/** Options that a text or a number can express. The program offers them as flags, variables and config file members. */
export const SHARED_OPTIONS: Described<typeof SHARED> = described(SHARED, SHARED_OPTION_TEXTS);

/** Members of the option `registration`. */
export const REGISTRATION_OPTIONS: Described<typeof REGISTRATION> = described(
  REGISTRATION,
  REGISTRATION_OPTION_TEXTS,
);
