// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClaimsRequest, NewClient, OidcOptions } from '@grantd/core';
import { decodeJwt } from 'jose';
import { approvedCode, askForTokens, type Granting, grantTo, redeemed } from './harness/granting.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { addClient } from './harness/token_endpoint.ts';
import { CLIENTS, ISSUER, openWorld, specification, type World } from './harness/world.ts';

const APP: NewClient = {
  ...CLIENTS.web,
  id: 'app',
  scopes: ['openid', 'profile', 'email', 'offline_access'],
};

const ALICE = {
  name: 'Alice Liddell',
  'name#de': 'Alice Lidell',
  'name#ja-Kana-JP': 'アリス',
  nickname: null,
  locale: 'en-GB',
  email: 'alice@example.org',
  email_verified: true,
  phone_number: '+44 1865 000000',
  'phone_number#de': '+44 1865 000001',
  sub: 'somebody-else',
  password_hash: 'never to be seen',
};

const oidc: OidcOptions = { getUserClaims: () => ALICE };

/** Adds the claims parameter to the client's usual request. */
function asking(claims: ClaimsRequest, scope = 'openid profile email'): Granting {
  return { request: { claims: JSON.stringify(claims), scope } };
}

/** Claims of an ID token, except those that every ID token has. */
function aboutPerson(idToken: string) {
  const { iss, sub, aud, iat, exp, at_hash, auth_time, sid, ...rest } = decodeJwt(idToken);
  assert.deepEqual([iss, sub, aud, sid], [ISSUER, 'alice', 'app', 'session of alice']);
  assert.ok(iat && exp && at_hash && auth_time);
  return rest;
}

async function userInfo(world: World, accessToken: string) {
  return JSON.parse((await world.userInfo(accessToken)).body);
}

specification('The claims parameter (OpenID Connect Core §5.5)', ON_EVERY_STORE, (spec) => {
  spec(
    '§5.5 the ID token has the requested claims, voluntary or essential, and no others of the user',
    async (world) => {
      await addClient(world, APP);
      const claims = {
        id_token: { name: null, email: { essential: true }, nickname: null, birthdate: null },
      };
      const { id_token } = await grantTo(world, 'app', asking(claims));
      assert.deepEqual(aboutPerson(id_token), { name: ALICE.name, email: ALICE.email });
      const { id_token: plain } = await grantTo(world, 'app');
      assert.deepEqual(aboutPerson(plain), {}, 'scopes are for UserInfo alone');
    },
    { oidc },
  );

  spec(
    '§5.5 what the granted scopes do not permit is given nowhere, essential or not',
    async (world) => {
      await addClient(world, APP);
      const wanted = {
        phone_number: { essential: true },
        'phone_number#de': null,
        email: { essential: true },
        password_hash: null,
        name: null,
      };
      const granting = asking({ id_token: wanted, userinfo: wanted }, 'openid profile email');
      const approval = { scopes: ['openid', 'profile'] };
      const { id_token, access_token } = await grantTo(world, 'app', { ...granting, approval });
      assert.deepEqual(aboutPerson(id_token), { name: ALICE.name });
      assert.deepEqual(await userInfo(world, access_token), {
        name: ALICE.name,
        locale: ALICE.locale,
        sub: 'alice',
      });
    },
    { oidc },
  );

  spec(
    '§5.5 UserInfo has the claims that the scopes permit, requested one by one or not',
    async (world) => {
      await addClient(world, APP);
      const { access_token } = await grantTo(world, 'app', asking({ userinfo: { email: null } }));
      const everything = {
        name: ALICE.name,
        locale: ALICE.locale,
        email: ALICE.email,
        email_verified: true,
        sub: 'alice',
      };
      assert.deepEqual(await userInfo(world, access_token), everything);
      const withValue = asking({ userinfo: { email: { value: 'other@example.org' } } });
      assert.deepEqual(
        await userInfo(world, (await grantTo(world, 'app', withValue)).access_token),
        everything,
      );
    },
    { oidc },
  );

  spec(
    '§5.5.1 a claim with a required value is returned with that value or not at all',
    async (world) => {
      await addClient(world, APP);
      const claims = {
        id_token: {
          name: { value: 'Bob' },
          email: { value: ALICE.email, essential: true },
          locale: { values: ['de-AT', 'en-GB'] },
          email_verified: { values: [false] },
        },
      };
      const { id_token } = await grantTo(world, 'app', asking(claims));
      assert.deepEqual(aboutPerson(id_token), { email: ALICE.email, locale: 'en-GB' });
    },
    { oidc },
  );

  spec(
    '§5.2 a claim in a language is returned in it, or without one; its scope is that of the claim',
    async (world) => {
      await addClient(world, APP);
      const languages = {
        'name#de': null,
        'name#ja-Kana-JP': null,
        'locale#fr': null,
        'phone_number#de': null,
      };
      const granting = asking({ id_token: languages, userinfo: languages });
      const { id_token, access_token } = await grantTo(world, 'app', granting);
      const inLanguages = { 'name#de': ALICE['name#de'], 'name#ja-Kana-JP': ALICE['name#ja-Kana-JP'] };
      assert.deepEqual(aboutPerson(id_token), { ...inLanguages, locale: ALICE.locale });
      assert.deepEqual(await userInfo(world, access_token), {
        name: ALICE.name,
        locale: ALICE.locale,
        email: ALICE.email,
        email_verified: true,
        ...inLanguages,
        sub: 'alice',
      });
    },
    { oidc },
  );

  spec(
    '§12.2 the requested claims stay through refreshes, within the scopes of each',
    async (world) => {
      await addClient(world, APP);
      const granting = asking({ id_token: { name: null, email: null }, userinfo: { 'name#de': null } });
      let { refresh_token } = await grantTo(world, 'app', granting);
      for (const [scope, expected] of [
        ['openid profile email', { name: ALICE.name, email: ALICE.email }],
        ['openid email', { email: ALICE.email }],
        ['openid profile', { name: ALICE.name }],
      ] as const) {
        const response = await askForTokens(world, 'app', {
          grant_type: 'refresh_token',
          refresh_token,
          scope,
        });
        const tokens = JSON.parse(response.body);
        assert.deepEqual(aboutPerson(tokens.id_token), expected);
        assert.equal(
          (await userInfo(world, tokens.access_token))['name#de'],
          expected.name && 'Alice Lidell',
        );
        refresh_token = tokens.refresh_token;
      }
    },
    { oidc },
  );
});

