// § refers to RFC 9396.
// Long: the rules of one specification, in its order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  AuthorizationDetail,
  AuthorizationDetailsSettings,
  ClientRecord,
  NewClient,
} from '@grantd/core';
import { ConfigurationError, OAuthError } from '@grantd/core';
import { authorizationDetails } from '@grantd/core/authorization_details';
import { decodeJwt } from 'jose';
import {
  accepted,
  addSigningClient,
  asked,
  CALLBACK,
  codeIn,
  exactly,
  formOf,
  redirected,
  refusalOf,
  refused as refusedStep,
  USUAL,
} from './harness/authorization_endpoint.ts';
import { approvedCode, askForTokens, type Fields, type Granting, redeemed } from './harness/granting.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { openRegistration, CALLBACK as REGISTERED_CALLBACK } from './harness/registration.ts';
import { OPEN_JSON_HEADERS, OUTAGE } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { addClient, issued, PKCE, refused } from './harness/token_endpoint.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  basic,
  CLIENTS,
  type GrantedTokens,
  ISSUER,
  openWorld,
  specification,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const API = 'https://api.example';
const MAIL = 'https://mail.example/v1';

const ACCOUNTS: AuthorizationDetail = {
  type: 'account_information',
  actions: ['list_accounts', 'read_balances', 'read_transactions'],
  locations: [API],
};
const PAYMENT: AuthorizationDetail = {
  type: 'https://bank.example/payment',
  instructedAmount: { currency: 'EUR', amount: '123.50' },
  creditorName: 'Merchant A',
  locations: [MAIL],
};
/** For every API. */
const REPORT: AuthorizationDetail = { type: 'report', actions: ['read', 'write'] };

const actions = (...allowed: string[]) => ({ type: 'array', items: { enum: allowed }, uniqueItems: true });

const TYPES: AuthorizationDetailsSettings['types'] = {
  account_information: {
    schema: {
      type: 'object',
      properties: {
        type: { const: 'account_information' },
        actions: actions('list_accounts', 'read_balances', 'read_transactions'),
        locations: { type: 'array', items: { type: 'string', format: 'uri' } },
      },
      required: ['actions'],
      additionalProperties: false,
    },
  },
  'https://bank.example/payment': {
    schema: {
      $defs: { amount: { type: 'string', pattern: '^\\d+\\.\\d\\d$' } },
      properties: {
        instructedAmount: {
          properties: { currency: { type: 'string' }, amount: { $ref: '#/$defs/amount' } },
          required: ['currency', 'amount'],
          additionalProperties: false,
        },
        creditorName: { type: 'string', maxLength: 70 },
        locations: true,
      },
      required: ['instructedAmount'],
      additionalProperties: false,
    },
  },
  report: {
    schema: { properties: { actions: true, locations: true, id: true }, additionalProperties: false },
    clientCredentials: true,
  },
};

const OPTIONS: WorldOptions = { authorizationDetails: authorizationDetails({ types: TYPES }) };

/** A client for every type, and the second API. */
async function addParties(world: World, client: Partial<NewClient> = {}): Promise<void> {
  const metadata = {
    apis: [API, MAIL],
    authorization_details_types: Object.keys(TYPES),
    ...client.metadata,
  };
  await addClient(world, { ...CLIENTS.web, id: 'app', ...client, metadata });
  await addClient(world, {
    ...CLIENTS.machine,
    id: 'robot',
    metadata: { apis: [API, MAIL], authorization_details_types: Object.keys(TYPES) },
  });
  await addClient(world, { id: 'mail', grantTypes: [], scopes: [], redirectUris: [], resource: MAIL });
  await addClient(world, { id: 'outsider', grantTypes: [], scopes: [], redirectUris: [] });
}

const json = (...details: readonly unknown[]) => JSON.stringify(details);

type Tokens = GrantedTokens & { readonly authorization_details?: readonly AuthorizationDetail[] };

/** A request for these details. Without scope. */
function requesting(...details: readonly unknown[]): Granting {
  return { request: { scope: '', authorization_details: json(...details) } };
}

async function grant(world: World, granting: Granting): Promise<Tokens> {
  const response = await redeemed(world, 'app', granting);
  assert.equal(response.status, 200, response.body);
  return JSON.parse(response.body);
}

function refresh(world: World, refresh_token: string, fields: Fields = {}): Promise<TestResponse> {
  return askForTokens(world, 'app', { grant_type: 'refresh_token', refresh_token, ...fields });
}

function robot(world: World, fields: Fields): Promise<TestResponse> {
  return askForTokens(world, 'robot', { grant_type: 'client_credentials', ...fields });
}

async function seenBy(world: World, token: string, caller: string): Promise<Record<string, unknown>> {
  const response = await world.post('/token/introspect', { token }, null, { authorization: basic(caller) });
  return JSON.parse(response.body);
}

/** Audience, scope and details of a JWT access token. */
function contentOf({ access_token }: Tokens) {
  const { aud, scope, authorization_details: details } = decodeJwt(access_token);
  return { aud, scope, details };
}

const NOT_GRANTED = refused(
  'invalid_authorization_details',
  'the authorization_details are not part of the grant',
);
const OTHER_RESOURCE = refused(
  'invalid_authorization_details',
  'the authorization_details are for another resource',
);
const WITHDRAWN = refused('invalid_authorization_details', 'no authorization_details of the grant are left');
/** Of an approval that its host cannot give. */
const isHostMistake = (error: unknown) =>
  error instanceof OAuthError && error.code === 'server_error' && error.cause instanceof TypeError;

const UNKNOWN_TYPE = 'the type of authorization_details is unknown';
const NOT_ALLOWED = 'the client may not request this type of authorization_details';
const UNFIT = 'the authorization_details do not conform to their type';
const MALFORMED =
  'authorization_details must be a JSON array of 1 to 20 objects with a type and at most 4096 bytes';
const WRONG_LOCATION = 'a location of authorization_details is not registered, or not for this client';

