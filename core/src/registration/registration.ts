// Endpoints where clients register themselves and manage their registration. § refers to RFC 7591.
import { hmacSha256, sha256 } from '#crypto';
import { hasSecret, newClientSecret, readsSecret, usableSecrets } from '../clients/authentication.ts';
import { type ClientContext, findNamedClient } from '../clients/client.ts';
import { bearerOfHeader } from '../http/bearer.ts';
import { invalidRequest, OAuthError, type RefusalReason, StorageFault } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { readJsonObject } from '../http/form.ts';
import { type HttpRequest, type HttpResponse, type JsonObject, jsonResponse, pathOf } from '../http/http.ts';
import { defined, equalInConstantTime, secondsOf } from '../platform/environment.ts';
import type { ClientDocument } from '../protocol/client_members.ts';
import type { ClientRecord, ClientSecretRecord } from '../protocol/records.ts';
import { endpointUrl } from '../protocol/redirect_uri.ts';
import type { Context, ResolvedRegistration } from '../request/context.ts';
import type { NewClient, RegistrationLimits } from '../storage/contract.ts';
import { newIdentifier, newOpaque } from '../tokens/opaque_token.ts';
import { refusedAdmission, requireAdmission, requireRegistration, useOf } from './admission.ts';
import { asRefusal, documentByClient } from './checked_document.ts';
import { ClientMetadataError, documentOf, recordOf, signingAlgorithmsOf } from './client_document.ts';

/** What registration needs from the server. */
export type RegistrationContext = ClientContext &
  Pick<Context, 'signingKeys' | 'registration' | 'requestObjectAlgorithms' | 'fetchDocument' | 'canFetch'>;

/** `POST /register` (RFC 7591 §3, OpenID Connect Dynamic Client Registration §3). */
export async function registration(
  context: RegistrationContext,
  request: HttpRequest,
  call: Call,
): Promise<HttpResponse> {
  // §3 may the sender register clients?
  const settings = requireRegistration(context);
  const admission = await requireAdmission(context, settings, request);

  // §3.1 read and check the metadata
  const document = await documentByClient(context, settings, readJsonObject(request));

  // §3.2.1 store the client and answer
  const secret = await secretFor(context, document);
  const registrationToken = newOpaque('registration_token', context.random);
  const client = recordOf(
    {
      id: newIdentifier(context.random),
      registeredAt: secondsOf(context.clock()),
      registrationTokenDigest: await sha256(registrationToken),
      ...(secret !== undefined && { secrets: secret.stored }),
    },
    document,
  );
  await context.signingKeys?.publish(signingAlgorithmsOf(client));
  const limits = await limitsFor(context, settings, request);
  const added: unknown = await settings.clients.add(client, limits, useOf(admission));
  if (added === 'already_used') throw refusedAdmission('initial_access_token_used');
  if (added === false) throw tooMany();
  if (added !== true)
    throw new StorageFault(new TypeError(`storage.clients.add: expected a boolean, found ${added}`));
  call.clientId = client.id;
  return clientInformation(context, client, { registrationToken, clientSecret: secret?.shown }, 201);
}

/**
 * The limits of a registration. Senders with an initial access token are known to the operator, so only the limit for
 * all applies to them. The store gets a keyed digest of the address.
 */
async function limitsFor(
  { secret, issuer }: RegistrationContext,
  { mostClients, mostClientsPerAddress: most, openTo }: ResolvedRegistration,
  { place }: HttpRequest,
): Promise<RegistrationLimits> {
  if (place === undefined || openTo !== 'anyone') return { mostRegistered: mostClients };
  const digest = await hmacSha256(await secret.key('registration_place'), `${issuer} ${place}`);
  return { mostRegistered: mostClients, from: { place: digest, most } };
}

/** Identifiers never collide: a limit is the only reason. */
function tooMany(): OAuthError {
  return new OAuthError('temporarily_unavailable', 'no more clients can register at the moment', {
    status: 429,
    reason: 'too_many_registered',
    headers: { 'retry-after': '3600' }, // unused registrations are removed only now and then
  });
}

/** A client and the registration access token that the request carries. */
interface Registered {
  readonly client: ClientRecord;
  readonly registrationToken: string;
}

/** `GET`, `PUT` and `DELETE /register/{client_id}` (RFC 7592 §2; ADR 41). */
export async function clientConfiguration(
  context: RegistrationContext,
  request: HttpRequest,
  call: Call,
): Promise<HttpResponse> {
  const registered = await requireRegistered(context, request);
  call.clientId = registered.client.id;
  switch (request.method) {
    case 'PUT':
      return replaceClient(context, request, registered);
    case 'DELETE':
      return removeClient(context, registered.client);
    default:
      return clientInformation(context, registered.client, registered); // RFC 7592 §2.1
  }
}

/**
 * Replaces the metadata (RFC 7592 §2.2). An operator's concurrent change is kept.
 * @throws {OAuthError} status 409: at every attempt
 */
async function replaceClient(
  context: RegistrationContext,
  request: HttpRequest,
  found: Registered,
): Promise<HttpResponse> {
  const written = readJsonObject(request);
  let registered = found;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const { replacement, clientSecret } = await replacementOf(context, registered.client, written);
    await context.signingKeys?.publish(signingAlgorithmsOf(replacement));
    if (await requireRegistration(context).clients.replace(replacement, registered.client)) {
      const { registrationToken } = registered;
      return clientInformation(context, replacement, { registrationToken, clientSecret });
    }
    registered = await requireRegistered(context, request);
  }
  throw invalidRequest(
    'the client was changed at the same time: send the request again',
    'client_changed_meanwhile',
    {
      status: 409,

      clientId: found.client.id,
    },
  );
}

