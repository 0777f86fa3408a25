import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ApplicationClaims,
  AuthorizationServer,
  type ClaimsOccasion,
  ConfigurationError,
  PROTECTED_CLAIMS,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { decodeJwt } from 'jose';
import { ON_EVERY_STORE } from './harness/places.ts';
import { errorOf, INACTIVE, OPEN_JSON_HEADERS, OUTAGE } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { ISSUER, openWorld, SECRET, specification, type World } from './harness/world.ts';

/** The host's knowledge of users, which changes while tokens live. */
const GROUPS: Record<string, readonly string[]> = {};

function declared(
  claims: ApplicationClaims['claims'],
  valuesOf: ApplicationClaims['valuesOf'] = ({ subject = '' }) => ({ groups: GROUPS[subject] }),
): { readonly applicationClaims: ApplicationClaims } {
  return { applicationClaims: { claims, valuesOf } };
}

async function introspected(world: World, token: string): Promise<Record<string, unknown>> {
  const { status, body } = await world.introspect(token);
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

async function told(world: World, token: string): Promise<Record<string, unknown>> {
  const { status, body } = await world.userInfo(token);
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

const FAULT = errorOf(500, 'server_error', 'an unexpected error', OPEN_JSON_HEADERS);
const OPENED_OUTAGE = { ...OUTAGE, headers: { ...OUTAGE.headers, vary: 'Origin' } };

specification('Claims of the application', ON_EVERY_STORE, (spec) => {
  for (const accessTokenFormat of ['jwt', 'opaque'] as const) {
    spec(
      `a claim is fixed when a token is issued, and read again at refresh (${accessTokenFormat})`,
      async (world) => {
        GROUPS.alice = ['staff'];
        const { access_token, id_token, refresh_token } = await world.grant();
        GROUPS.alice = ['staff', 'admins'];
        assert.deepEqual((await introspected(world, access_token)).groups, ['staff']);
        assert.deepEqual((await told(world, access_token)).groups, ['staff']);
        assert.deepEqual(decodeJwt(id_token).groups, ['staff']);
        assert.equal((await introspected(world, refresh_token)).groups, undefined);
        const later = await world.rotated(refresh_token);
        assert.deepEqual((await introspected(world, later.access_token)).groups, ['staff', 'admins']);
        assert.deepEqual(decodeJwt(later.id_token).groups, ['staff', 'admins']);
        if (accessTokenFormat === 'jwt')
          assert.deepEqual(decodeJwt(later.access_token).groups, ['staff', 'admins']);
        assert.equal('groups' in (await introspected(world, await world.machineToken())), false);
      },
      {
        accessTokenFormat,
        ...declared({ groups: { in: ['access_token', 'id_token', 'userinfo', 'introspection'] } }),
      },
    );

    spec(
      `a claim appears only in its declared places (${accessTokenFormat})`,
      async (world) => {
        const { access_token, id_token } = await world.grant();
        const { a, b, c, d } = await introspected(world, access_token);
        assert.deepEqual([a, b, c, d], [undefined, undefined, undefined, 'of d']);
        const claims = await told(world, access_token);
        assert.deepEqual([claims.a, claims.b, claims.c, claims.d], [undefined, undefined, 'of c', undefined]);
        const { a: a2, b: b2, c: c2, d: d2 } = decodeJwt(id_token);
        assert.deepEqual([a2, b2, c2, d2], [undefined, 'of b', undefined, undefined]);
        const { claims: verified } = await world.server.accessTokens.verify(access_token);
        assert.deepEqual(
          [verified.a, verified.b, verified.c, verified.d],
          ['of a', undefined, undefined, undefined],
        );
        assert.deepEqual(
          Object.keys(verified).filter((name) => name.startsWith('_')),
          [],
        );
      },
      {
        accessTokenFormat,
        ...declared(
          {
            a: { in: ['access_token'] },
            b: { in: ['id_token'] },
            c: { in: ['userinfo'] },
            d: { in: ['introspection'] },
          },
          ({ names }) => Object.fromEntries(names.map((name) => [name, `of ${name}`])),
        ),
      },
    );

    spec(
      `a live claim is read at each introspection and UserInfo request (${accessTokenFormat})`,
      async (world) => {
        GROUPS.alice = ['staff'];
        const { access_token } = await world.grant();
        assert.equal('groups' in (await world.server.accessTokens.verify(access_token)).claims, false);
        for (const groups of [['staff'], ['staff', 'admins'], []]) {
          GROUPS.alice = groups;
          assert.deepEqual((await introspected(world, access_token)).groups, groups);
          assert.deepEqual((await told(world, access_token)).groups, groups);
        }
      },
      { accessTokenFormat, ...declared({ groups: { in: ['userinfo', 'introspection'], live: true } }) },
    );
  }

  spec(
    'a claim is only for the scopes, clients and APIs of its declaration',
    async (world) => {
      const names = async (token: string) =>
        Object.keys(await introspected(world, token)).filter((name) => name.startsWith('for_'));
      const web = await world.grant();
      assert.deepEqual(await names(web.access_token), ['for_write', 'for_web', 'for_api', 'for_write_live']);
      const narrowed = await world.rotated(web.refresh_token, { scope: 'openid read' });
      assert.deepEqual(await names(narrowed.access_token), ['for_web', 'for_api']);
      const spa = await world.grant('alice', 'spa');
      assert.deepEqual(await names(spa.access_token), ['for_api']);
    },
    {
      defaultAudience: ['https://api.example', ISSUER],
      ...declared(
        {
          for_write: { in: ['access_token', 'introspection'], scopes: ['write', 'other'] },
          for_web: { in: ['introspection'], clients: ['web'] },
          for_api: { in: ['introspection'], apis: ['https://api.example'] },
          for_other: { in: ['introspection'], apis: ['https://other.example'] },
          for_write_live: { in: ['introspection'], scopes: ['write'], live: true },
        },
        ({ names }) => Object.fromEntries(names.map((name) => [name, true])),
      ),
    },
  );

  spec(
    'an inactive token is {"active":false} to the byte, and its claims are not even read',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      await world.revoke(access_token);
      for (const token of [access_token, refresh_token, 'nonsense'])
        assert.deepEqual(await world.introspect(token), INACTIVE);
      assert.equal((await world.userInfo(access_token)).status, 401);
    },
    declared({ groups: { in: ['introspection', 'userinfo'], live: true } }, () =>
      Promise.reject(new Error('nobody should ask')),
    ),
  );

  spec(
    'an unavailable live source is 503, never a response without the claim',
    async (world) => {
      const { access_token } = await world.grant();
      assert.deepEqual(await world.introspect(access_token), OUTAGE);
      assert.equal((await world.userInfo(access_token)).status, 503);
      await assert.rejects(world.server.introspectToken(access_token), { name: 'StorageFault' });
    },
    declared({ groups: { in: ['introspection', 'userinfo'], live: true } }, () => {
      throw new Error('down');
    }),
  );

  spec(
    'while fixed claims cannot be read, no token is issued, and the code stays redeemable',
    async (world) => {
      down = true;
      const code = await world.code();
      assert.deepEqual(await world.redeem(code), OPENED_OUTAGE);
      down = false;
      assert.equal((await world.redeem(code)).status, 200);
    },
    declared({ groups: { in: ['access_token'] } }, () =>
      down ? Promise.reject(new Error('down')) : { groups: [] },
    ),
  );
});

let down = false;

/** Characters of `{"groups":""}`. */
const EMPTY_GROUPS = 13;
const NOT_JSON = 'its value is not JSON';

const PROTECTED: readonly (readonly [string, unknown, string])[] = [
  ['sub', { sub: 'root', groups: [] }, 'the name is protected'],
  ['scope', { scope: 'admin' }, 'the name is protected'],
  ['roles', { roles: ['not declared'] }, 'the claim is not declared'],
  ['groups', { groups: new Date(0) }, NOT_JSON],
  ['groups', { groups: [1, undefined] }, NOT_JSON],
  ['groups', { groups: { deep: Number.NaN } }, NOT_JSON],
  ['groups', { groups: 'a\0b' }, NOT_JSON],
  ['groups', { groups: 'x'.repeat(4097 - EMPTY_GROUPS) }, 'the values are longer than 4096 characters'],
  ['groups', ['groups'], 'valuesOf must return an object'],
];

for (const [name, answer, why] of PROTECTED) {
  test(`valuesOf that returns ${JSON.stringify(answer).slice(0, 40)} is a fault that names ${name}`, async (t) => {
    const valuesOf = () => JSON.parse('{}', () => answer);
    const world = await openWorld(t, declared({ groups: { in: ['access_token'] } }, valuesOf));
    const response = await world.redeem(await world.code());
    assert.deepEqual([response.status, response.body], [500, FAULT.body]);
    const event = world.events.at(-1);
    assert.ok(event?.type === 'refused' && event.cause instanceof TypeError);
    assert.deepEqual([event.reason, event.value], ['application_claim_unfit', name]);
    assert.equal(event.cause.message, `application claim ${name}: ${why}`);
  });
}

test('values of exactly 4096 characters are issued', async (t) => {
  const groups = 'x'.repeat(4096 - EMPTY_GROUPS);
  const world = await openWorld(
    t,
    declared({ groups: { in: ['access_token'] } }, () => ({ groups })),
  );
  assert.equal(decodeJwt((await world.grant()).access_token).groups, groups);
});

test('a claim that became live is not read from a token that was issued before', async (t) => {
  const groups = { in: ['introspection'] } as const;
  const world = await openWorld(
    t,
    declared({ groups }, () => ({ groups: ['staff'] })),
  );
  const { access_token } = await world.grant();
  assert.deepEqual((await introspected(world, access_token)).groups, ['staff']);
  const later = await secondServer(
    world,
    declared({ groups: { ...groups, live: true } }, () => ({})),
  );
  assert.equal('groups' in (await later.server.introspectToken(access_token)), false);
});

test('a claim that was declared after a token was issued is no member of its response', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const later = await secondServer(world, declared({ groups: { in: ['introspection'] } }));
  assert.equal('groups' in (await later.server.introspectToken(access_token)), false);
});

