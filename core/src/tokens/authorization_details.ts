// Types of authorization details that clients may request. A module of its own, so that only hosts with such types load
// the validator. § refers to RFC 9396.
import { dereference, format as FORMATS, type Schema, Validator } from '@cfworker/json-schema';
import { ConfigurationError, unexpectedError } from '../http/errors.ts';
import { isJsonObject } from '../http/http.ts';
import {
  type AuthorizationDetail,
  type AuthorizationDetails,
  detailsIn,
  type NarrowDetail,
  narrowByCommonLists,
  parseAuthorizationDetails,
  refusedDetails,
  selectedDetails,
} from '../protocol/authorization_details.ts';
import { requireOptions } from '../protocol/option_kinds.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import { guardedCall } from '../storage/faults.ts';

/** A type of authorization details (RFC 9396 §2.1). */
export interface AuthorizationDetailsType {
  /**
   * JSON Schema of one detail, by default of draft 2020-12. It must say with `additionalProperties` or
   * `unevaluatedProperties` which further members a detail may have. It need not describe `type`.
   */
  readonly schema: JsonSchema;
  /** Whether clients may get such details for themselves, without a user (`client_credentials`). Default: `false`. */
  readonly clientCredentials?: boolean;
  /**
   * Compares a detail of a token request with one of the grant (RFC 9396 §6.1). Returns what the token gets, or
   * `undefined` if the grant does not cover the request. Default: fewer values in `locations`, `actions`, `datatypes`
   * and `privileges` are fewer rights, and all other members must be equal.
   */
  readonly narrow?: NarrowDetail;
}

/** A JSON Schema that is an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What `authorizationDetails` takes. */
export interface AuthorizationDetailsSettings {
  /** Types by name, at most 100. A client may request those of its `authorization_details_types`. */
  readonly types: Readonly<Record<string, AuthorizationDetailsType>>;
  /**
   * Completes approved details before they are stored, such as with the accounts that the user chose (RFC 9396 §7.1).
   * Returns the whole list; its types must be among the approved ones. A rejection is an outage (503), and a wrong list
   * an error of the host (500). Default: details are granted as approved.
   */
  readonly enrich?: (occasion: EnrichmentOccasion) => Awaitable<AuthorizationDetails>;
}

/** What approved details are for. */
export interface EnrichmentOccasion {
  /** The approved details, never an empty list. */
  readonly details: AuthorizationDetails;
  readonly clientId: string;
  /** The server's identifier of the user. Absent if the client acts for itself. */
  readonly subject?: string | undefined;
  readonly scopes: readonly string[];
}

/** Type names: visible ASCII without quotes and backslash, so that URIs are possible (§2.1). */
const TYPE_NAME = /^[\x21\x23-\x5B\x5D-\x7E]{1,128}$/;

const MAX_TYPES = 100;

interface ResolvedType {
  readonly validator: Validator;
  readonly clientCredentials: boolean;
  readonly narrow: NarrowDetail;
}

/** The checked types of a host, as `authorizationDetails` returns them. */
export class DetailsTypes {
  readonly #types: ReadonlyMap<string, ResolvedType>;
  readonly #enrich: AuthorizationDetailsSettings['enrich'];

  constructor(types: ReadonlyMap<string, ResolvedType>, enrich: AuthorizationDetailsSettings['enrich']) {
    this.#types = types;
    this.#enrich = enrich && guardedCall(enrich, 'authorizationDetails.enrich');
  }

  /** Names of all types (§10). */
  get names(): readonly string[] {
    return [...this.#types.keys()];
  }

  /**
   * Reads what a client requests (§2, §5).
   * @param isForItself whether there is no user
   * @returns `undefined` if it requests no details
   * @throws {OAuthError} `invalid_authorization_details`: malformed, or of a type that is unknown, not allowed for the
   *   client, or defined otherwise
   */
  read(
    client: ClientRecord,
    parameter: string | undefined,
    isForItself = false,
  ): AuthorizationDetails | undefined {
    if (parameter === undefined) return undefined;
    const details = parseAuthorizationDetails(parameter);
    for (const detail of details) this.#requireFit(client, detail, isForItself);
    return details;
  }

  #requireFit(client: ClientRecord, detail: AuthorizationDetail, isForItself: boolean): void {
    const type = this.#requireType(detail.type);
    const isAllowed = isRegisteredFor(client, detail.type) && (type.clientCredentials || !isForItself);
    if (!isAllowed)
      throw refusedDetails(
        'the client may not request this type of authorization_details',
        'authorization_details_not_allowed',
        detail.type,
      );
    const { valid, errors } = type.validator.validate(detail);
    if (valid) return;
    // A part of the schema, or the name of an unknown member, but no value of the request.
    const { keywordLocation = '' } = errors.at(-1) ?? {};
    throw refusedDetails(
      'the authorization_details do not conform to their type',
      'authorization_details_unfit',
      `${detail.type} ${keywordLocation}`,
    );
  }