specification('Authorization details of a grant (RFC 9396)', ON_EVERY_STORE, (spec) => {
  spec(
    '§3, §7, §9.1 approved details are in the token response and in the access token',
    async (world) => {
      await addParties(world);
      const tokens = await grant(world, requesting(ACCOUNTS, PAYMENT, REPORT));
      assert.deepEqual(tokens.authorization_details, [ACCOUNTS, PAYMENT, REPORT]);
      assert.deepEqual(contentOf(tokens), {
        aud: [ISSUER, API, MAIL].slice(1),
        scope: undefined,
        details: [ACCOUNTS, PAYMENT, REPORT],
      });
      assert.equal(tokens.scope, undefined);
    },
    OPTIONS,
  );

  spec(
    '§9.2 introspection returns the details that are for the caller, of JWTs and opaque tokens alike',
    async (world) => {
      await addParties(world);
      for (const accessTokenFormat of ['jwt', 'opaque'] as const) {
        const server = await secondServer(world, { ...OPTIONS, accessTokenFormat });
        const wide = { ...ACCOUNTS, locations: [API, MAIL] };
        const { access_token } = await grant(server, requesting(wide, PAYMENT, REPORT));
        const seen = async (caller: string) =>
          (await seenBy(server, access_token, caller)).authorization_details;
        assert.deepEqual(await seen('api'), [ACCOUNTS, REPORT]);
        assert.deepEqual(await seen('mail'), [{ ...ACCOUNTS, locations: [MAIL] }, PAYMENT, REPORT]);
        assert.deepEqual(await seen('app'), [wide, PAYMENT, REPORT], 'the client of the token');
        assert.deepEqual(await seen('outsider'), [REPORT], 'a client that is no API');
        const host = await server.server.introspectToken(access_token);
        assert.deepEqual(host.authorization_details, [wide, PAYMENT, REPORT]);
        const { access_token: forMail } = await grant(server, requesting(PAYMENT));
        const { active, authorization_details: none } = await seenBy(server, forMail, 'api');
        assert.deepEqual([active, none], [true, undefined]);
      }
    },
  );

  spec(
    '§9.2, §13 a caller without authentication sees only details for every API, of each kind of token',
    async (world) => {
      await addParties(world);
      for (const accessTokenFormat of ['jwt', 'opaque'] as const) {
        const open = { ...OPTIONS, accessTokenFormat, authenticateIntrospect: false };
        const server = await secondServer(world, open);
        const seen = async (token: string, headers: Record<string, string> = {}) => {
          const { body } = await server.post('/token/introspect', { token }, null, headers);
          const { active, authorization_details: details } = JSON.parse(body);
          return [active, details];
        };
        const { access_token, refresh_token } = await grant(server, requesting(ACCOUNTS, PAYMENT, REPORT));
        for (const token of [access_token, refresh_token]) {
          assert.deepEqual(await seen(token), [true, [REPORT]]);
          const ignored = { authorization: basic('app') };
          assert.deepEqual(await seen(token, ignored), [true, [REPORT]], 'credentials prove nothing here');
          const host = await server.server.introspectToken(token);
          assert.deepEqual(host.authorization_details, [ACCOUNTS, PAYMENT, REPORT]);
        }
        const { access_token: forApis } = await grant(server, requesting(ACCOUNTS, PAYMENT));
        assert.deepEqual(await seen(forApis), [true, undefined]);
      }
    },
  );

  spec(
    '§6 a refresh token keeps the details of the grant, and introspection shows them to its client',
    async (world) => {
      await addParties(world);
      for (const useOpaqueRefreshTokens of [true, false]) {
        const server = await secondServer(world, { ...OPTIONS, useOpaqueRefreshTokens });
        let tokens = await grant(server, requesting(ACCOUNTS, PAYMENT));
        for (let rotation = 0; rotation < 2; rotation++) {
          const { refresh_token } = tokens;
          const { authorization_details: shown } = await seenBy(server, refresh_token, 'app');
          assert.deepEqual(shown, [ACCOUNTS, PAYMENT]);
          if (!useOpaqueRefreshTokens)
            assert.equal(decodeJwt(refresh_token).authorization_details, undefined, 'it stays short');
          tokens = issued(await refresh(server, refresh_token)) as Tokens;
          assert.deepEqual(tokens.authorization_details, [ACCOUNTS, PAYMENT]);
          assert.deepEqual(contentOf(tokens).details, [ACCOUNTS, PAYMENT]);
        }
      }
    },
  );

  spec(
    '§6.1 a token request selects details of the grant; the grant stays as it is',
    async (world) => {
      await addParties(world);
      const accounts = { type: 'account_information', actions: ['list_accounts'], locations: [API] };
      const code = await approvedCode(world, 'app', requesting(ACCOUNTS, PAYMENT));
      const redemption = { code, authorization_details: json(accounts) };
      const first = await grant(world, { redemption });
      assert.deepEqual(first.authorization_details, [accounts]);
      assert.deepEqual(contentOf(first), { aud: API, scope: undefined, details: [accounts] });

      const payments = { type: PAYMENT.type, locations: [MAIL] };
      const second = issued(
        await refresh(world, first.refresh_token, { authorization_details: json(payments) }),
      ) as Tokens;
      assert.deepEqual(second.authorization_details, [PAYMENT], 'omitted members are as granted');
      assert.deepEqual(contentOf(second).aud, MAIL, 'an audience-restricted token');
      const third = issued(await refresh(world, second.refresh_token)) as Tokens;
      assert.deepEqual(third.authorization_details, [ACCOUNTS, PAYMENT]);
    },
    OPTIONS,
  );

  spec(
    '§6, §8 details that exceed the grant are refused, and nothing is consumed',
    async (world) => {
      await addParties(world);
      const narrow = { ...ACCOUNTS, actions: ['list_accounts'] };
      const code = await approvedCode(world, 'app', requesting(narrow, REPORT));
      const amount = { currency: 'EUR', amount: '0.01' };
      const wider = [
        ACCOUNTS,
        { ...narrow, actions: ['read_balances'] },
        { ...narrow, actions: [] },
        { ...narrow, locations: [API, MAIL] },
        { ...narrow, recurring: true },
        PAYMENT,
        { ...PAYMENT, instructedAmount: amount },
        { type: 'report', id: 'a' },
      ];
      for (const one of wider) {
        const fields = { code, authorization_details: json(REPORT, one) };
        assert.deepEqual(await redeemed(world, 'app', { redemption: fields }), NOT_GRANTED, json(one));
        assert.equal(world.lastReason, 'authorization_details_not_granted');
      }
      const tokens = await grant(world, { redemption: { code } });
      for (const one of wider) {
        const fields = { authorization_details: json(one) };
        assert.deepEqual(await refresh(world, tokens.refresh_token, fields), NOT_GRANTED, json(one));
      }
      const plain = await grant(world, { request: { scope: 'read' } });
      const fields = { authorization_details: json(REPORT) };
      assert.deepEqual(await refresh(world, plain.refresh_token, fields), NOT_GRANTED, 'a grant without');
      assert.equal(issued(await refresh(world, tokens.refresh_token)).token_type, 'Bearer');
    },
    OPTIONS,
  );

  spec(
    '§6.1 details that match more of the grant than one token can contain are refused',
    async (world) => {
      await addParties(world);
      const allowed = ['a', 'b', 'c', 'd', 'e'];
      const granted = allowed.map((id) => ({ type: 'report', id, actions: allowed }));
      const { refresh_token } = await grant(world, requesting(...granted));
      // Each requested detail narrows all five granted ones: 20 details are the most, and 25 are too many.
      const matching = allowed.map((one) => ({ type: 'report', actions: [one] }));
      const refused25 = await refresh(world, refresh_token, { authorization_details: json(...matching) });
      const description = 'the authorization_details match more of the grant than one token can contain';
      assert.deepEqual(refused25, refused('invalid_authorization_details', description));
      assert.equal(world.lastReason, 'authorization_details_malformed');
      const fields = { authorization_details: json(...matching.slice(1)) };
      assert.equal(
        JSON.parse((await refresh(world, refresh_token, fields)).body).authorization_details.length,
        20,
      );
    },
    OPTIONS,
  );

  spec(
    '§7 without authorization_details in the token request, resource selects the details',
    async (world) => {
      await addParties(world);
      const { refresh_token } = await grant(world, requesting(ACCOUNTS, PAYMENT, REPORT));
      const forMail = issued(await refresh(world, refresh_token, { resource: MAIL })) as Tokens;
      assert.deepEqual(forMail.authorization_details, [PAYMENT, REPORT]);
      assert.deepEqual(contentOf(forMail), { aud: MAIL, scope: undefined, details: [PAYMENT, REPORT] });
      const conflicting = { resource: MAIL, authorization_details: json(ACCOUNTS) };
      assert.deepEqual(await refresh(world, forMail.refresh_token, conflicting), OTHER_RESOURCE);
    },
    OPTIONS,
  );

  spec(
    '§3.1 scopes and details are granted together, and each goes to its audience',
    async (world) => {
      await addParties(world);
      const request = { scope: 'openid read', authorization_details: json(PAYMENT) };
      const tokens = await grant(world, { request });
      const both = { aud: [ISSUER, MAIL], scope: 'openid read', details: [PAYMENT] };
      assert.deepEqual(contentOf(tokens), both);
      const own = issued(await refresh(world, tokens.refresh_token, { resource: ISSUER })) as Tokens;
      assert.deepEqual(contentOf(own), { aud: ISSUER, scope: 'openid read', details: undefined });
      assert.equal(own.authorization_details, undefined);
      const narrowed = issued(await refresh(world, own.refresh_token, { scope: 'openid' })) as Tokens;
      assert.deepEqual(contentOf(narrowed), { ...both, scope: 'openid' });
      const { access_token } = tokens;
      assert.equal((await world.userInfo(access_token)).status, 200);
    },
    OPTIONS,
  );

  spec(
    '§3 a request with details and without scope gets no scopes',
    async (world) => {
      await addParties(world);
      const { scope: _, ...withoutScope } = USUAL;
      const request = { ...withoutScope, client_id: 'app', authorization_details: json(REPORT) };
      const validated = await world.server.authorization.validate(exactly(request));
      assert.deepEqual([validated.scopes, validated.authorizationDetails], [[], [REPORT]]);
      const resumed = await world.server.authorization.resume(validated.parameters);
      assert.deepEqual(resumed, validated);
      const token = issued(await robot(world, { authorization_details: json(REPORT) })) as Tokens;
      assert.deepEqual(contentOf(token), { aud: ISSUER, scope: undefined, details: [REPORT] });
    },
    OPTIONS,
  );

  spec(
    '§3 the user may approve fewer details, or none',
    async (world) => {
      await addParties(world);
      const request = { scope: 'read', authorization_details: json(ACCOUNTS, REPORT) };
      const less = { ...ACCOUNTS, actions: ['list_accounts'] };
      const tokens = await grant(world, { request, approval: { authorizationDetails: [less] } });
      assert.deepEqual(tokens.authorization_details, [less]);
      const refreshed = issued(await refresh(world, tokens.refresh_token)) as Tokens;
      assert.deepEqual(refreshed.authorization_details, [less]);
      const none = await grant(world, { request, approval: { authorizationDetails: [] } });
      assert.deepEqual([none.authorization_details, contentOf(none).details], [undefined, undefined]);
      for (const wrong of [[PAYMENT], [{ type: 'report', at: new Date() }], ['report']]) {
        const approval = { authorizationDetails: wrong as never };
        await assert.rejects(approvedCode(world, 'app', { request, approval }), isHostMistake);
      }
      const approval = { authorizationDetails: [REPORT] };
      await assert.rejects(
        approvedCode(world, 'app', { request: { scope: 'read' }, approval }),
        isHostMistake,
        'the request has none',
      );
    },
    OPTIONS,
  );

  spec('§7.1 the host enriches details, and their new locations join the audience', async (world) => {
    await addParties(world);
    const occasions: unknown[] = [];
    const server = await secondServer(world, {
      authorizationDetails: authorizationDetails({
        types: TYPES,
        async enrich(occasion) {
          occasions.push(occasion);
          return occasion.details.map((one) => ({ ...one, locations: [MAIL], accounts: [{ iban: 'DE02' }] }));
        },
      }),
    });
    const enriched = { ...REPORT, locations: [MAIL], accounts: [{ iban: 'DE02' }] };
    const tokens = await grant(server, {
      request: { scope: 'read', resource: API, authorization_details: json(REPORT) },
    });
    assert.deepEqual(tokens.authorization_details, [enriched]);
    assert.deepEqual(contentOf(tokens), { aud: [API, MAIL], scope: 'read', details: [enriched] });
    const fields = { authorization_details: json(REPORT) };
    const refreshed = issued(await refresh(server, tokens.refresh_token, fields)) as Tokens;
    assert.deepEqual(refreshed.authorization_details, [enriched], 'as requested at first');
    const again = { authorization_details: json(enriched) };
    const repeated = issued(await refresh(server, refreshed.refresh_token, again)) as Tokens;
    assert.deepEqual(repeated.authorization_details, [enriched], 'as returned');
    const token = issued(await robot(server, fields)) as Tokens;
    assert.deepEqual(contentOf(token), { aud: [ISSUER, MAIL], scope: undefined, details: [enriched] });
    assert.deepEqual(occasions, [
      { details: [REPORT], clientId: 'app', subject: 'alice', scopes: ['read'] },
      { details: [REPORT], clientId: 'robot', scopes: [] },
    ]);
  });

  spec(
    'decisions 40: a token never has details that its client may no longer have',
    async (world) => {
      await addParties(world);
      const { refresh_token } = await grant(world, requesting(ACCOUNTS, PAYMENT, REPORT));
      const { refresh_token: forMail } = await grant(world, requesting(PAYMENT));
      const alsoForServer = { scope: 'read', authorization_details: json(PAYMENT) };
      const { refresh_token: forServer } = await grant(world, { request: alsoForServer });
      const code = await approvedCode(world, 'app', requesting(PAYMENT));
      const change = async (metadata: ClientRecord['metadata']) => {
        // The first use of a secret is noted after the response, which changes the client too.
        await world.server.flush();
        const { secrets, ...read } = (await world.storage.clients.get('app')) ?? assert.fail();
        const changed = { ...read, ...(secrets && { secrets }), metadata: metadata ?? {} };
        assert.ok(await world.storage.clients.replace(changed, read));
      };
      const types = { authorization_details_types: Object.keys(TYPES) };
      await change({ ...types, apis: [API] });
      const noResource = refused('invalid_target', 'no resource of the grant is left');
      assert.deepEqual(await redeemed(world, 'app', { redemption: { code } }), noResource);
      assert.deepEqual(await refresh(world, forMail), noResource);
      assert.equal(world.lastReason, 'resource_withdrawn');
      assert.deepEqual(await refresh(world, forServer), WITHDRAWN, 'the server itself is left');
      const withoutMail = issued(await refresh(world, refresh_token)) as Tokens;
      assert.deepEqual(withoutMail.authorization_details, [ACCOUNTS, REPORT]);

      await change({ authorization_details_types: ['report'], apis: [API, MAIL] });
      const withoutTypes = issued(await refresh(world, withoutMail.refresh_token)) as Tokens;
      assert.deepEqual(withoutTypes.authorization_details, [REPORT]);
      await change({ ...types, apis: [API, MAIL] });
      const later = issued(await refresh(world, withoutTypes.refresh_token)) as Tokens;
      assert.deepEqual(later.authorization_details, [REPORT], 'what is gone does not come back');

      await change({ apis: [API, MAIL] });
      assert.deepEqual(await refresh(world, later.refresh_token), WITHDRAWN);
      assert.equal(world.lastReason, 'authorization_details_withdrawn');
      await change({ ...types, apis: [API, MAIL] });
      const { report: __, ...remaining } = TYPES;
      for (const options of [{}, { authorizationDetails: authorizationDetails({ types: remaining }) }]) {
        const server = await secondServer(world, options);
        assert.deepEqual(await refresh(server, later.refresh_token), WITHDRAWN, 'the server lost the type');
      }
      assert.equal((await refresh(world, later.refresh_token)).status, 200, 'nothing was consumed');
    },
    OPTIONS,
  );
});

