// From the metadata of a client to its record, and back.
import {
  type ClientIdentity,
  ClientMetadataError,
  type ClientRecord,
  DocumentError,
  documentOf,
  isFetched,
  isMemberName,
  memberOf,
  type NewClient,
  SIGN_IN_POLICIES,
  withoutTag,
} from '@grantd/core';
import { documentRefusal } from '@grantd/core/node';
import type { Configuration } from '../config/configuration.ts';
import { flagOf, variableOf } from '../config/options.ts';
import { adminProblem } from '../instance/admin_access.ts';
import { type ClientBuilder, requireReachable } from './operation.ts';
import { InvalidInput, OperationRefused, refusedBy, type Said, sentenceAbout } from './operation_refused.ts';
import { brokenRule, URI_RULES } from './uri_rules.ts';

/** Client metadata by member name, as given. */
export type Members = Readonly<Record<string, unknown>>;

/** The form of an identifier. */
export const CLIENT_ID = /^[\x21-\x7E]{1,200}$/;

/**
 * Builds a registration, without its secret. Needs no database.
 * @throws {InvalidInput} the client would not work or would not be safe
 * @throws {OperationRefused} a document that the client names cannot be fetched right now
 */
export async function registrationFrom(
  builder: ClientBuilder,
  configuration: Configuration,
  id: string,
  members: Members,
): Promise<NewClient> {
  const found = CLIENT_ID.test(id) ? [] : [new InvalidInput('client_id', ['client_id_form'])];
  return wholeClient(builder, configuration, { id }, members, undefined, found);
}

/**
 * A client with exactly these members, and defaults for others.
 * @throws as `registrationFrom`
 */
export function wholeClient(
  builder: ClientBuilder,
  configuration: Configuration,
  identity: ClientIdentity,
  members: Members,
  registered: ClientRecord | undefined,
  found: readonly InvalidInput[] = [],
): Promise<NewClient> {
  const whole = { grant_types: defaultGrants(members), ...members };
  return clientFrom(builder, configuration, identity, whole, members, registered, found);
}

/**
 * Builds a client record.
 * @param set the settings that are new
 * @param found what is wrong besides the metadata
 * @throws {InvalidInput} with everything that is wrong with the metadata
 * @throws {OperationRefused} a document that the client names cannot be fetched right now
 */
async function clientFrom(
  builder: ClientBuilder,
  configuration: Configuration,
  identity: ClientIdentity,
  members: Members,
  set: Members,
  registered: ClientRecord | undefined,
  found: readonly InvalidInput[] = [],
): Promise<NewClient> {
  const own = [
    ...found,
    ...refusedSettings(set, configuration).map(
      ({ member, problem }) => new InvalidInput(member, ['not_configured', problem]),
    ),
    ...refusedBy([
      ...RETURN_URIS.map((name) => () => requireReturnUris(name, members, registered)),
      () => requireNewPolicy(builder, configuration, members.sign_in_policy, registered),
    ]),
  ];
  try {
    const client = await builder.operator.clientFrom(identity, members, registered);
    const problem = adminProblem(builder.issuer, client);
    if (problem !== undefined)
      own.push(new InvalidInput(problem.member, ['not_for_admin_api', problem.problem]));
    if (own.length > 0) throw InvalidInput.together(own);
    return client;
  } catch (error) {
    if (!(error instanceof ClientMetadataError)) throw error;
    const { cause } = error;
    if (own.length === 0 && cause instanceof DocumentError && cause.outcome === 'failed')
      throw new OperationRefused('conflict', ['document_unfetched', cause.message]);
    const others = [error, ...error.others].filter(({ member }) => !own.some((one) => one.member === member));
    throw InvalidInput.together([
      ...own,
      ...others.map(({ member, said }) => new InvalidInput(member, said)),
    ]);
  }
}

/** A policy that is stored may have become unreachable since. @throws {InvalidInput} no sign-in can meet a new one */
function requireNewPolicy(
  { issuer }: ClientBuilder,
  configuration: Configuration,
  policy: unknown,
  registered: ClientRecord | undefined,
): void {
  const known = SIGN_IN_POLICIES.find((one) => one === policy);
  if (known !== registered?.metadata?.sign_in_policy) requireReachable({ configuration, issuer }, known);
}

/** Members with URIs to which the server sends the browser. */
const RETURN_URIS = ['redirect_uris', 'post_logout_redirect_uris'] as const;

/**
 * Checks each URI to which the server would send the browser (ADR 213). What is stored already stays, unless the type of the
 * application changes.
 * @throws {InvalidInput} names each wrong URI by its place
 */
function requireReturnUris(
  name: (typeof RETURN_URIS)[number],
  members: Members,
  registered: ClientRecord | undefined,
): void {
  const before: Members = registered === undefined ? {} : documentOf(registered);
  const isOfSameType = members.application_type === before.application_type;
  const stored = isOfSameType ? listIn(before, name) : [];
  const wrong = listIn(members, name).flatMap((uri, at) => {
    const rule = typeof uri !== 'string' || stored.includes(uri) ? undefined : brokenRule(uri, members);
    if (rule === undefined) return [];
    const said: Said = ['uri_rule', URI_RULES[rule].words, rule];
    return [{ uri, in: `/${name}/${at}`, detail: sentenceAbout(said), said }];
  });
  if (wrong.length > 0)
    throw new InvalidInput(
      name,
      { english: wrong.map(({ uri, detail }) => `${uri}: ${detail}`).join('; ') },
      wrong.map(({ uri: _, ...problem }) => problem),
    );
}

