// Kit cases: adding, replacing and removing clients.
import type { ApiRecord, ClientRecord } from '../../protocol/records.ts';
import type { ApiNames, NewClient } from '../contract.ts';
import {
  type Attempt,
  administrationOf,
  basisOf,
  expect,
  expectEqual,
  expectRejection,
  type KitCase,
  kitCase,
  PARALLEL,
  RACERS,
  race,
  type Stage,
} from './stage.ts';

const OLD: Omit<NewClient, 'id'> = {
  name: 'Before',
  secrets: [{ hash: 'old' }],
  grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
  scopes: ['openid'],
  redirectUris: ['https://old.example/cb', 'https://both.example/cb'],
  resource: 'https://api.example',
  rotateRefreshTokens: false,
  accessTokenFormat: 'opaque',
  accessTokenAlgorithm: 'ES256',
  idTokenAlgorithm: 'ES256',
  metadata: { contacts: ['old@example.com'], client_uri: 'https://old.example' },
  registrationTokenDigest: 'old',
  registeredAt: 1,
};

const NEW: Omit<NewClient, 'id'> = {
  grantTypes: ['authorization_code', 'refresh_token'],
  scopes: ['email'],
  redirectUris: ['https://new.example/cb', 'https://new.example/other', 'https://both.example/other'],
  metadata: { token_endpoint_auth_method: 'none' },
  registrationTokenDigest: 'new',
};

const SECRETS: NonNullable<NewClient['secrets']> = [
  { hash: 'rotated', serverSecret: 'print', createdAtMs: 1, lastUsedAtMs: 2 },
  { hash: 'old', expiresAt: 3 },
];

async function found(stage: Stage, id: string): Promise<ClientRecord> {
  const record = await stage.storage.clients.get(id);
  expect(record !== undefined && record !== null, 'the client is found');
  return record;
}

async function knownOrigins(stage: Stage): Promise<string[]> {
  const known = [];
  for (const name of ['old', 'both', 'new'])
    if (await stage.storage.clients.hasRedirectOrigin(`https://${name}.example`)) known.push(name);
  return known;
}

async function apisNamed({ storage }: Stage, named: Partial<ApiNames>): Promise<ApiRecord[]> {
  const apis = (await storage.clients.findApis?.({ resources: [], scopes: [], ...named })) ?? [];
  return apis.toSorted((one, other) => (one.resource < other.resource ? -1 : 1));
}

async function resourcesOf(stage: Stage): Promise<string[]> {
  const apis = await apisNamed(stage, { resources: ['https://api.example'] });
  return apis.map(({ resource }) => resource);
}

/** A client of a grant with tokens, and with a code that was not redeemed yet. */
async function inUse(stage: Stage) {
  const client = await stage.client(OLD);
  const grant = await stage.grant({ clientId: client.id });
  return { client, grant, ...(await stage.redeemed(grant)), code: await stage.code(grant) };
}

async function expectAllDead(stage: Stage, of: Awaited<ReturnType<typeof inUse>>): Promise<void> {
  const { authorizationCodes, tokens } = stage.storage;
  const next = stage.pair(of.grant);
  await stage.expectDead(of.refresh, of.access);
  expectEqual(await authorizationCodes.redeem(of.code, [next.refresh]), 'refused', 'redeeming');
  expectEqual(await tokens.rotate(of.refresh, next.refresh, [next.refresh]), 'refused', 'rotating');
  expectEqual(await tokens.issueFrom(of.refresh, [next.access]), 'refused', 'issuing from it');
  expectEqual(await tokens.issue([next.access], basisOf(of.client)), 'refused', 'issuing upon the client');
  const code = { ...of.code, id: `${of.code.id}-2` };
  expectEqual(await authorizationCodes.issue(code, basisOf(of.client)), 'refused', 'issuing a code');
  await stage.expectAbsent(next.refresh, next.access);
  expectEqual(await stage.administration.grantsOf(of.grant.subject), [], 'grants');
  const target = { principal: 'subject', id: of.grant.subject } as const;
  expectEqual((await stage.administration.countAlive(target)).count, 0, 'alive');
}