specification('Requests with authorization details (RFC 9396)', ON_MEMORY, (spec) => {
  spec(
    '§2 details reach the host from the query, a form, a pushed request and a request object',
    async (world) => {
      await addParties(world);
      const details = [ACCOUNTS, REPORT];
      const parameters = { ...USUAL, client_id: 'app', authorization_details: json(...details) };
      const expected = asked(await accepted(world, parameters));
      assert.deepEqual(expected.authorizationDetails, details);
      assert.deepEqual(expected.resources, [ISSUER, API], 'scope openid read, and the location');
      const posted = await world.server.authorization.validate({
        method: 'POST',
        url: '/authorize',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: formOf(parameters).toString(),
      });
      assert.deepEqual(asked(posted), expected);

      const headers = { authorization: basic('app') };
      const pushed = await world.post('/par', Object.fromEntries(formOf(parameters)), null, headers);
      assert.equal(pushed.status, 201, pushed.body);
      const { request_uri } = JSON.parse(pushed.body);
      const fromPushed = await world.server.authorization.validate(
        exactly({ client_id: 'app', request_uri }),
      );
      assert.deepEqual(asked(fromPushed), expected);

      const types = Object.keys(TYPES);
      const metadata = { apis: [API, MAIL], authorization_details_types: types };
      const signing = await addSigningClient(world, { id: 'signing', metadata });
      const { client_id: _, ...claims } = { ...USUAL, authorization_details: details };
      const request = await signing.sign(claims);
      const fromObject = await world.server.authorization.validate(
        exactly({ client_id: 'signing', request }),
      );
      assert.deepEqual(fromObject.authorizationDetails, details);
    },
    OPTIONS,
  );

  spec(
    '§5 each object that does not conform is refused by redirect: type, members, values',
    async (world) => {
      await addParties(world);
      const payment = PAYMENT.instructedAmount as object;
      const wrong: readonly (readonly [why: string, detail: unknown, description: string, reason: string])[] =
        [
          ['unknown type', { type: 'tax' }, UNKNOWN_TYPE, 'authorization_details_type_unknown'],
          ['case', { ...REPORT, type: 'Report' }, UNKNOWN_TYPE, 'authorization_details_type_unknown'],
          [
            'a name of JavaScript',
            { type: 'constructor' },
            UNKNOWN_TYPE,
            'authorization_details_type_unknown',
          ],
          ['unknown member', { ...ACCOUNTS, x: 1 }, UNFIT, 'authorization_details_unfit'],
          [
            'nested unknown member',
            { ...PAYMENT, instructedAmount: { ...payment, x: 1 } },
            UNFIT,
            'authorization_details_unfit',
          ],
          [
            'wrong JSON type',
            { ...ACCOUNTS, actions: 'list_accounts' },
            UNFIT,
            'authorization_details_unfit',
          ],
          ['wrong value', { ...ACCOUNTS, actions: ['delete'] }, UNFIT, 'authorization_details_unfit'],
          [
            'wrong format',
            { ...PAYMENT, instructedAmount: { ...payment, amount: '1' } },
            UNFIT,
            'authorization_details_unfit',
          ],
          ['missing member', { type: 'account_information' }, UNFIT, 'authorization_details_unfit'],
        ];
      for (const [why, detail, description, reason] of wrong) {
        const request = { client_id: 'app', authorization_details: json(REPORT, detail) };
        const response = redirected('invalid_authorization_details', description);
        assert.deepEqual(await refusalOf(world, request), response, why);
        const form = Object.fromEntries(formOf({ ...USUAL, ...request }));
        const pushed = await world.post('/par', form, null, { authorization: basic('app') });
        assert.deepEqual(pushed, refused('invalid_authorization_details', description), why);
        assert.equal(world.lastReason, reason, why);
      }
      const last = world.events.findLast(({ type }) => type === 'refused');
      assert.equal(last && 'value' in last && last.value, 'account_information #/required');
    },
    OPTIONS,
  );

  spec(
    '§2 what is no list of objects with a type, or over a limit, is refused',
    async (world) => {
      await addParties(world);
      const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
      const malformed = [
        ...['', ' ', 'x', '{}', '"a"', 'null', '[]', '[[]]', '[null]', '["report"]', '[{}]'],
        ...['[{"type":1}]', '[{"type":"report"}', '{"type":"report"}', '[{"type":"report","id":1e400}]'],
        ...['[{"type":"report","id":9007199254740993}]', '[{"type":"report","id":"\\u0000"}]'],
        ...['[{"type":"report","id":"\\ud800"}]', '[{"type":"report","\\u0000":1}]'],
        ...['[{"type":"report","locations":[]}]', '[{"type":"report","locations":"https://api.example"}]'],
        ...['[{"type":"report","locations":[1]}]', '[{"type":"report","locations":["api"]}]'],
        json(...Array.from({ length: 21 }, () => REPORT)),
        json({ ...REPORT, id: 'x'.repeat(4096) }),
        json({ ...REPORT, id: 'ß'.repeat(2048) }),
        json({ ...REPORT, id: deep(8) }),
      ].filter((one) => one !== '');
      for (const authorization_details of malformed) {
        const response = redirected('invalid_authorization_details', MALFORMED);
        const request = { client_id: 'app', authorization_details };
        assert.deepEqual(await refusalOf(world, request), response, authorization_details);
        assert.deepEqual(
          await robot(world, { authorization_details }),
          refused('invalid_authorization_details', MALFORMED),
          authorization_details,
        );
        assert.equal(world.lastReason, 'authorization_details_malformed');
      }
      const { refresh_token } = await grant(world, requesting(REPORT));
      assert.deepEqual(
        await refresh(world, refresh_token, { authorization_details: '[]' }),
        refused('invalid_authorization_details', MALFORMED),
      );
      const most = Array.from({ length: 20 }, (_, id) => ({ ...REPORT, id: deep(id % 8) }));
      const fitting = { ...REPORT, id: 'x'.repeat(4096 - json({ ...REPORT, id: '' }).length) };
      for (const details of [most, [fitting]]) {
        const request = { client_id: 'app', authorization_details: json(...details) };
        assert.deepEqual((await accepted(world, request)).authorizationDetails, details);
      }
    },
    OPTIONS,
  );

  spec(
    '§12 members with names of JavaScript are data, and __proto__ is refused at any depth',
    async (world) => {
      await addParties(world);
      const text = '[{"type":"report","id":{"constructor":"x","toString":{"prototype":1}}}]';
      const tokens = await grant(world, { request: { scope: '', authorization_details: text } });
      assert.equal(JSON.stringify(tokens.authorization_details), text);
      assert.equal(JSON.stringify(decodeJwt(tokens.access_token).authorization_details), text);
      // Readers that copy members would set the prototype of their object.
      for (const members of [
        '"__proto__":{"id":1}',
        '"id":{"__proto__":{"polluted":true}}',
        '"id":[{"a":{"__proto__":1}}]',
        '"id":{"\\u005f_proto__":[]}',
      ]) {
        const hostile = { client_id: 'app', authorization_details: `[{"type":"report",${members}}]` };
        assert.deepEqual(
          await refusalOf(world, hostile),
          redirected('invalid_authorization_details', MALFORMED),
          members,
        );
      }
      assert.equal(Reflect.get({}, 'polluted'), undefined);
    },
    OPTIONS,
  );

  spec(
    '§12 the reason in the log names type and schema, and no value of the request',
    async (world) => {
      await addParties(world);
      const secret = 'patient 4711';
      const detail = { ...PAYMENT, instructedAmount: { currency: secret, amount: secret } };
      await refusalOf(world, { client_id: 'app', authorization_details: json(detail) });
      const events = JSON.stringify(world.events);
      assert.ok(events.includes('https://bank.example/payment #/properties/instructedAmount'), events);
      assert.ok(!events.includes(secret), events);
    },
    OPTIONS,
  );

  spec(
    '§9, §12 a location must be an API that the client may use',
    async (world) => {
      await addParties(world, { metadata: { apis: [API] } });
      const wrong = redirected('invalid_authorization_details', WRONG_LOCATION);
      for (const location of [MAIL, 'https://unknown.example', `${API}/v1`]) {
        const details = json({ ...REPORT, locations: [API, location] });
        const request = { client_id: 'app', authorization_details: details };
        assert.deepEqual(await refusalOf(world, request), wrong, location);
        assert.equal(world.lastReason, 'authorization_details_location_refused');
      }
      const own = { client_id: 'app', authorization_details: json({ ...REPORT, locations: [ISSUER] }) };
      assert.deepEqual((await accepted(world, own)).resources, [ISSUER]);
      const many = Array.from({ length: 11 }, (_, at) => `${ISSUER}/${at}`);
      for (const [at, resource] of many.entries())
        await addClient(world, { id: `${at}`, grantTypes: [], scopes: [], redirectUris: [], resource });
      await addClient(world, {
        ...CLIENTS.web,
        id: 'broad',
        metadata: { apis: many, authorization_details_types: ['report'] },
      });
      const broad = { client_id: 'broad', authorization_details: json({ ...REPORT, locations: many }) };
      assert.deepEqual(await refusalOf(world, broad), wrong, 'more than ten');
    },
    OPTIONS,
  );

  spec(
    '§3.2 resource and locations together are the audience of a grant',
    async (world) => {
      await addParties(world);
      const resourcesOf = async (request: Fields) =>
        (await accepted(world, { client_id: 'app', ...request })).resources;
      const payment = json(PAYMENT);
      assert.deepEqual(await resourcesOf({ resource: API, authorization_details: payment }), [API, MAIL]);
      assert.deepEqual(await resourcesOf({ scope: 'openid', authorization_details: payment }), [MAIL]);
      assert.deepEqual(await resourcesOf({ scope: 'read', authorization_details: payment }), [ISSUER, MAIL]);
      assert.equal(await resourcesOf({ authorization_details: json(REPORT) }), undefined);
      const request = { resource: API, authorization_details: payment };
      const checked = await accepted(world, { client_id: 'app', ...request });
      assert.deepEqual(await world.server.authorization.resume(checked.parameters), checked);
    },
    OPTIONS,
  );

  spec(
    '§3.1 scopes of the API at a location go with it',
    async (world) => {
      const metadata = { api_scopes: ['pay'] };
      await addClient(world, {
        id: 'bank',
        grantTypes: [],
        scopes: [],
        redirectUris: [],
        resource: 'https://bank.example',
        metadata,
      });
      await addClient(world, {
        ...CLIENTS.web,
        id: 'app',
        scopes: ['openid', 'read', 'pay'],
        metadata: { apis: ['https://bank.example', API], authorization_details_types: ['report'] },
      });
      const detail = (location: string) => json({ ...REPORT, locations: [location] });
      const accessOf = async (scope: string, authorization_details: string) => {
        const { scopes, resources } = await accepted(world, {
          client_id: 'app',
          scope,
          authorization_details,
        });
        return { scopes, resources };
      };
      assert.deepEqual(await accessOf('openid pay', detail('https://bank.example')), {
        scopes: ['openid', 'pay'],
        resources: ['https://bank.example'],
      });
      assert.deepEqual(await accessOf('pay', detail(API)), {
        scopes: ['pay'],
        resources: ['https://bank.example', API],
      });
      const request = { scope: 'pay', authorization_details: detail(API) };
      const { refresh_token } = await grant(world, { request });
      const forApi = issued(await refresh(world, refresh_token, { authorization_details: detail(API) }));
      assert.deepEqual(contentOf(forApi), {
        aud: API,
        scope: undefined,
        details: [{ ...REPORT, locations: [API] }],
      });
    },
    OPTIONS,
  );

  spec(
    '§10 a client gets only the types of its registration',
    async (world) => {
      await addParties(world);
      await addClient(world, {
        ...CLIENTS.web,
        id: 'narrow',
        metadata: { authorization_details_types: ['report'] },
      });
      for (const client_id of ['narrow', 'web']) {
        const request = { client_id, authorization_details: json({ ...ACCOUNTS, locations: undefined }) };
        const response = redirected('invalid_authorization_details', NOT_ALLOWED);
        assert.deepEqual(await refusalOf(world, request), response);
        assert.equal(world.lastReason, 'authorization_details_not_allowed');
      }
      const request = { client_id: 'narrow', authorization_details: json(REPORT) };
      assert.deepEqual((await accepted(world, request)).authorizationDetails, [REPORT]);
    },
    OPTIONS,
  );

  spec(
    '§6 a client that acts for itself gets only types that need no user',
    async (world) => {
      await addParties(world);
      const details = [{ ...REPORT, locations: [MAIL] }];
      const token = issued(
        await robot(world, { scope: 'read', authorization_details: json(...details) }),
      ) as Tokens;
      assert.deepEqual(token.authorization_details, details);
      assert.deepEqual(contentOf(token), { aud: [ISSUER, MAIL], scope: 'read', details });
      const refusal = refused('invalid_authorization_details', NOT_ALLOWED);
      assert.deepEqual(await robot(world, { authorization_details: json(ACCOUNTS) }), refusal);
      assert.deepEqual(
        await robot(world, { authorization_details: json({ type: 'tax' }) }),
        refused('invalid_authorization_details', UNKNOWN_TYPE),
      );
      assert.deepEqual(
        await robot(world, { authorization_details: json({ ...REPORT, x: 1 }) }),
        refused('invalid_authorization_details', UNFIT),
      );
    },
    OPTIONS,
  );

  spec(
    '§6.1 a type may have its own comparison',
    async (world) => {
      await addParties(world);
      const server = await secondServer(world, {
        authorizationDetails: authorizationDetails({
          types: {
            ...TYPES,
            report: {
              schema: TYPES.report?.schema ?? {},
              // write includes read
              narrow: (granted, requested) =>
                (granted.actions as string[]).includes('write')
                  ? { ...granted, actions: requested.actions }
                  : undefined,
            },
          },
        }),
      });
      const write = { type: 'report', actions: ['write'] };
      const read = { type: 'report', actions: ['read'] };
      const writing = await grant(server, requesting(write));
      const fields = { authorization_details: json(read) };
      const narrowed = issued(await refresh(server, writing.refresh_token, fields)) as Tokens;
      assert.deepEqual(narrowed.authorization_details, [read]);
      const reading = await grant(server, requesting(read));
      assert.deepEqual(await refresh(server, reading.refresh_token, fields), NOT_GRANTED);
    },
    OPTIONS,
  );

  spec(
    '§6.1 one requested detail selects every granted one that it narrows, each once',
    async (world) => {
      await addParties(world);
      const [one, other] = [
        { ...REPORT, id: 1 },
        { ...REPORT, id: 2 },
      ];
      const { refresh_token } = await grant(world, requesting(one, other));
      const selectedBy = async (...wanted: readonly unknown[]) => {
        const fields = { authorization_details: json(...wanted) };
        return (issued(await refresh(world, refresh_token, fields)) as Tokens).authorization_details;
      };
      assert.deepEqual(await selectedBy({ type: 'report' }), [one, other]);
      assert.deepEqual(await selectedBy({ type: 'report', id: 2 }), [other]);
      assert.deepEqual(await selectedBy({ actions: ['write', 'read'], type: 'report', id: 2 }, other), [
        other,
      ]);
      const read = { type: 'report', actions: ['read'] };
      assert.deepEqual(await selectedBy(read), [
        { ...one, actions: ['read'] },
        { ...other, actions: ['read'] },
      ]);
    },
    OPTIONS,
  );

  spec(
    '§7.1 a wrong list from the host is 500, an outage of the host 503, and no code is issued',
    async (world) => {
      await addParties(world);
      const serverWith = (enrich: AuthorizationDetailsSettings['enrich'] & {}) =>
        secondServer(world, { authorizationDetails: authorizationDetails({ types: TYPES, enrich }) });
      const wrong = [
        [],
        undefined,
        [PAYMENT],
        [{ type: 'report', at: new Date() }],
        [{ ...REPORT, id: 'x'.repeat(5000) }],
      ];
      for (const list of wrong) {
        const server = await serverWith(() => list as never);
        const response = await robot(server, { authorization_details: json(REPORT) });
        assert.deepEqual(
          [response.status, server.lastReason],
          [500, 'authorization_details_enrichment_unfit'],
        );
        await assert.rejects(approvedCode(server, 'app', requesting(REPORT)), { code: 'server_error' });
      }
      const elsewhere = await serverWith(({ details }) =>
        details.map((one) => ({ ...one, locations: ['https://elsewhere.example'] })),
      );
      const response = await robot(elsewhere, { authorization_details: json(REPORT) });
      assert.deepEqual(
        [response.status, elsewhere.lastReason],
        [500, 'authorization_details_enrichment_unfit'],
      );
      await assert.rejects(approvedCode(elsewhere, 'app', requesting(REPORT)), { code: 'server_error' });
      const down = await serverWith(() => Promise.reject(new Error('down')));
      assert.deepEqual(await robot(down, { authorization_details: json(REPORT) }), {
        ...OUTAGE,
        headers: { ...OUTAGE.headers, vary: 'Origin' },
      });
      await assert.rejects(approvedCode(down, 'app', requesting(REPORT)), {
        code: 'temporarily_unavailable',
      });
    },
    OPTIONS,
  );

  spec('§2 without types the server ignores the parameter, as any unknown one', async (world) => {
    await addParties(world);
    const request = { ...USUAL, client_id: 'app', authorization_details: 'x' };
    const checked = await accepted(world, request);
    assert.equal(checked.authorizationDetails, undefined);
    const code = codeIn(await world.server.authorization.complete(checked, { subject: 'alice' }));
    const redemption = { code, redirect_uri: CALLBACK, authorization_details: 'x' };
    const tokens = issued(await redeemed(world, 'app', { redemption })) as Tokens;
    assert.deepEqual([tokens.scope, tokens.authorization_details], ['openid read', undefined]);
    const refreshed = await refresh(world, tokens.refresh_token, { authorization_details: 'x' });
    assert.equal(refreshed.status, 200);
    const own = issued(await robot(world, { authorization_details: 'x' }));
    assert.equal(own.scope, 'read write');
    assert.equal(Object.hasOwn(world.server.serverMetadata, 'authorization_details_types_supported'), false);
  });

  spec.http(
    '§6, §8 details are granted and refused at the token endpoint, through every adapter',
    async (world) => {
      await addParties(world);
      const token = issued(await robot(world, { authorization_details: json(REPORT) })) as Tokens;
      assert.deepEqual(token.authorization_details, [REPORT]);
      const refusal = refused('invalid_authorization_details', MALFORMED);
      assert.deepEqual(await robot(world, { authorization_details: '[' }), refusal);
      assert.deepEqual(refusal.headers, OPEN_JSON_HEADERS);
    },
    OPTIONS,
  );

  spec(
    '§10 metadata list the types',
    ({ server }) => {
      const { authorization_details_types_supported: types } = server.serverMetadata;
      assert.deepEqual(types, ['account_information', 'https://bank.example/payment', 'report']);
    },
    OPTIONS,
  );

  spec(
    '§10 clients register the types that are open to them, and an operator any',
    async (world) => {
      const body = (types: unknown) => ({
        method: 'POST' as const,
        path: '/register',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [REGISTERED_CALLBACK], authorization_details_types: types }),
      });
      const registered = await world.send(body(['report']));
      assert.equal(registered.status, 201, registered.body);
      const { authorization_details_types: types, client_id } = JSON.parse(registered.body);
      assert.deepEqual(types, ['report']);
      const client = await world.storage.clients.get(client_id);
      assert.deepEqual(client?.metadata?.authorization_details_types, ['report']);
      for (const [sent, left] of [
        [['account_information', 'report'], ['report']],
        [['tax'], []],
      ]) {
        const { authorization_details_types: open } = JSON.parse((await world.send(body(sent))).body);
        assert.deepEqual(open, left, 'types that are not open are left out');
      }
      const { status, body: answer } = await world.send(body('report'));
      assert.deepEqual([status, JSON.parse(answer).error], [400, 'invalid_client_metadata']);
      const silent = await world.send(body(undefined));
      assert.equal(JSON.parse(silent.body).authorization_details_types, undefined, 'none by default');
      const members = { authorization_details_types: ['tax'] };
      const { metadata } = await world.server.operator.clientFrom({ id: 'a' }, members);
      assert.deepEqual(metadata, members);
    },
    { ...OPTIONS, ...openRegistration({ authorizationDetailsTypes: ['report'] }) },
  );
});

