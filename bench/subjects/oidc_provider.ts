// oidc-provider over an unlimited Map. Its access tokens are opaque, because it does not introspect others.
//
//     node oidc_provider.ts populate FOLDER ORDER   creates tokens, and a file of all stored records
//     node oidc_provider.ts serve FOLDER PORT       serves the records of that file
import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AdapterPayload, type Configuration, Provider } from 'oidc-provider';
import { BENCH_CLIENTS, CALLBACK, CODE_VERIFIER, ISSUER } from '../population/clients.ts';
import { PEER_TOKEN_KINDS, type PeerOrder, STATE_FILE } from './peer_order.ts';
import { LIFETIME_SECONDS, PERSON_CLAIMS, PERSON_SUBJECT } from './peer_person.ts';

const SIGNING_KEY = 'signing_key.json';
const stores = new Map<string, Map<string, AdapterPayload>>();

function storeOf(model: string): Map<string, AdapterPayload> {
  const store = stores.get(model) ?? new Map<string, AdapterPayload>();
  stores.set(model, store);
  return store;
}

class MapAdapter {
  readonly #store: Map<string, AdapterPayload>;
  readonly #grants = new Map<string, Set<string>>();

  constructor(model: string) {
    this.#store = storeOf(model);
    for (const [id, { grantId }] of this.#store) if (grantId !== undefined) this.#ofGrant(grantId).add(id);
  }

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    this.#store.set(id, payload);
    if (payload.grantId !== undefined) this.#ofGrant(payload.grantId).add(id);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#store.get(id);
  }

  async consume(id: string): Promise<void> {
    const payload = this.#store.get(id);
    if (payload) payload.consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id: string): Promise<void> {
    this.#store.delete(id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const id of this.#grants.get(grantId) ?? []) this.#store.delete(id);
    this.#grants.delete(grantId);
  }

  /** Sign-in and device codes are not used here. */
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}

  #ofGrant(grantId: string): Set<string> {
    const ids = this.#grants.get(grantId) ?? new Set<string>();
    this.#grants.set(grantId, ids);
    return ids;
  }
}

function providerOf(folder: string): Provider {
  const { api, machine_opaque, web } = BENCH_CLIENTS;
  const noBrowser = { redirect_uris: [], response_types: [] };
  const configuration: Configuration = {
    adapter: MapAdapter,
    clients: [
      { client_id: api.id, client_secret: api.secret, grant_types: [], ...noBrowser },
      {
        client_id: machine_opaque.id,
        client_secret: machine_opaque.secret,
        grant_types: ['client_credentials'],
        scope: 'read',
        ...noBrowser,
      },
      {
        client_id: web.id,
        client_secret: web.secret,
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [CALLBACK],
      },
    ],
    scopes: ['openid', 'offline_access', 'read'],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'] },
    features: {
      introspection: { enabled: true },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
    },
    findAccount: async (_context, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, ...PERSON_CLAIMS }),
    }),
    routes: { introspection: '/token/introspect', revocation: '/token/revoke', userinfo: '/userinfo' },
    rotateRefreshToken: true,
    ttl: {
      AccessToken: LIFETIME_SECONDS,
      AuthorizationCode: LIFETIME_SECONDS,
      ClientCredentials: LIFETIME_SECONDS,
      RefreshToken: LIFETIME_SECONDS,
      Grant: LIFETIME_SECONDS,
    },
    jwks: { keys: [JSON.parse(readFileSync(join(folder, SIGNING_KEY), 'utf8'))] },
    cookies: { keys: ['no browser comes here'] },
  };
  return new Provider(ISSUER, configuration);
}

async function populate(folder: string, order: PeerOrder): Promise<void> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' };
  writeFileSync(join(folder, SIGNING_KEY), JSON.stringify(jwk), { mode: 0o600 });
  const provider = providerOf(folder);
  const machine = await provider.Client.find(BENCH_CLIENTS.machine_opaque.id);
  const web = await provider.Client.find(BENCH_CLIENTS.web.id);
  if (machine === undefined || web === undefined) throw new Error('the clients are not registered');

  const ofMachine = () => new provider.ClientCredentials({ client: machine, scope: 'read' });
  const ofPerson = async (scope: string) => {
    const grant = new provider.Grant({ accountId: PERSON_SUBJECT, clientId: web.clientId });
    grant.addOIDCScope(scope);
    return {
      accountId: PERSON_SUBJECT,
      client: web,
      grantId: await grant.save(),
      gty: 'authorization_code',
      scope,
    };
  };
  const make = {
    machine: () => ofMachine().save(),
    person: async () => new provider.AccessToken(await ofPerson('openid profile email')).save(),
    refresh: async () => {
      const purpose = await ofPerson('openid profile email offline_access');
      return new provider.RefreshToken({
        ...purpose,
        rotations: 0,
        iiat: Math.floor(Date.now() / 1000),
      }).save();
    },
    code: async () =>
      new provider.AuthorizationCode({
        ...(await ofPerson('openid profile email offline_access')),
        redirectUri: CALLBACK,
        codeChallenge: createHash('sha256').update(CODE_VERIFIER).digest('base64url'),
        codeChallengeMethod: 'S256',
      }).save(),
    revoked: async () => {
      const token = ofMachine();
      const value = await token.save();
      await token.destroy();
      return value;
    },
  };
  for (const kind of PEER_TOKEN_KINDS) {
    const tokens: string[] = [];
    for (let made = 0; made < (order[kind] ?? 0); made += 1) tokens.push(await make[kind]());
    writeFileSync(join(folder, kind), `${tokens.join('\n')}\n`);
  }
  const lines = [...stores].flatMap(([model, store]) =>
    [...store].map(([id, payload]) => JSON.stringify([model, id, payload])),
  );
  writeFileSync(join(folder, STATE_FILE), `${lines.join('\n')}\n`);
}

function serve(folder: string, port: number): void {
  for (const line of readFileSync(join(folder, STATE_FILE), 'utf8').split('\n')) {
    if (line === '') continue;
    const [model, id, payload] = JSON.parse(line);
    storeOf(model).set(id, payload);
  }
  providerOf(folder).listen(port, '127.0.0.1');
}

const [command = '', folder = '', argument = ''] = process.argv.slice(2);
if (command === 'populate') await populate(folder, JSON.parse(argument));
else serve(folder, Number(argument));