test('valuesOf is called once for all claims, with everything that decides about them', async (t) => {
  const asked: ClaimsOccasion[] = [];
  const world = await openWorld(
    t,
    declared(
      {
        groups: { in: ['access_token'] },
        tenant: { in: ['introspection'] },
        now: { in: ['introspection'], live: true },
      },
      (occasion) => {
        asked.push(occasion);
        return {};
      },
    ),
  );
  const { access_token } = await world.grant('alice', 'web', 'openid read');
  const { record } = await world.server.accessTokens.verify(access_token);
  await world.introspect(access_token);
  const occasion = {
    clientId: 'web',
    subject: 'alice',
    scopes: ['openid', 'read'],
    audience: [ISSUER],
    grantId: record.grantId,
    sessionId: 'session of alice',
  };
  assert.deepEqual(asked, [
    { names: ['groups', 'tenant'], at: 'issuance', ...occasion },
    { names: ['now'], at: 'introspection', ...occasion },
  ]);
});

test('the metadata name the claims that UserInfo and ID tokens can have', async (t) => {
  const world = await openWorld(
    t,
    declared({ groups: { in: ['userinfo'] }, tenant: { in: ['access_token'] } }),
  );
  const { claims_supported: supported } = world.server.serverMetadata;
  assert.ok(Array.isArray(supported));
  assert.deepEqual([supported.includes('groups'), supported.includes('tenant')], [true, false]);
});