const MAX_ATTEMPTS = 3;

async function replacementOf(context: RegistrationContext, client: ClientRecord, written: JsonObject) {
  const sent = await requireOwnDescription(context, client, written);
  const document = await documentByClient(context, requireRegistration(context), written, client);
  const { id, registeredAt, registrationTokenDigest } = client;
  const secret = await secretFor(context, document, client.secrets);
  const replacement = recordOf(
    {
      id,
      ...defined({ registeredAt, registrationTokenDigest, secrets: secret?.stored }),
    },
    document,
  );
  return { replacement, clientSecret: secret && (secret.shown ?? sent) };
}

/** Removes the client and its tokens (RFC 7592 §2.3). */
async function removeClient(context: RegistrationContext, { id }: ClientRecord): Promise<HttpResponse> {
  if (!(await requireRegistration(context).clients.remove(id))) throw refused('registration_token_wrong');
  return { status: 204, headers: { 'cache-control': 'no-store' }, body: '' };
}

/**
 * Returns the client of the path if the token is its registration access token. An unknown client and a wrong token get
 * the same response (RFC 7592 §2).
 * @throws {OAuthError} `invalid_token`
 */
async function requireRegistered(context: RegistrationContext, request: HttpRequest): Promise<Registered> {
  requireRegistration(context);
  const registrationToken = bearerOfHeader(request);
  if (registrationToken === undefined) throw refused('access_token_missing');
  const clientId = pathOf(request).split('/').at(-1) ?? '';
  const client = await findNamedClient(context, clientId);
  const digest = sha256(registrationToken);
  if (client?.registrationTokenDigest === undefined) throw refused('registration_token_wrong');
  if (!equalInConstantTime(await digest, client.registrationTokenDigest))
    throw refused('registration_token_wrong');
  if (client.disabledAtMs !== undefined) throw refused('client_disabled', client.id);
  return { client, registrationToken };
}

/**
 * Checks what a client sends back of its earlier responses (RFC 7592 §2.2). What the server sets is ignored:
 * well-known clients send the whole response.
 * @returns the client secret, if it was sent
 * @throws {OAuthError} `invalid_client_metadata`
 */
async function requireOwnDescription(
  context: ClientContext,
  { id, secrets }: ClientRecord,
  { client_id: clientId, client_secret: clientSecret }: JsonObject,
): Promise<ShownSecret | undefined> {
  if (clientId !== id) throw unfit('client_id', 'the identifier of this client');
  if (clientSecret === undefined || clientSecret === null) return undefined;
  const candidates = typeof clientSecret === 'string' ? [clientSecret] : [];
  const match = await context.clientSecrets.match(candidates, secrets);
  if (match === undefined) throw unfit('client_secret', 'a current secret of this client');
  return { text: match.candidate, expiresAt: match.secret.expiresAt };
}

function unfit(member: string, expected: string): OAuthError {
  return asRefusal(new ClientMetadataError(member, ['wrong', expected]));
}

function refused(reason: RefusalReason, clientId?: string): OAuthError {
  return new OAuthError('invalid_token', 'expected the registration access token of this client', {
    reason,
    clientId,
  });
}

/** Credentials of which storage has only digests. */
interface HeldCredentials {
  readonly registrationToken: string;
  /** Absent if the client has no secret, or if the server does not know it. */
  readonly clientSecret?: ShownSecret | undefined;
}

/** The client information response: all registered metadata and the credentials (§3.2.1, RFC 7592 §3). */
function clientInformation(
  { issuer, paths }: ClientContext,
  client: NewClient,
  { registrationToken, clientSecret }: HeldCredentials,
  status = 200,
): HttpResponse {
  const { id, registeredAt } = client;
  return jsonResponse(
    {
      client_id: id,
      ...(registeredAt !== undefined && { client_id_issued_at: registeredAt }),
      // §3.2.1: 0 if the secret does not expire
      ...(clientSecret !== undefined && {
        client_secret: clientSecret.text,
        client_secret_expires_at: clientSecret.expiresAt ?? 0,
      }),
      registration_access_token: registrationToken,
      registration_client_uri: endpointUrl(issuer, `${paths.registration}/${id}`),
      ...documentOf(client),
    },
    status,
  );
}

/** A secret in clear text, for the client's own response. */
interface ShownSecret {
  readonly text: string;
  /** Seconds; absent if it does not expire. */
  readonly expiresAt?: number | undefined;
}

/** Secrets as stored, and in clear text if the secret is new. */
interface IssuedSecret {
  readonly stored: readonly ClientSecretRecord[];
  readonly shown?: ShownSecret;
}

/**
 * Returns the client's present secrets, or a new one (§3.2.1).
 * @returns `undefined` if clients with this metadata have no secret
 */
async function secretFor(
  { clientSecrets, random }: ClientContext,
  document: ClientDocument,
  stored?: readonly ClientSecretRecord[],
): Promise<IssuedSecret | undefined> {
  if (!hasSecret(document)) return undefined;
  const usable = usableSecrets(document, stored);
  if (usable !== undefined) return { stored: usable };
  const text = newClientSecret(random, document);
  return { stored: [await clientSecrets.hash(text, readsSecret(document))], shown: { text } };
}