const WRONG_OPTIONS: readonly (readonly [at: string, option: unknown])[] = [
  ['authorizationDetails', []],
  ['authorizationDetails.type', { type: {} }],
  ['authorizationDetails.types', {}],
  ['authorizationDetails.types', { types: [] }],
  ['authorizationDetails.types', { types: {} }],
  [
    'authorizationDetails.types',
    { types: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [at, TYPES.report])) },
  ],
  ['authorizationDetails.enrich', { types: TYPES, enrich: true }],
  ['authorizationDetails.types.a b', { types: { 'a b': TYPES.report } }],
  ['authorizationDetails.types.a', { types: { a: true } }],
  ['authorizationDetails.types.a.shema', { types: { a: { shema: {} } } }],
  [
    'authorizationDetails.types.a.clientCredentials',
    { types: { a: { ...TYPES.report, clientCredentials: 1 } } },
  ],
  ['authorizationDetails.types.a.narrow', { types: { a: { ...TYPES.report, narrow: {} } } }],
];

const CIRCLE: Record<string, unknown> = { additionalProperties: false };
CIRCLE.not = CIRCLE;

/** Each would fail open, or fail at a request. */
const WRONG_SCHEMAS: readonly (readonly [why: string, schema: unknown])[] = [
  ['no schema', undefined],
  ['true', true],
  ['unknown members are not spoken of', { properties: {} }],
  ['a misspelt keyword', { requird: ['a'], additionalProperties: false }],
  [
    'a misspelt keyword deep inside',
    { properties: { a: { items: { maximun: 1 } } }, additionalProperties: false },
  ],
  ['required that is no list', { required: 'a', additionalProperties: false }],
  ['an enum that is no list', { properties: { a: { enum: 'a' } }, additionalProperties: false }],
  ['an unknown type', { properties: { a: { type: 'text' } }, additionalProperties: false }],
  ['an unknown format', { properties: { a: { format: 'iban' } }, additionalProperties: false }],
  ['an invalid pattern', { properties: { a: { pattern: '(' } }, additionalProperties: false }],
  ['an invalid property pattern', { patternProperties: { '(': true }, additionalProperties: false }],
  ['a reference into nothing', { properties: { a: { $ref: '#/$defs/a' } }, additionalProperties: false }],
  ['a reference to another document', { $ref: 'https://other.example/schema', additionalProperties: false }],
  ['properties that are no object', { properties: [], additionalProperties: false }],
  [
    'a dynamic reference, which the validator does not know',
    { $dynamicRef: '#a', additionalProperties: false },
  ],
  ['an unknown dialect', { $schema: 'http://json-schema.org/draft-03/schema#', additionalProperties: false }],
  ['a circle', CIRCLE],
  ['an empty list of alternatives', { anyOf: [], additionalProperties: false }],
  [
    'two parts with one identifier',
    {
      $defs: { a: { $id: 'https://a.example' }, b: { $id: 'https://a.example' } },
      additionalProperties: false,
    },
  ],
];