/** Members that make a client unfit; JavaScript and configuration files can give them. */
const UNFIT: readonly object[] = [
  { secret: [{ hash: 'a misspelt name would make a public client' }] },
  { secretHash: 'of an earlier version' },
  { secrets: 'a hash alone' },
  { secrets: [] },
  { secrets: [{ hash: '' }] },
  { redirect_uris: [] },
  { id: '' },
  { scopes: 'openid' },
  { scopes: ['a b'] },
  { grantTypes: ['implicit'] },
  { grantTypes: undefined },
  { redirectUris: 'https://new.example/cb' },
  { redirectUris: ['https://*.example/cb'] },
  { redirectUris: ['https://new.example/*'] },
  { redirectUris: ['http://new.example/cb'] },
  { redirectUris: ['/cb'] },
  { resource: 'api' },
  { rotateRefreshTokens: 'no' },
  { accessTokenFormat: 'saml' },
  { idTokenAlgorithm: 'HS256' },
  { metadata: 'none' },
  { metadata: { require_pushed_authorization_request: true } },
  { metadata: { client_name: 'a member of the record itself' } },
  { metadata: { 'contacts#de': ['a@example.com'] } },
  { metadata: { 'client_name#': 'without a language' } },
  { metadata: { 'client_name#de_AT': 'with what is no language' } },
  { metadata: { 'client_name#de': 7 } },
  { metadata: { apis: 'https://api.example' } },
  { metadata: { apis: ['api'] } },
  { metadata: { subject_type: 'pairwis' } },
  { metadata: { token_endpoint_auth_method: 'private_key' } },
  { metadata: { id_token_user_claims: 'false' } },
  { metadata: { jwks: 'https://new.example/jwks' } },
];

