// Personal access tokens, which users make for their scripts: opaque tokens of one client, each with a grant of its own
// (ADR 194).
import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import {
  type AdministrableStorage,
  type ApiRecord,
  type Confirmation,
  hasResource,
  isSameResource,
  type NewToken,
  newOpaque,
  newTimedIdentifier,
  PERSONAL,
  storedLife,
} from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import { importJWK } from 'jose/key/import';
import type { TokenBinding, TokenPolicy } from '../config/personal_token_options.ts';
import { ConditionBroken, isOfGeneration, under } from '../data/conditions.ts';
import { factorBinding } from '../data/factors.ts';
import type { Person } from '../data/people.ts';
import type { PersonalToken, PersonalTokens } from '../data/personal_tokens.ts';
import { type ProgramSecret, seal, unseal } from '../data/secrets.ts';
import { askStorage } from '../data/tables.ts';
import { adminAudience, isAdminScope } from '../instance/admin_access.ts';
import { isOfPersonalTokens, PERSONAL_TOKENS_CLIENT } from '../instance/personal_tokens_client.ts';
import type { MailQueue } from './mailing.ts';

/** An API for which a user may make a token, with the scopes that it can have. */
export interface OfferedApi {
  readonly resource: string;
  /** The client that is the API. */
  readonly clientId: string;
  readonly scopes: readonly string[];
}

export interface WantedToken {
  /** As typed. */
  readonly name: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Seconds. */
  readonly lifetime: number;
  /** The key or certificate, as typed. */
  readonly binding: string;
  /** Of the email about it. */
  readonly language: string;
}

export const TOKEN_REFUSALS = [
  'name_missing',
  'api_not_allowed',
  'scope_not_allowed',
  'scope_missing',
  'lifetime_wrong',
  'binding_wrong',
  'too_many_tokens',
  'not_allowed',
] as const;

export type TokenRefusal = (typeof TOKEN_REFUSALS)[number];

type Store = Pick<AdministrableStorage, 'clients' | 'tokens' | 'revokeAll'>;

interface Parts {
  readonly issuer: string;
  readonly policy: TokenPolicy;
  readonly storage: Store;
  readonly personalTokens: PersonalTokens;
  readonly secret: ProgramSecret;
  readonly clock: () => number;
  /** `undefined` if the server sends no emails. */
  readonly queue: Pick<MailQueue, 'mails' | 'notice' | 'wake'> | undefined;
}

/** What users do with their tokens. The callers have checked who they are. */
export class OwnTokens {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get policy(): TokenPolicy {
    return this.#parts.policy;
  }

  /** Whether the policy lets a user make tokens. */
  admits({ groups = [] }: Pick<Person, 'groups'>): boolean {
    const { groups: allowed } = this.policy;
    return allowed === undefined || groups.some((group) => allowed.includes(group));
  }

  /** The APIs of the policy that are registered and enabled, with the scopes of the policy that they declare. */
  offered(): Promise<readonly OfferedApi[]> {
    return offeredBy(this.#parts.policy, this.#parts);
  }

  /** @returns the identifier of the token, or why there is none */
  async make(
    person: Pick<Person, 'subject' | 'name' | 'groups' | 'claims'>,
    wanted: WantedToken,
  ): Promise<{ readonly id: string } | { readonly refused: TokenRefusal }> {
    const { issuer, policy, storage, personalTokens, queue } = this.#parts;
    const { subject } = person;
    if (!this.admits(person)) return { refused: 'not_allowed' };
    const name = nameOfToken(wanted.name);
    if (name === '') return { refused: 'name_missing' };
    const api = (await this.offered()).find(({ resource }) => resource === wanted.resource);
    if (api === undefined) return { refused: 'api_not_allowed' };
    const scopes = api.scopes.filter((scope) => wanted.scopes.includes(scope));
    if (wanted.scopes.some((scope) => !api.scopes.includes(scope))) return { refused: 'scope_not_allowed' };
    if (scopes.length === 0 && api.scopes.length > 0) return { refused: 'scope_missing' };
    const { lifetime } = wanted;
    if (!Number.isSafeInteger(lifetime) || lifetime < 1 || lifetime > policy.lifetime)
      return { refused: 'lifetime_wrong' };
    const binding = await readBinding(policy.binding, wanted.binding);
    if (binding === undefined && policy.binding !== 'none') return { refused: 'binding_wrong' };

    const client = await askStorage(() => storage.clients.get(PERSONAL_TOKENS_CLIENT));
    if (!client || !isOfPersonalTokens(client) || client.disabledAtMs !== undefined)
      return { refused: 'not_allowed' };
    // Those that have ended otherwise do not count.
    await this.#forgetEnded(subject);
    const key = binding === undefined ? undefined : confirmationOf(policy.binding, binding);
    const { id, value, record } = this.#mint({
      ...{ clientId: client.id, person, scopes, resource: api.resource, lifetime, confirmation: key },
    });
    const token = {
      ...{ id, tokenId: record.id, subject, name, resource: api.resource, scopes, binding },
      ...{ createdAtMs: record.issuedAtMs, expiresAtMs: record.expiresAt * 1000 },
    };
    const sealed = seal(await this.#parts.secret.key('personal_token'), value, this.#boundTo(subject, id));
    const { language } = wanted;
    const notice = await queue?.notice(person, { template: 'token_made', language, parameters: { name } });
    const condition = personalTokens.storing(issuer, token, sealed, policy, notice);
    const basis = { clientGeneration: client.generation ?? 0 };
    const issue = () => askStorage(() => storage.tokens.issue([record], basis));
    try {
      // What the store would refuse is refused before the row and the email are written.
      const issued = await under(isOfGeneration(issuer, client), () => under(condition, issue));
      if (issued === 'issued') {
        queue?.wake();
        return { id };
      }
      // The user has been disabled between two statements of the transaction, or all earlier tokens were revoked.
      await personalTokens.forget([id]);
      if (notice !== undefined) await queue?.mails.remove(notice.id);
      return { refused: 'not_allowed' };
    } catch (error) {
      if (!(error instanceof ConditionBroken)) throw error;
      const { length } = await personalTokens.ofSubject(subject, record.issuedAtMs);
      return { refused: length >= policy.limit ? 'too_many_tokens' : 'not_allowed' };
    }
  }