  /**
   * Reduces granted details to those that a client may still have.
   * @returns an empty list if none are left
   */
  remaining(client: ClientRecord, granted: AuthorizationDetails): AuthorizationDetails {
    return granted.filter(({ type }) => this.#types.has(type) && isRegisteredFor(client, type));
  }

  /**
   * Selects from granted details what a token request asks for (§6).
   * @param granted absent if the grant has none
   * @throws {OAuthError} `invalid_authorization_details`: malformed, of an unknown type, or not part of the grant
   */
  select(granted: AuthorizationDetails | undefined, parameter: string): AuthorizationDetails {
    const requested = parseAuthorizationDetails(parameter);
    return selectedDetails(granted ?? [], requested, (type) => this.#requireType(type).narrow);
  }

  /**
   * Returns what is granted of approved details, with what the host adds (§7.1).
   * @throws {OAuthError} `server_error`: the host returned a wrong list
   * @throws {StorageFault} the host could not answer
   */
  async granted(occasion: EnrichmentOccasion): Promise<AuthorizationDetails> {
    if (this.#enrich === undefined) return occasion.details;
    const approved = occasion.details.map(({ type }) => type);
    const enriched = detailsIn(await this.#enrich(occasion));
    if (enriched?.every(({ type }) => approved.includes(type))) return enriched;
    const cause = new TypeError(
      'enrich must return a list of details of the approved types, within the limits',
    );
    throw unexpectedError({
      reason: 'authorization_details_enrichment_unfit',
      value: approved.join(' '),
      cause,
    });
  }

  #requireType(name: string): ResolvedType {
    const type = this.#types.get(name);
    if (type !== undefined) return type;
    throw refusedDetails(
      'the type of authorization_details is unknown',
      'authorization_details_type_unknown',
      name,
    );
  }
}

function isRegisteredFor({ metadata }: Pick<ClientRecord, 'metadata'>, type: string): boolean {
  return metadata?.authorization_details_types?.includes(type) ?? false;
}

// ── The option ────────────────────────────────────────────────────────────────────────────────────────────

const AT = 'authorizationDetails';

/**
 * Makes the option `authorizationDetails`: the types of details that a server knows (ADR 70).
 * @throws {ConfigurationError} names the type and says what was expected
 * @example
 * authorizationDetails: authorizationDetails({
 *   types: {
 *     account_information: {
 *       schema: {
 *         properties: { actions: { type: 'array', items: { enum: ['read_balances', 'read_transactions'] } } },
 *         required: ['actions'],
 *         additionalProperties: false,
 *       },
 *     },
 *   },
 * })
 */
export function authorizationDetails(settings: AuthorizationDetailsSettings): DetailsTypes {
  requireOptions(settings, { types: true, enrich: true }, AT);
  const { types, enrich }: Partial<AuthorizationDetailsSettings> = settings;
  if (!isJsonObject(types)) throw new ConfigurationError(`${AT}.types`, 'an object');
  const entries = Object.entries<unknown>(types);
  if (entries.length === 0 || entries.length > MAX_TYPES)
    throw new ConfigurationError(`${AT}.types`, `1 to ${MAX_TYPES} types`);
  if (enrich !== undefined && typeof enrich !== 'function')
    throw new ConfigurationError(`${AT}.enrich`, 'a function');
  const resolved = entries.map(([name, type]) => [name, resolveType(name, type)] as const);
  return new DetailsTypes(new Map(resolved), enrich?.bind(settings));
}

const TYPE_MEMBERS = { schema: true, clientCredentials: true, narrow: true } satisfies Record<
  keyof AuthorizationDetailsType,
  true
>;

function resolveType(name: string, type: unknown): ResolvedType {
  const at = `${AT}.types.${name}`;
  if (!TYPE_NAME.test(name))
    throw new ConfigurationError(at, 'a name of at most 128 visible ASCII characters without quotes');
  requireOptions(type, TYPE_MEMBERS, at);
  const { schema, clientCredentials = false, narrow }: Partial<AuthorizationDetailsType> = Object(type);
  if (typeof clientCredentials !== 'boolean')
    throw new ConfigurationError(`${at}.clientCredentials`, 'true or false');
  if (narrow !== undefined && typeof narrow !== 'function')
    throw new ConfigurationError(`${at}.narrow`, 'a function');
  return {
    validator: validatorOf(name, schema, `${at}.schema`),
    clientCredentials,
    narrow: narrow?.bind(type) ?? narrowByCommonLists,
  };
}

/** The dialects of the validator by their `$schema`, without a fragment. */
const DRAFTS: ReadonlyMap<unknown, '7' | '2019-09' | '2020-12'> = new Map([
  ['http://json-schema.org/draft-07/schema', '7'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
]);

const DEFAULT_DRAFT = 'https://json-schema.org/draft/2020-12/schema';

/**
 * Checks a schema, and makes its validator, which uses no `eval`. A misspelt keyword would allow anything, so unknown
 * ones are errors.
 */
function validatorOf(name: string, written: unknown, at: string): Validator {
  if (!isJsonObject(written)) throw new ConfigurationError(at, 'a JSON Schema that is an object');
  if (written.additionalProperties === undefined && written.unevaluatedProperties === undefined)
    throw new ConfigurationError(
      at,
      'additionalProperties or unevaluatedProperties, such as false: unknown members must be refused (RFC 9396 §5)',
    );
  const { $schema = DEFAULT_DRAFT } = written;
  const draft = DRAFTS.get(typeof $schema === 'string' ? $schema.replace(/#$/, '') : $schema);
  if (draft === undefined)
    throw new ConfigurationError(`${at}.$schema`, `one of ${[...DRAFTS.keys()].join(', ')}`);
  const schema = copyOf(written, at);
  if (schema.properties !== undefined && !isJsonObject(schema.properties))
    throw new ConfigurationError(`${at}.properties`, 'an object');
  const whole: Schema = { ...schema, properties: { type: { const: name }, ...schema.properties } };
  requireKnownKeywords(whole, at);
  return new Validator(whole, draft);
}

function copyOf(written: Readonly<Record<string, unknown>>, at: string): Schema {
  try {
    return JSON.parse(JSON.stringify(written));
  } catch (cause) {
    throw new ConfigurationError(at, 'a JSON Schema without circles', `${at}: ${String(cause)}`);
  }
}

/** Checks each part of a schema: its keywords, and that references lead to one of its parts. */
function requireKnownKeywords(schema: Schema, at: string): void {
  const parts = partsOf(schema, at);
  for (const part of Object.values(parts)) {
    if (!isJsonObject(part)) continue; // true and false are schemas
    for (const [keyword, value] of Object.entries(part)) {
      const fits = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
      if (fits === undefined) throw new ConfigurationError(at, `JSON Schema keywords, got ${keyword}`);
      if (!fits(value)) throw new ConfigurationError(at, `another value of the keyword ${keyword}`);
    }
    const { $ref, __absolute_ref__: target } = part;
    if ($ref !== undefined && parts[String(target)] === undefined)
      throw new ConfigurationError(at, `a $ref to a part of the same schema, got ${String($ref)}`);
  }
}

/** All parts of a schema by their URIs. */
function partsOf(schema: Schema, at: string): Readonly<Record<string, unknown>> {
  try {
    return dereference(schema);
  } catch (cause) {
    throw new ConfigurationError(at, 'a JSON Schema', `${at}: expected a JSON Schema: ${String(cause)}`);
  }
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number';
const isCount: Check = (value) => Number.isInteger(value) && Number(value) >= 0;
const isFlag: Check = (value) => typeof value === 'boolean';
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isAny: Check = () => true;
const isSchema: Check = (value) => typeof value === 'boolean' || isJsonObject(value);
const isSchemas: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema);
const isMapOf =
  (fits: Check): Check =>
  (value) =>
    isJsonObject(value) && Object.values(value).every(fits);
const isPattern: Check = (value) => isText(value) && compiles(String(value));
const JSON_TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
const isType: Check = (value) => JSON_TYPES.some((type) => type === value);

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

function checked(check: Check, ...keywords: readonly string[]): Record<string, Check> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, check]));
}

/** The keywords that the validator knows, and those without effect on it. */
const KEYWORDS: Readonly<Record<string, Check>> = {
  ...checked(isText, '$id', '$schema', '$anchor', '$ref', '$comment', 'title', 'description'),
  ...checked(isAny, 'const', 'default', 'examples'),
  ...checked(isFlag, 'uniqueItems', 'deprecated', 'readOnly', 'writeOnly'),
  ...checked(isNumber, 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'),
  ...checked((value) => isNumber(value) && Number(value) > 0, 'multipleOf'),
  ...checked(isCount, 'minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains'),
  ...checked(isCount, 'minProperties', 'maxProperties'),
  ...checked(isTexts, 'required'),
  ...checked(isMapOf(isTexts), 'dependentRequired'),
  ...checked(isMapOf(isSchema), '$defs', 'definitions', 'properties', 'dependentSchemas'),
  ...checked(isSchemas, 'allOf', 'anyOf', 'oneOf', 'prefixItems'),
  ...checked(isSchema, 'not', 'if', 'then', 'else', 'contains', 'propertyNames'),
  ...checked(
    isSchema,
    'additionalProperties',
    'unevaluatedProperties',
    'additionalItems',
    'unevaluatedItems',
  ),
  items: (value) => isSchema(value) || isSchemas(value),
  enum: Array.isArray,
  type: (value) => isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType)),
  pattern: isPattern,
  patternProperties: (value) =>
    isMapOf(isSchema)(value) && Object.keys(Object(value)).every((pattern) => isPattern(pattern)),
  format: (value) => isText(value) && Object.hasOwn(FORMATS, String(value)),
};
