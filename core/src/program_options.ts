/** `@grantd/core/options`: with these a program declares options of its own beside those of the core. */

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
export { REGISTRATION_OPTIONS, SHARED_OPTIONS } from './options.ts';
