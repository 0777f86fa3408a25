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
  withoutTag,
} from '@grantd/core';
import { documentRefusal } from '@grantd/core/node';
import type { Configuration } from '../config/configuration.ts';
import { flagOf, variableOf } from '../config/options.ts';
import { adminProblem } from '../instance/admin_access.ts';
import type { ClientBuilder } from './operation.ts';
import { InvalidInput, OperationRefused, type Said, sentenceAbout } from './operation_refused.ts';
import { brokenRule, URI_RULES } from './uri_rules.ts';

/** Client metadata by member name, as given. */
export type Members = Readonly<Record<string, unknown>>;

const CLIENT_ID = /^[\x21-\x7E]{1,200}$/;

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
  if (!CLIENT_ID.test(id)) throw new InvalidInput('client_id', ['client_id_form']);
  requireAllowed(members, configuration);
  return clientFrom(builder, { id }, { grant_types: defaultGrants(members), ...members });
}

/**
 * Builds a client record.
 * @throws {InvalidInput} the metadata is invalid
 * @throws {OperationRefused} a document that the client names cannot be fetched right now
 */
async function clientFrom(
  builder: ClientBuilder,
  identity: ClientIdentity,
  members: Members,
  registered?: ClientRecord,
): Promise<NewClient> {
  requireReturnUris(members, registered);
  try {
    const client = await builder.operator.clientFrom(identity, members, registered);
    const problem = adminProblem(builder.issuer, client);
    if (problem !== undefined) throw new InvalidInput(problem.member, ['not_for_admin_api', problem.problem]);
    return client;
  } catch (error) {
    if (!(error instanceof ClientMetadataError)) throw error;
    const { cause } = error;
    if (cause instanceof DocumentError && cause.outcome === 'failed')
      throw new OperationRefused('conflict', ['document_unfetched', cause.message]);
    throw new InvalidInput(error.member, error.said);
  }
}

/** Members with URIs to which the server sends the browser. */
const RETURN_URIS = ['redirect_uris', 'post_logout_redirect_uris'] as const;

/**
 * Checks each URI to which the server would send the browser (ADR 213). What is stored already stays, unless the type of the
 * application changes.
 * @throws {InvalidInput} names each wrong URI by its place
 */
function requireReturnUris(members: Members, registered: ClientRecord | undefined): void {
  const before: Members = registered === undefined ? {} : documentOf(registered);
  const isOfSameType = members.application_type === before.application_type;
  for (const name of RETURN_URIS) {
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
  requireAllowed(change.members, configuration);
  return clientFrom(builder, identity, members, client);
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
 * Rejects a setting that the configuration does not allow.
 * @param members the client settings to set
 * @throws {InvalidInput} a setting is not allowed
 */
function requireAllowed(members: Members, configuration: Configuration): void {
  const refused = refusedSetting(members, configuration);
  if (refused !== undefined) throw new InvalidInput(refused.member, ['not_configured', refused.problem]);
}

/**
 * Finds a URL that the server would never fetch, or an authentication method whose option is missing.
 * @returns its member, and why
 */
export function refusedSetting(
  members: Members,
  { settings: { insecureDevelopment, trustedIssuers } }: Configuration,
): { readonly member: string; readonly problem: string } | undefined {
  const { token_endpoint_auth_method: method } = members;
  if (method === 'trusted_issuer_jwt' && trustedIssuers === undefined) {
    const ways = `set ${variableOf('trustedIssuers')} for commands, and this or ${flagOf('trustedIssuers')} for the server`;
    return { member: 'token_endpoint_auth_method', problem: `${method} needs a file of issuers: ${ways}` };
  }
  for (const [name, value] of Object.entries(members)) {
    if (!isFetched(name)) continue;
    const [member] = withoutTag(name);
    for (const url of [value].flat()) {
      if (!URL.canParse(String(url))) continue; // the library reports it
      const refusal = documentRefusal(String(url), { allowPrivateAddresses: insecureDevelopment });
      if (refusal === undefined) continue;
      const way = insecureDevelopment
        ? ''
        : `; if the server runs with ${flagOf('insecureDevelopment')}, add that flag here too`;
      return { member, problem: `the server never fetches ${url}: ${refusal}${way}` };
    }
  }
  return undefined;
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