test('§11.3 wrong options and schemas are refused at start, by name', async (t) => {
  const opened = async (option: unknown) => authorizationDetails(option as never);
  for (const [at, option] of WRONG_OPTIONS)
    await assert.rejects(
      opened(option),
      (error) => error instanceof ConfigurationError && error.option === at,
      at,
    );
  for (const [why, schema] of WRONG_SCHEMAS) {
    const isNamed = (error: unknown) =>
      error instanceof ConfigurationError && error.option.startsWith('authorizationDetails.types.a.schema');
    await assert.rejects(opened({ types: { a: { schema } } }), isNamed, why);
  }
  await assert.rejects(
    openWorld(t, { ...OPTIONS, ...openRegistration({ authorizationDetailsTypes: ['tax'] }) }),
    /^ConfigurationError: registration\.authorizationDetailsTypes: /,
  );
});

test('§11.3 schemas of each dialect work, and are not written to', async (t) => {
  const frozen = <T>(value: T): T => {
    if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen);
    return Object.freeze(value);
  };
  for (const $schema of [
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
  ]) {
    const schema = frozen({
      $schema,
      definitions: { short: { type: 'string', maxLength: 3 } },
      properties: { id: { $ref: '#/definitions/short' } },
      additionalProperties: false,
    });
    const world = await openWorld(t, {
      authorizationDetails: authorizationDetails({ types: { report: { schema, clientCredentials: true } } }),
    });
    await addParties(world);
    assert.equal(
      (await robot(world, { authorization_details: json({ type: 'report', id: 'abc' }) })).status,
      200,
    );
    assert.equal(
      (await robot(world, { authorization_details: json({ type: 'report', id: 'abcd' }) })).status,
      400,
    );
  }
});

test('§5 unevaluatedProperties closes a schema that is put together from parts', async (t) => {
  const schema = {
    allOf: [{ properties: { a: { type: 'number' } } }, { properties: { b: true }, required: ['b'] }],
    unevaluatedProperties: false,
  };
  const world = await openWorld(t, {
    authorizationDetails: authorizationDetails({ types: { report: { schema, clientCredentials: true } } }),
  });
  await addParties(world);
  const statusOf = async (detail: object) =>
    (await robot(world, { authorization_details: json({ type: 'report', ...detail }) })).status;
  assert.deepEqual(
    [await statusOf({ a: 1, b: 2 }), await statusOf({ a: 1 }), await statusOf({ b: 2, c: 3 })],
    [200, 400, 400],
  );
});

test('§12 error responses go only to registered URIs, and shown errors have no details', async (t) => {
  const world = await openWorld(t, OPTIONS);
  await addParties(world);
  const request = {
    ...USUAL,
    ...PKCE,
    client_id: 'app',
    redirect_uri: 'https://evil.example',
    authorization_details: json({ type: '<script>' }),
  };
  const response = await refusedStep(world.server.authorization.validate(exactly(request)));
  assert.equal(response.headers.location, undefined);
  assert.ok(!response.body.includes('<script'));
});
