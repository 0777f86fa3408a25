// oidc-provider. Its access tokens are opaque, because it does not introspect others. A PLACE is `memory`, `sqlite:FILE`
// or the URL of PostgreSQL.
//
//     node oidc_provider.ts populate FOLDER ORDER      creates tokens, and a file of all stored records
//     node oidc_provider.ts fill FOLDER PLACE          writes the records of that file into a database
//     node oidc_provider.ts serve FOLDER PLACE PORT    serves them; those of that file if they are in memory
import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AdapterFactory, type Configuration, Provider } from 'oidc-provider';
import { BENCH_CLIENTS, CALLBACK, CODE_VERIFIER, ISSUER } from '../population/clients.ts';
import { storageAt } from './databases.ts';
import {
  type Records,
  RecordsInMemory,
  RecordsInPostgres,
  RecordsInSqlite,
  type StoredRecord,
} from './oidc_records.ts';
import { PEER_TOKEN_KINDS, type PeerOrder, readState, writeState } from './peer_order.ts';
import { LIFETIME_SECONDS, PERSON_CLAIMS, PERSON_SUBJECT } from './peer_person.ts';

const SIGNING_KEY = 'signing_key.json';

/** The adapter of one model. Sign-in and device codes, which need further lookups, are not used here. */
function adapterOver(records: Records): AdapterFactory {
  return (model) => ({
    upsert: (id, payload) => records.upsert(model, id, payload),
    find: (id) => records.find(model, id),
    consume: (id) => records.consume(model, id),
    destroy: (id) => records.destroy(model, id),
    revokeByGrantId: (grantId) => records.revokeByGrantId(model, grantId),
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
  });
}

function recordsAt(place: string): Records {
  return storageAt<Records>(place, {
    memory: () => new RecordsInMemory(),
    sqlite: (database) => new RecordsInSqlite(database),
    postgres: (pool) => new RecordsInPostgres(pool),
  });
}

function providerOf(folder: string, records: Records): Provider {
  const { api, machine_opaque, web } = BENCH_CLIENTS;
  const noBrowser = { redirect_uris: [], response_types: [] };
  const configuration: Configuration = {
    adapter: adapterOver(records),
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
  const records = new RecordsInMemory();
  const provider = providerOf(folder, records);
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
  writeState(folder, records.all());
}

const [command = '', folder = '', argument = '', port = ''] = process.argv.slice(2);
if (command === 'populate') await populate(folder, JSON.parse(argument));
else {
  const records = recordsAt(argument);
  if (command === 'fill' || argument === 'memory') await records.fill(readState(folder) as StoredRecord[]);
  if (command === 'serve') providerOf(folder, records).listen(Number(port), '127.0.0.1');
}