const HERE = { in: ['access_token'] };
const AT = 'applicationClaims.claims.groups';

for (const [option, applicationClaims] of [
  ...[...PROTECTED_CLAIMS, 'with space', '', 'x'.repeat(129), '_application'].map(
    (name) => [`applicationClaims.claims.${name}`, { claims: { [name]: HERE } }] as const,
  ),
  ['applicationClaims.claims.email', { claims: { email: { in: ['userinfo'] } } }],
  ['applicationClaims', 'groups'],
  ['applicationClaims.claims', {}],
  ['applicationClaims.valueOf', { claims: {}, valueOf: () => ({}) }],
  ['applicationClaims.valuesOf', { claims: {}, valuesOf: {} }],
  [AT, { claims: { groups: true } }],
  ['applicationClaims.claims.constructor', { claims: { constructor: HERE } }],
  [`${AT}.scope`, { claims: { groups: { ...HERE, scope: ['a'] } } }],
  [`${AT}.in`, { claims: { groups: {} } }],
  [`${AT}.in`, { claims: { groups: { in: [] } } }],
  [`${AT}.in`, { claims: { groups: { in: ['jwt'] } } }],
  [`${AT}.scopes`, { claims: { groups: { ...HERE, scopes: 'read' } } }],
  [`${AT}.apis`, { claims: { groups: { ...HERE, apis: [''] } } }],
  [`${AT}.apis`, { claims: { groups: { ...HERE, apis: [] } } }],
  [`${AT}.live`, { claims: { groups: { in: ['introspection'], live: 'yes' } } }],
  [`${AT}.live`, { claims: { groups: { in: ['access_token', 'introspection'], live: true } } }],
] as const) {
  test(`a declaration that is wrong at ${option.slice(0, 60)} is refused at construction: ${JSON.stringify(applicationClaims).slice(0, 60)}`, () => {
    const options = {
      issuer: ISSUER,
      secret: SECRET,
      storage: memoryStorage(),
      oidc: { getUserClaims: () => undefined },
      applicationClaims:
        typeof applicationClaims === 'string'
          ? applicationClaims
          : { valuesOf: () => ({}), ...applicationClaims },
    };
    assert.throws(
      () => new AuthorizationServer(JSON.parse('{}', () => options)),
      (error) => error instanceof ConfigurationError && error.option === option,
    );
  });
}

test('claims of UserInfo need OpenID Connect', () => {
  const options = { issuer: ISSUER, secret: SECRET, storage: memoryStorage() };
  assert.throws(
    () => new AuthorizationServer({ ...options, ...declared({ groups: { in: ['userinfo'] } }) }),
    (error) => error instanceof ConfigurationError && error.option === `${AT}.in`,
  );
});