export const clientRegistry: readonly KitCase[] = [
  kitCase(
    'administration',
    'a client with an unknown member or a wrong value is refused, and nothing changes',
    async (stage) => {
      const client = await stage.client(OLD);
      const { clients } = stage.administration;
      for (const members of UNFIT) {
        const unfit = { ...NEW, id: client.id, ...members };
        const what = JSON.stringify(members);
        await expectRejection(
          async () => clients.add({ ...unfit, id: unfit.id && 'another' }),
          `adding ${what}`,
        );
        await expectRejection(
          async () => clients.replace(unfit, await found(stage, client.id)),
          `replacing by ${what}`,
        );
      }
      expectEqual((await clients.list()).length, 1, 'clients');
      expectEqual((await found(stage, client.id)).scopes, OLD.scopes, 'scopes');
      const insecure = {
        redirectUris: ['http://new.example/cb'],
        metadata: { insecure_redirect_uris: true },
      };
      expectEqual(await clients.add({ ...NEW, ...insecure, id: 'insecure' }), true, 'adding for development');
    },
  ),
  kitCase(
    'administration',
    'replacing a client replaces all of it, and its tokens live on',
    async (stage) => {
      const { clients } = stage.administration;
      const { client, grant, refresh, access, code } = await inUse(stage);
      const { id } = client;
      expectEqual(await clients.replace({ ...NEW, id }, client), true, 'replacing');

      const replaced = await found(stage, id);
      const { generation, revision: _, registrationRevision, ...record } = replaced;
      expectEqual(Object.entries(record).toSorted(), Object.entries({ ...NEW, id }).toSorted(), 'the client');
      expectEqual(generation, client.generation, 'its generation');
      expectEqual(
        registrationRevision,
        (client.registrationRevision ?? 0) + 1,
        'revision of its registration',
      );
      expectEqual(await knownOrigins(stage), ['both', 'new'], 'redirect origins');
      expectEqual(await resourcesOf(stage), [], 'its previous resource');
      await stage.expectAlive(refresh, access);
      const next = stage.pair(grant);
      const redeemed = await stage.storage.authorizationCodes.redeem(code, [next.refresh, next.access]);
      expectEqual(redeemed, 'issued', 'redeeming a code from before');

      expectEqual(
        await clients.replaceSecrets(id, SECRETS, replaced),
        false,
        'secrets of what is public now',
      );
      expectEqual(await clients.replace({ ...OLD, id }, replaced), true, 'replacing it with what it was');
      expectEqual((await found(stage, id)).secrets, OLD.secrets, 'its secrets');
      expectEqual(await knownOrigins(stage), ['old', 'both'], 'redirect origins of before');
      expectEqual(await resourcesOf(stage), ['https://api.example'], 'its resource');
      expectEqual(await stage.administration.eventsAfter(0, 10), [], 'events');
    },
  ),

  kitCase('administration', 'a client that is replaced while it is disabled stays so', async (stage) => {
    const store = stage.administration;
    const { client, refresh } = await inUse(stage);
    await store.setDisabled('client', client.id, true);
    const before = await found(stage, client.id);
    stage.advance(1);
    expectEqual(await store.clients.replace({ ...NEW, id: client.id }, before), true, 'replacing');
    const { disabledAtMs, generation } = await found(stage, client.id);
    expectEqual([disabledAtMs, generation], [before.disabledAtMs, before.generation], 'its state');
    expectEqual(await knownOrigins(stage), [], 'redirect origins');
    const state = await store.getPrincipalState('client', client.id);
    expectEqual(state?.raisedAtMs, before.disabledAtMs, 'when its tokens ended');
    await store.setDisabled('client', client.id, false);
    expectEqual(await knownOrigins(stage), ['both', 'new'], 'redirect origins once it is enabled');
    await stage.expectDead(refresh);
  }),

  kitCase('administration', 'a client is replaced only as it was read', async (stage) => {
    const { clients, revokeAll, setDisabled } = stage.administration;
    const { id } = await stage.client(OLD);
    const changes: Readonly<Record<string, (read: ClientRecord) => unknown>> = {
      'its replacement': (read) => clients.replace({ ...OLD, id }, read),
      'another secret': (read) => clients.replaceSecrets(id, SECRETS, read),
      'the end of its tokens': () => revokeAll({ principal: 'client', id }),
      'its disabling': () => setDisabled('client', id, true),
      'its removal and addition': async () => (await clients.remove(id)) && clients.add({ ...OLD, id }),
    };
    for (const [what, change] of Object.entries(changes)) {
      const read = await found(stage, id);
      stage.advance(1);
      await change(read);
      const changed = await found(stage, id);
      expectEqual(await clients.replace({ ...NEW, id }, read), false, `replacing it after ${what}`);
      const after = await found(stage, id);
      expectEqual(JSON.stringify(after), JSON.stringify(changed), `the client after ${what}`);
      expectEqual(
        await knownOrigins(stage),
        changed.disabledAtMs ? [] : ['old', 'both'],
        `origins after ${what}`,
      );
    }
  }),

  kitCase('administration', 'of several that replace a client as they read it one does', async (stage) => {
    const { id } = await stage.client(OLD);
    const read = await found(stage, id);
    const attempts = Array.from(
      { length: PARALLEL },
      (_, index): Attempt<boolean> =>
        (storage) =>
          administrationOf(storage).clients.replace({ ...NEW, id, name: `${index}` }, read),
    );
    const outcomes = await stage.parallel(attempts);
    expectEqual(outcomes.filter((isDone) => isDone).length, 1, 'replacements');
    expectEqual((await found(stage, id)).name, `${outcomes.indexOf(true)}`, 'who it was');
    expectEqual(await knownOrigins(stage), ['both', 'new'], 'redirect origins');
  }),

  kitCase(
    'administration',
    'a secret that is replaced beside its client is not brought back',
    async (stage) => {
      const { id } = await stage.client(OLD);
      const read = await found(stage, id);
      const replacements = Array.from(
        { length: RACERS },
        (_, index): Attempt<unknown> =>
          (storage) =>
            administrationOf(storage).clients.replace({ ...OLD, id, name: `${index}` }, read),
      );
      await race(stage, replacements, async (storage) => {
        const { clients } = administrationOf(storage);
        while (!(await clients.replaceSecrets(id, SECRETS, (await clients.get(id)) ?? {})));
      });
      expectEqual((await found(stage, id)).secrets, SECRETS, 'its secrets');
    },
  ),

  kitCase('administration', 'of several that replace the secrets of a client one does', async (stage) => {
    const read = await stage.client(OLD);
    const attempts = Array.from(
      { length: PARALLEL },
      (_, index): Attempt<boolean> =>
        (storage) =>
          administrationOf(storage).clients.replaceSecrets(read.id, [{ hash: `${index}` }], read),
    );
    const outcomes = await stage.parallel(attempts);
    expectEqual(outcomes.filter((isDone) => isDone).length, 1, 'replacements');
    const { secrets, name } = await found(stage, read.id);
    expectEqual(secrets, [{ hash: `${outcomes.indexOf(true)}` }], 'whose they are');
    expectEqual(name, OLD.name, 'what was not replaced');
  }),

  kitCase(
    'administration',
    'the secrets of a client that was removed and added again are not replaced',
    async (stage) => {
      const { clients } = stage.administration;
      const read = await stage.client(OLD);
      await clients.remove(read.id);
      await clients.add({ ...OLD, id: read.id });
      expectEqual(await clients.replaceSecrets(read.id, SECRETS, read), false, 'replacing its secrets');
      expectEqual((await found(stage, read.id)).secrets, OLD.secrets, 'its secrets');
    },
  ),

  kitCase('administration', 'no more clients are let in than may register themselves', async (stage) => {
    const { clients } = stage.administration;
    await stage.client();
    const { id } = await stage.client(OLD);
    const ids = Array.from({ length: PARALLEL }, (_, index) => `${id}-${index}`);
    const add = (ofId: string, most?: number) =>
      clients.add({ ...OLD, id: ofId }, most === undefined ? undefined : { mostRegistered: most });
    const outcomes = await stage.parallel(
      ids.map(
        (ofId): Attempt<unknown> =>
          (storage) =>
            administrationOf(storage).clients.add({ ...OLD, id: ofId }, { mostRegistered: 8 }),
      ),
    );
    expectEqual(outcomes.filter((isAdded) => isAdded).length, 7, 'additions beside the one before');
    expectEqual((await clients.list()).length, 9, 'clients');
    expectEqual(await add(`${id}-more`, 9), true, 'where one more may');
    expectEqual(await add(`${id}-other`, 9), false, 'where no more may');
    expectEqual(await clients.remove(id), true, 'removing');
    expectEqual(await add(`${id}-other`, 9), true, 'in its place');
    expectEqual(await add(`${id}-operator`), true, 'where nobody counts');
  }),

  kitCase('administration', 'nobody can be replaced or removed who is not there', async (stage) => {
    const { clients } = stage.administration;
    const client = await stage.client(OLD);
    expectEqual(await clients.replace({ ...NEW, id: 'unknown' }, client), false, 'replacing');
    expectEqual(await clients.remove('unknown'), false, 'removing');
    expectEqual(
      (await clients.list()).map(({ id, name }) => [id, name]),
      [[client.id, client.name]],
      'clients',
    );
    expectEqual(await knownOrigins(stage), ['old', 'both'], 'redirect origins');
    expectEqual(await stage.administration.eventsAfter(0, 10), [], 'events');
  }),

  kitCase('administration', 'removing a client ends its tokens and codes, and no others', async (stage) => {
    const { clients, eventsAfter } = stage.administration;
    const removed = await inUse(stage);
    const other = await stage.redeemed(await stage.grant());
    const { id } = removed.client;
    expectEqual(await clients.remove(id), true, 'removing');

    expect((await clients.get(id)) == null, 'a removed client is not found');
    expect(!(await clients.list()).some((client) => client.id === id), 'a removed client is not listed');
    expectEqual(await knownOrigins(stage), [], 'redirect origins');
    expectEqual(await resourcesOf(stage), [], 'its resource');
    expect((await stage.administration.getPrincipalState('client', id)) == null, 'it has no state');
    await expectAllDead(stage, removed);
    await stage.expectAlive(other.refresh, other.access);

    expectEqual(await clients.remove(id), false, 'removing it again');
    expectEqual(await clients.replace({ ...NEW, id }, removed.client), false, 'replacing it');
    expectEqual(await clients.replaceSecrets(id, SECRETS, removed.client), false, 'replacing its secrets');
    const events = await eventsAfter(0, 10);
    expectEqual(
      events.map(({ type, target }) => [type, target]),
      [['client_revoked', id]],
      'events',
    );
  }),

  kitCase('administration', 'several clients are removed at once, and no others', async (stage) => {
    const { clients, eventsAfter } = stage.administration;
    const [first, second] = [await inUse(stage), await inUse(stage)];
    const other = await stage.redeemed(await stage.grant());
    const ids = [first.client.id, second.client.id];
    expectEqual(await clients.removeAll([...ids, 'unknown', first.client.id]), 2, 'removing');
    for (const id of ids) expect((await clients.get(id)) == null, 'a removed client is not found');
    await expectAllDead(stage, first);
    await expectAllDead(stage, second);
    await stage.expectAlive(other.refresh, other.access);
    expectEqual(await clients.removeAll(ids), 0, 'removing them again');
    expectEqual(await clients.removeAll([]), 0, 'removing none');
    const events = await eventsAfter(0, 10);
    expectEqual(
      events.map(({ type, target }) => [type, target]),
      ids.map((id) => ['client_revoked', id]),
      'events',
    );
  }),

  kitCase(
    'administration',
    'what a removed client had stays dead when its identifier is given again, however often',
    async (stage) => {
      const { clients, revokeAll, setDisabled } = stage.administration;
      const lives: Awaited<ReturnType<typeof inUse>>[] = [];
      const first = await inUse(stage);
      lives.push(first);
      const { id } = first.client;
      const raises = [0, 3, 0, 1];
      for (const times of raises) {
        for (let time = 0; time < times; time++) await revokeAll({ principal: 'client', id });
        if (times === 1) await setDisabled('client', id, true);
        expectEqual(await clients.remove(id), true, 'removing');
        expectEqual(await clients.add({ ...OLD, id }), true, 'adding it again');
        for (const life of lives) await expectAllDead(stage, life);
        const again = await found(stage, id);
        expectEqual(again.disabledAtMs, undefined, 'whether it is disabled');

        const grant = await stage.grant({ clientId: id });
        const pair = await stage.redeemed(grant);
        await stage.expectAlive(pair.refresh, pair.access);
        lives.push({ client: again, grant, ...pair, code: await stage.code(grant) });
      }
    },
  ),

  kitCase(
    'administration',
    'an issuance that races the removal of its client leaves nothing of before alive',
    async (stage) => {
      const { client, grant, refresh, access, code } = await inUse(stage);
      const waiting = await stage.redeemed(grant);
      const basis = basisOf(client);
      const pairs = Array.from({ length: RACERS }, () => stage.pair(grant));
      const issuances = pairs.map((pair, index): Attempt<unknown> => {
        const both = [pair.refresh, pair.access];
        if (index % 4 === 0) return ({ authorizationCodes }) => authorizationCodes.redeem(code, both);
        if (index % 4 === 1) return ({ tokens }) => tokens.issueFrom(waiting.refresh, [pair.access]);
        if (index % 4 === 2) return ({ tokens }) => tokens.issue([pair.access], basis);
        return ({ tokens }) => tokens.rotate(refresh, pair.refresh, both);
      });
      await race(stage, issuances, async (storage) => {
        const { clients } = administrationOf(storage);
        expectEqual(await clients.remove(client.id), true, 'removing');
        expectEqual(await clients.add({ ...OLD, id: client.id }), true, 'adding it again');
      });
      const issued = [waiting, ...pairs].flatMap((pair) => [pair.refresh, pair.access]);
      await stage.expectDead(refresh, access, ...issued);
      expectEqual(await stage.administration.grantsOf(grant.subject), [], 'grants');
    },
  ),

  kitCase('administration', 'a client can be removed and added by several at once', async (stage) => {
    const { clients } = stage.administration;
    const { client, refresh } = await inUse(stage);
    const { id } = client;
    const attempts = Array.from(
      { length: RACERS },
      (_, index): Attempt<unknown> =>
        (storage) => {
          const registry = administrationOf(storage).clients;
          return index % 2 === 0 ? registry.remove(id) : registry.add({ ...OLD, id });
        },
    );
    const outcomes = await stage.parallel(attempts);
    const count = (isRemoval: boolean) =>
      outcomes.filter((isDone, index) => isDone && (index % 2 === 0) === isRemoval).length;
    const isThere = (await clients.get(id)) != null;
    expectEqual(count(true) - count(false), isThere ? 0 : 1, 'removals more than additions');
    await stage.expectDead(refresh);
  }),

  kitCase('administration', 'an API is found by its resource while it is enabled', async (stage) => {
    const { setDisabled } = stage.administration;
    const resource = 'https://api.example/v1';
    const { id } = await stage.client({ resource });
    await stage.client();
    const api = { clientId: id, resource, scopes: [] };
    expectEqual(await apisNamed(stage, { resources: [resource] }), [api], 'a known one');
    for (const other of [
      'https://api.example',
      'https://api.example/v1/',
      'https://api.example/V1',
      '',
      '\0',
    ]) {
      expectEqual(await apisNamed(stage, { resources: [other] }), [], `"${other}"`);
    }
    for (const same of ['HTTPS://API.EXAMPLE/v1', 'https://api.example:443/v1'])
      expectEqual(await apisNamed(stage, { resources: [same] }), [api], `"${same}"`);
    await setDisabled('client', id, true);
    expectEqual(await apisNamed(stage, { resources: [resource] }), [], 'while disabled');
    await setDisabled('client', id, false);
    expectEqual(await apisNamed(stage, { resources: [resource] }), [api], 'while enabled');
  }),

  kitCase('administration', 'an API is found by every spelling of its resource', async (stage) => {
    const spellings = ['https://Api.example', 'https://api.example/', 'https://API.example:443'];
    for (const resource of spellings) {
      const { id } = await stage.client({ resource });
      const api = { clientId: id, resource, scopes: [] };
      for (const other of [...spellings, 'HTTPS://api.example:443/'])
        expectEqual(await apisNamed(stage, { resources: [other] }), [api], `${resource} by ${other}`);
      expectEqual(await apisNamed(stage, { resources: ['http://api.example'] }), [], 'another scheme');
      await stage.administration.clients.remove(id);
    }
  }),

  kitCase('administration', 'an API is found by each scope that it declares, and once', async (stage) => {
    const { clients, setDisabled } = stage.administration;
    const [bank, mail] = ['https://bank.example', 'https://mail.example'];
    const first = await stage.client({ resource: bank, metadata: { api_scopes: ['read', 'pay'] } });
    const second = await stage.client({ resource: mail, metadata: { api_scopes: ['read'] } });
    const bankApi = { clientId: first.id, resource: bank, scopes: ['read', 'pay'] };
    const mailApi = { clientId: second.id, resource: mail, scopes: ['read'] };
    expectEqual(await apisNamed(stage, {}), [], 'nothing is asked');
    expectEqual(await apisNamed(stage, { scopes: ['pay', 'other', '\0'] }), [bankApi], 'one scope');
    expectEqual(await apisNamed(stage, { scopes: ['read'] }), [bankApi, mailApi], 'a scope of two');
    const both = { resources: [bank, mail], scopes: ['pay', 'read'] };
    expectEqual(await apisNamed(stage, both), [bankApi, mailApi], 'each once');
    expectEqual(await apisNamed(stage, { scopes: ['READ', 'rea', ''] }), [], 'other scopes');

    await setDisabled('client', second.id, true);
    expectEqual(await apisNamed(stage, both), [bankApi], 'while the other is disabled');
    const { id } = first;
    const change = { ...first, metadata: { api_scopes: ['pay', 'close'] } };
    expectEqual(await clients.replace(change, first), true, 'replacing');
    const changed = { clientId: id, resource: bank, scopes: ['pay', 'close'] };
    expectEqual(await apisNamed(stage, { scopes: ['read'] }), [], 'a scope that is gone');
    expectEqual(await apisNamed(stage, { scopes: ['close', 'pay'] }), [changed], 'scopes of now');
    expectEqual(await clients.remove(id), true, 'removing');
    expectEqual(await apisNamed(stage, { resources: [bank], scopes: ['close'] }), [], 'once it is removed');
  }),
];