test('§5.5 claims about the token and the sign-in come only from the server', async (t) => {
  const forged = Object.fromEntries(
    ['iss', 'sub', 'aud', 'exp', 'nonce', 'azp', 'acr', 'amr', 'auth_time', 'at_hash', 'sid', 'events'].map(
      (name) => [name, 'forged'],
    ),
  );
  const world = await openWorld(t, {
    oidc: {
      getUserClaims: () => ({ ...forged, name: 'Alice' }),
      claimsByScope: { openid: Object.keys(forged), profile: ['name'] },
    },
  });
  await addClient(world, APP);
  const id_token = Object.fromEntries([...Object.keys(forged), 'name'].map((name) => [name, null]));
  const tokens = await grantTo(world, 'app', asking({ id_token }));
  assert.deepEqual(aboutPerson(tokens.id_token), { name: 'Alice' });
});

test('§5.5 the user’s claims are read only if a permitted one was requested', async (t) => {
  const asked: string[] = [];
  const getUserClaims = (subject: string) => {
    asked.push(subject);
    return ALICE;
  };
  const world = await openWorld(t, { oidc: { getUserClaims } });
  await addClient(world, APP);
  const wanted = { id_token: { phone_number: null, auth_time: { essential: true }, acr: null, sub: null } };
  await grantTo(world, 'app', asking(wanted));
  await grantTo(world, 'app');
  assert.deepEqual(asked, []);
  await grantTo(world, 'app', asking({ id_token: { name: null } }));
  assert.deepEqual(asked, ['alice']);
});

test('§5.5 a source of claims that fails is an outage, and uses up no code', async (t) => {
  let fails = true;
  const world = await openWorld(t, {
    oidc: {
      getUserClaims() {
        if (fails) throw new Error('the directory is away');
        return ALICE;
      },
    },
  });
  await addClient(world, APP);
  const granting = asking({ id_token: { name: null } });
  const code = await approvedCode(world, 'app', granting);
  assert.equal((await redeemed(world, 'app', { redemption: { code } })).status, 503);
  fails = false;
  assert.equal((await redeemed(world, 'app', { redemption: { code } })).status, 200);
});

test('§5.5 a user without claims gets an ID token without them', async (t) => {
  const world = await openWorld(t, { oidc: { getUserClaims: () => undefined } });
  await addClient(world, APP);
  const { id_token } = await grantTo(world, 'app', asking({ id_token: { name: null } }));
  assert.deepEqual(aboutPerson(id_token), {});
});