function listIn(members: Members, name: string): readonly unknown[] {
  const value = members[name];
  return Array.isArray(value) ? value : [];
}

/** Default grant types: for an application with users, an API, or a machine. */
export function defaultGrants({
  redirect_uris: redirectUris,
  resource,
  follow_all: followsAll,
  token_endpoint_auth_method: method,
}: Members): readonly string[] {
  if (redirectUris !== undefined) return ['authorization_code', 'refresh_token'];
  return resource !== undefined || followsAll === true || method === 'none' ? [] : ['client_credentials'];
}

/** New values of members, and names of members to remove. */
export interface ClientChange {
  readonly members: Members;
  readonly unset: readonly string[];
}

/**
 * A client with a change to its metadata.
 * @throws {InvalidInput} the metadata is invalid
 * @throws {OperationRefused} a document that the client names cannot be fetched right now
 */
export async function withChange(
  builder: ClientBuilder,
  configuration: Configuration,
  client: ClientRecord,
  change: ClientChange,
): Promise<NewClient> {
  const { response_types: _, ...document } = documentOf(client); // derived from the grant types
  const members: Record<string, unknown> = {
    ...withoutOverridden(document, client, change),
    ...change.members,
  };
  for (const name of change.unset) delete members[name];
  const set = setByOperator(client, change);
  if (set.length > 0) members.set_by_operator = set;
  const { id, registrationTokenDigest, registeredAt, documentValidAt } = client;
  const identity = {
    id,
    ...(registrationTokenDigest !== undefined && { registrationTokenDigest }),
    ...(registeredAt !== undefined && { registeredAt }),
    ...(documentValidAt !== undefined && { documentValidAt }),
  };
  return clientFrom(builder, configuration, identity, members, change.members, client);
}

/** Without a self-registered client’s translations of members that the operator now sets or unsets. */
function withoutOverridden(
  document: Members,
  { registrationTokenDigest }: ClientRecord,
  { members, unset }: ClientChange,
) {
  if (registrationTokenDigest === undefined) return document;
  const said = new Set([...Object.keys(members), ...unset]);
  const isOverridden = (name: string) => name.includes('#') && said.has(withoutTag(name)[0]);
  return Object.fromEntries(Object.entries(document).filter(([name]) => !isOverridden(name)));
}

/**
 * Members that a self-registered client can no longer change, because this or an earlier update set or unset them.
 * Empty if the operator releases them all.
 */
function setByOperator(
  { registrationTokenDigest, metadata }: ClientRecord,
  { members, unset }: ClientChange,
): readonly string[] {
  if (registrationTokenDigest === undefined || unset.includes('set_by_operator')) return [];
  const { set_by_operator: before = metadata?.set_by_operator ?? [] } = members;
  const changed = [...Object.keys(members), ...unset].filter((name) => {
    const [base] = withoutTag(name);
    return isMemberName(base) && memberOf(base).setBy === 'client';
  });
  return [...new Set([...(Array.isArray(before) ? before.map(String) : []), ...changed])];
}

/**
 * Finds URLs that the server would never fetch, and an authentication method whose option is missing.
 * @param members the client settings to set
 * @returns each member with the first reason
 */
function refusedSettings(
  members: Members,
  { settings: { insecureDevelopment, trustedIssuers } }: Configuration,
): readonly { readonly member: string; readonly problem: string }[] {
  const refused = new Map<string, string>();
  const { token_endpoint_auth_method: method } = members;
  if (method === 'trusted_issuer_jwt' && trustedIssuers === undefined) {
    const ways = `set ${variableOf('trustedIssuers')} for commands, and this or ${flagOf('trustedIssuers')} for the server`;
    refused.set('token_endpoint_auth_method', `${method} needs a file of issuers: ${ways}`);
  }
  for (const [name, value] of Object.entries(members)) {
    if (!isFetched(name)) continue;
    const [member] = withoutTag(name);
    for (const url of [value].flat()) {
      if (refused.has(member) || !URL.canParse(String(url))) continue; // the library reports it
      const refusal = documentRefusal(String(url), { allowPrivateAddresses: insecureDevelopment });
      if (refusal === undefined) continue;
      const way = insecureDevelopment
        ? ''
        : `; if the server runs with ${flagOf('insecureDevelopment')}, add that flag here too`;
      refused.set(member, `the server never fetches ${url}: ${refusal}${way}`);
    }
  }
  return [...refused].map(([member, problem]) => ({ member, problem }));
}

/** Whether operators can set this member of the client metadata. */
export function isSettable(name: string): boolean {
  const [base] = withoutTag(name);
  return isMemberName(base) && !memberOf(base).isDerived && base !== 'set_by_operator';
}

type MemberKind = ReturnType<typeof memberOf>['kind'];

/** JSON Schema of a member of client metadata. */
export function schemaOfKind({ type, each }: Pick<MemberKind, 'type' | 'each'>): object {
  if (each !== undefined) return { type: 'array', items: schemaOfKind(each) };
  const literals = [...type.matchAll(/'([^']*)'/g)].map(([, literal]) => literal);
  if (literals.length > 0) return { enum: literals };
  return { type: type === 'number' ? 'integer' : ['boolean', 'object'].includes(type) ? type : 'string' };
}
