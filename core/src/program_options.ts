/** `@grantd/core/options`: lets a program declare its options in the same way as those of the core. */

export { isJsonObject } from './http/http.ts';
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
} from './option_kinds.ts';
export { isHttpsOrigin, REGISTRATION_OPTIONS, SHARED_OPTIONS } from './options.ts';
export { narrowingBy } from './protocol/profile.ts';