  /** An opaque access token with a grant of its own. It has no application claims, which would be as old as the token. */
  #mint({ clientId, person, scopes, resource, lifetime, confirmation }: TokenContent) {
    const { issuer: iss, clock } = this.#parts;
    const { subject, name: username } = person;
    const value = newOpaque('personal_token', randomBytes);
    const digest = createHash('sha256').update(value).digest('base64url');
    const issuedAtMs = clock();
    const iat = Math.floor(issuedAtMs / 1000);
    const exp = iat + lifetime;
    const newId = () => newTimedIdentifier({ clock, random: randomBytes });
    const id = newId();
    const record: NewToken = {
      ...{ id: digest, digest, kind: 'access_token', clientId, subject, scopes, grantId: id },
      ...{ resources: [resource], issuedAtMs, expiresAt: exp, keepUntil: exp },
      tokenType: confirmation?.jkt === undefined ? 'Bearer' : 'DPoP',
      ...(confirmation !== undefined && { confirmation }),
      claims: {
        ...{ iss, sub: subject, client_id: clientId, aud: resource, username, iat, exp, jti: newId() },
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
        ...(confirmation !== undefined && { cnf: confirmation }),
        [PERSONAL]: true,
      },
    };
    return { id, value, record };
  }

  /** The values of tokens that the user has not copied yet, by their identifiers. */
  async unsaved(subject: string): Promise<ReadonlyMap<string, string>> {
    const { personalTokens, secret } = this.#parts;
    const sealed = await personalTokens.unsavedOf(subject);
    const keys = sealed.length === 0 ? [] : await secret.keys('personal_token');
    return new Map(
      sealed.flatMap(({ id, sealed: item }) => {
        const boundTo = this.#boundTo(subject, id);
        const value = keys.map((key) => unseal(key, item, boundTo)).find((text) => text !== undefined);
        return value === undefined ? [] : [[id, value] as const];
      }),
    );
  }

  saved(subject: string, id: string): Promise<void> {
    return this.#parts.personalTokens.saved(subject, id);
  }

  of(subject: string): Promise<readonly PersonalToken[]> {
    return tokensOf(this.#parts, subject);
  }

  /** @returns the token; `undefined` if the user has no such token */
  async end(subject: string, id: string): Promise<PersonalToken | undefined> {
    const token = (await this.of(subject)).find((item) => item.id === id);
    if (token !== undefined) await endTokens(this.#parts, [token]);
    return token;
  }

  async #forgetEnded(subject: string): Promise<void> {
    const { personalTokens, clock } = this.#parts;
    const known = await personalTokens.ofSubject(subject, clock());
    const live = await liveOf(this.#parts, known);
    await personalTokens.forget(known.flatMap(({ id }) => (live.has(id) ? [] : [id])));
  }

  #boundTo(subject: string, id: string): string {
    return factorBinding(this.#parts.issuer, `${subject} ${id}`);
  }
}

/** What a token is made of. */
interface TokenContent {
  readonly clientId: string;
  readonly person: Pick<Person, 'subject' | 'name'>;
  readonly scopes: readonly string[];
  readonly resource: string;
  readonly lifetime: number;
  readonly confirmation: Confirmation | undefined;
}

interface Reading {
  readonly storage: Pick<AdministrableStorage, 'tokens'>;
  readonly personalTokens: Pick<PersonalTokens, 'ofSubject' | 'forget'>;
  readonly clock: () => number;
}

/** The live tokens of a user, the oldest first. */
export async function tokensOf(parts: Reading, subject: string): Promise<readonly PersonalToken[]> {
  const known = await parts.personalTokens.ofSubject(subject, parts.clock());
  const live = await liveOf(parts, known);
  return known.filter(({ id }) => live.has(id));
}

/** The identifiers of those that are live. Call it with what was read before: a token is stored together with its row. */
export async function liveOf(
  { storage, clock }: Pick<Reading, 'storage' | 'clock'>,
  known: readonly Pick<PersonalToken, 'id' | 'tokenId'>[],
): Promise<ReadonlySet<string>> {
  const nowMs = clock();
  const live = known.map(async ({ id, tokenId }) => {
    const record = await askStorage(() => storage.tokens.getByAccessToken(tokenId));
    return record && storedLife(record, nowMs).alive ? [id] : [];
  });
  return new Set((await Promise.all(live)).flat());
}

/**
 * Ends tokens, and forgets their names.
 * @param reason of the events. Default: none
 */
export async function endTokens(
  {
    storage,
    personalTokens,
  }: { readonly storage: Pick<Store, 'revokeAll'> } & Pick<Reading, 'personalTokens'>,
  tokens: readonly Pick<PersonalToken, 'id' | 'subject'>[],
  reason?: string,
): Promise<void> {
  for (const { id, subject } of tokens)
    await askStorage(() => storage.revokeAll({ principal: 'grant', id, subject, reason }));
  await personalTokens.forget(tokens.map(({ id }) => id));
}

/** What a policy offers, by what is registered now. */
export async function offeredBy(
  { apis, scopes }: TokenPolicy,
  { storage, issuer }: { readonly storage: Pick<Store, 'clients'>; readonly issuer: string },
): Promise<readonly OfferedApi[]> {
  const admin = adminAudience(issuer);
  const named = { resources: apis.filter((api) => !isSameResource(api, admin)), scopes: scopes ?? [] };
  const found: readonly ApiRecord[] = (await askStorage(async () => storage.clients.findApis?.(named))) ?? [];
  const declaredBy = (resource: string) =>
    found.filter((api) => isSameResource(api.resource, resource)).flatMap((api) => api.scopes);
  const owned = new Set(found.flatMap((api) => api.scopes));
  const allowed = found.filter((api) => hasResource(named.resources, api.resource));
  // One spelling of each API.
  const distinct = allowed.filter(
    ({ resource }, index) => allowed.findIndex((other) => isSameResource(other.resource, resource)) === index,
  );
  return distinct.map(({ resource, clientId }) => {
    const declared = [...new Set(declaredBy(resource))].filter((scope) => !isAdminScope(scope));
    // Scopes that no API declares are for those that declare none.
    const own = declared.length > 0 ? declared : (scopes ?? []).filter((scope) => !owned.has(scope));
    const offered = own.filter((scope) => scopes === undefined || scopes.includes(scope));
    return { resource, clientId, scopes: offered.sort() };
  });
}

const MAX_NAME = 64;

/** A name without invisible characters. Empty if nothing is left. */
export function nameOfToken(text: string): string {
  const name = text
    .slice(0, 4 * MAX_NAME)
    .normalize('NFC')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
  return name.trim().slice(0, MAX_NAME).trim();
}

function confirmationOf(binding: TokenBinding, thumbprint: string): Confirmation {
  return binding === 'dpop' ? { jkt: thumbprint } : { 'x5t#S256': thumbprint };
}

const THUMBPRINT = /^[\w-]{43}$/;

/** Reads the thumbprint of a key or certificate, or one of these. @returns `undefined` if the text is neither */
async function readBinding(binding: TokenBinding, typed: string): Promise<string | undefined> {
  const text = typed.trim();
  if (binding === 'none') return undefined;
  if (THUMBPRINT.test(text)) return text;
  return binding === 'dpop' ? thumbprintOfKey(text) : thumbprintOfCertificate(text);
}

/** A private key is refused, because it has just been shown to the server. */
async function thumbprintOfKey(text: string): Promise<string | undefined> {
  try {
    const jwk: unknown = JSON.parse(text);
    if (!isJsonObject(jwk) || 'd' in jwk || 'k' in jwk) return undefined;
    await importJWK(jwk, PROOF_ALGORITHMS[String(jwk.crv ?? jwk.kty)] ?? 'none');
    return await calculateJwkThumbprint(jwk);
  } catch {
    return undefined;
  }
}

/** By curve, or of RSA keys. */
const PROOF_ALGORITHMS: Readonly<Record<string, string>> = {
  'P-256': 'ES256',
  Ed25519: 'EdDSA',
  RSA: 'PS256',
};

/** A certificate as PEM, or its fingerprint as OpenSSL prints it. */
function thumbprintOfCertificate(text: string): string | undefined {
  const hex = text.replace(/^sha256 fingerprint=/i, '').replaceAll(':', '');
  if (/^[0-9a-f]{64}$/i.test(hex)) return Buffer.from(hex, 'hex').toString('base64url');
  // A field of one line takes the line breaks away.
  const [, body] = /^-+BEGIN CERTIFICATE-+([A-Za-z0-9+/=\s]+)-+END CERTIFICATE-+$/.exec(text) ?? [];
  if (body === undefined) return undefined;
  try {
    const { raw } = new X509Certificate(Buffer.from(body, 'base64'));
    return createHash('sha256').update(raw).digest('base64url');
  } catch {
    return undefined;
  }
}
