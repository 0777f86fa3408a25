// The modules of the FAPI 2.0 plans. § refers to FAPI 2.0 Security Profile.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { connect, type SecureVersion } from 'node:tls';
import type { JWK } from 'jose';
import { hiddenFields, isLogin } from '../../harness/browser.ts';
import { checkError } from '../checks/authorization_response.ts';
import { checkRefusal } from '../checks/token_response.ts';
import { checkUserInfo } from '../checks/user_info.ts';
import { isObject, type JsonObject, partsOf } from '../jws.ts';
import { randomText } from '../relying_party.ts';
import { present } from '../verdict.ts';
import {
  type FapiChanges,
  type FapiParty,
  type JwtChanges,
  newProofKey,
  publicPart,
  type Sent,
} from './fapi_party.ts';
import { LIFETIME } from './plans.ts';

type FapiModule = (party: FapiParty) => Promise<unknown>;

const ALGORITHMS: readonly unknown[] = ['PS256', 'ES256', 'EdDSA', 'Ed25519'];
const INVALID_CLIENT = ['invalid_client', 'invalid_request'];
const MINUTE = 60;

function now(): number {
  return Math.floor(Date.now() / 1000);
}

/** The flow succeeds with these changes. */
function succeedsWith(changes: FapiChanges | ((party: FapiParty) => FapiChanges | Promise<FapiChanges>)) {
  return async (party: FapiParty) =>
    party.flow(typeof changes === 'function' ? await changes(party) : changes);
}

/** The server refuses the pushed request. */
function refusesPush(
  errors: readonly string[],
  changes: FapiChanges | ((party: FapiParty) => FapiChanges | Promise<FapiChanges>),
) {
  return async (party: FapiParty) => {
    const made = typeof changes === 'function' ? await changes(party) : changes;
    const request = party.request(made.bank ?? party.first, made.request);
    const error = await checkRefusal(await party.push(request, made));
    assert.ok(errors.includes(error), error);
  };
}

/** The server refuses to exchange the code of a usual request. */
function refusesCode(
  errors: readonly string[],
  sent: Sent | ((party: FapiParty) => Sent | Promise<Sent>),
  changes: FapiChanges = {},
) {
  return async (party: FapiParty) => {
    const granted = await party.grant(changes);
    const made = typeof sent === 'function' ? await sent(party) : sent;
    const error = await checkRefusal(await party.redeem(granted, made));
    assert.ok(errors.includes(error), error);
  };
}

/** The request object is refused with these changes. */
function refusesObject(object: JwtChanges | (() => JwtChanges), errors = ['invalid_request_object']) {
  return refusesPush(errors, () => ({ object: typeof object === 'function' ? object() : object }));
}

/** The authorization endpoint, with parameters of the user's address that are not those of the pushed request. */
function ignoresInAddress(beside: Readonly<Record<string, string>>, request: FapiChanges['request'] = {}) {
  return succeedsWith({ request, beside });
}

const AUTHORIZATION: Readonly<Record<string, FapiModule>> = {
  'discovery-end-point-verification': async ({ provider, variant }) => {
    const { metadata } = provider;
    for (const name of ['authorization_endpoint', 'token_endpoint', 'pushed_authorization_request_endpoint'])
      assert.ok(provider.at(name).startsWith('https:'), name);
    const methods = provider.list('token_endpoint_auth_methods_supported');
    if (variant.authentication === 'mtls')
      assert.ok(methods.includes('tls_client_auth') && methods.includes('self_signed_tls_client_auth'));
    else assert.ok(methods.includes('private_key_jwt'));
    assert.ok(methods.every((method) => method === 'private_key_jwt' || method.includes('tls_client_auth')));
    const lists = ['token_endpoint_auth', 'id_token', 'userinfo', 'dpop', 'request_object', 'authorization'];
    for (const name of lists) {
      const listed = provider.list(`${name}_signing_alg_values_supported`);
      assert.ok(listed.length > 0 && listed.every((one) => ALGORITHMS.includes(one)), name);
    }
    if (variant.binding === 'mtls') assert.equal(metadata.tls_client_certificate_bound_access_tokens, true);
    assert.ok(isObject(metadata.mtls_endpoint_aliases));
    for (const url of Object.values(metadata.mtls_endpoint_aliases)) assert.match(String(url), /^https:/);
    assert.deepEqual(provider.list('code_challenge_methods_supported'), ['S256']);
    assert.deepEqual(provider.list('response_types_supported'), ['code']);
    assert.equal(metadata.require_pushed_authorization_requests, true);
    assert.equal(metadata.authorization_response_iss_parameter_supported, true);
    if (variant.isSigned) {
      assert.equal(metadata.require_signed_request_object, true);
      assert.ok(provider.list('response_modes_supported').includes('jwt'));
    }
    assert.ok((await provider.keys()).length > 0);
  },

  'happy-flow': async (party) => {
    await checkTls(party);
    const { tokens, identity } = await party.flow();
    for (const accept of ['application/json;charset=UTF-8', 'application/json, application/*+json, */*']) {
      const response = await party.userInfo(tokens, { headers: { accept } });
      await checkUserInfo(response, identity.sub);
    }
    // §5.3.4 (2)
    const url = `${party.provider.at('userinfo_endpoint')}?access_token=${tokens.accessToken}`;
    assert.ok((await fetch(url)).status >= 400);
    // With a nonce of 43 characters, and without a proof for the pushed request (RFC 9449 §10.1).
    const request = { nonce: randomText(32) };
    const bound = party.variant.binding === 'dpop' && { dpop_jkt: await party.thumbprint() };
    const second = { bank: party.second, request: { ...request, ...bound } };
    await party.flow({ ...second, beside: { scope: 'openid', response_type: 'code' } });
  },

  'user-rejects-authentication': async (party) => {
    for (const bank of [party.first, party.second]) {
      const state = randomText(96);
      const pushed = await party.pushed({ bank, request: { state } });
      const { parameters } = await party.visit(pushed, {}, async (browser, page) => {
        assert.ok(isLogin(page));
        return browser.post(page.url, { ...hiddenFields(page), decision: 'cancel' });
      });
      assert.equal(state.length, 128);
      assert.equal(checkError(party.provider, present(parameters, 'the answer'), state), 'access_denied');
    }
  },

  'ensure-authorization-request-without-state-success': succeedsWith({ request: { state: undefined } }),
  'ensure-authorization-request-without-nonce-success': succeedsWith({ request: { nonce: undefined } }),
  'ensure-authorization-request-with-64-char-nonce-success': succeedsWith({
    request: { nonce: randomText(48) },
  }),
  'ensure-other-scope-order-succeeds': succeedsWith({
    request: { scope: 'phone address email profile openid' },
  }),

  'test-claims-parameter-identity-claims': async (party) => {
    const { provider } = party;
    assert.equal(provider.metadata.claims_parameter_supported, true);
    // The suite does not know the registered claim `sid`.
    const protocol = ['iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'acr', 'amr', 'azp', 'at_hash'];
    const names = provider.list('claims_supported').filter((name) => !protocol.includes(name));
    assert.ok(names.length > 0);
    const asked = Object.fromEntries(
      names.map((name, index) => [name, index % 2 === 0 ? null : { essential: true }]),
    );
    const unknown = { [randomText(6)]: null, [randomText(7)]: { essential: false } };
    const claims = JSON.stringify({ id_token: { ...asked, ...unknown }, userinfo: { ...asked, ...unknown } });
    const { tokens, identity } = await party.flow({ request: { claims } });
    const person = await checkUserInfo(await party.userInfo(tokens), identity.sub);
    for (const returned of [identity, person])
      assert.deepEqual(
        Object.keys(unknown).filter((name) => name in returned),
        [],
      );
    const missing = names.filter((name) => !(name in identity) && !(name in person));
    const others = Object.keys(identity).filter((name) => ![...protocol, ...names].includes(name));
    if (others.length > 0) party.remarks.warn(`the ID token also has ${others.join(', ')}`);
    if (missing.length > 0) party.remarks.warn(`neither the ID token nor UserInfo has ${missing.join(', ')}`);
  },

  'access-token-type-header-case-sensitivity': async (party) => {
    const { tokens } = await party.flow();
    const scheme = party.variant.binding === 'dpop' ? 'dPOp' : 'bEARER';
    const response = await party.userInfo(tokens, {
      headers: { authorization: `${scheme} ${tokens.accessToken}` },
    });
    assert.equal(response.status, 200);
  },

  'ensure-different-nonce-inside-and-outside-request-object': ignoresInAddress({ nonce: randomText(10) }),
  'ensure-different-state-inside-and-outside-request-object': ignoresInAddress({ state: randomText(10) }),
  'state-only-outside-request-object-not-used': ignoresInAddress(
    { state: randomText(10) },
    { state: undefined },
  ),
  'ensure-authorization-request-with-long-nonce': succeedsWith({ request: { nonce: randomText(288) } }),
  'ensure-authorization-request-with-long-state': succeedsWith({ request: { state: randomText(750) } }),

  'plain-fapi-tolerate-unregistered-redirect-uri': refusesPush(
    ['invalid_request', 'invalid_request_object'],
    ({ first }) => ({ request: { redirect_uri: `${first.redirectUri}/${randomText(10)}` } }),
  ),
  'ensure-request-object-without-redirect-uri-fails': refusesPush(
    ['invalid_request', 'invalid_request_object'],
    { request: { redirect_uri: undefined } },
  ),
  'ensure-redirect-uri-in-authorization-request': refusesPush(['invalid_request', 'invalid_request_object'], {
    request: { redirect_uri: undefined },
  }),
  'ensure-unsigned-authorization-request-without-using-par-fails': async (party) => {
    const request = party.request(party.first);
    const { page, parameters } = await party.open(party.first, request);
    if (parameters === undefined) assert.equal(page.status, 400);
    else assert.equal(checkError(party.provider, parameters, request.state), 'invalid_request');
  },
  'ensure-response-type-code-idtoken-fails': refusesPush(['unsupported_response_type', 'invalid_request'], {
    request: { response_type: 'code id_token' },
  }),
  'ensure-response-type-token-fails': refusesPush(['unsupported_response_type', 'invalid_request'], {
    request: { response_type: 'token' },
  }),
};

const REQUEST_OBJECTS: Readonly<Record<string, FapiModule>> = {
  'ensure-request-object-with-multiple-aud-succeeds': succeedsWith(({ provider }) => ({
    object: { claims: { aud: [provider.issuer, 'https://other.example', 'invalid'] } },
  })),
  'ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted': succeedsWith(() => ({
    object: { claims: { nbf: now() + 8 } },
  })),
  'ensure-request-object-without-exp-fails': refusesObject({ claims: { exp: undefined } }),
  'ensure-request-object-without-nbf-fails': refusesObject({ claims: { nbf: undefined } }),
  'ensure-expired-request-object-fails': refusesObject(() => ({ claims: { exp: now() - 5 * MINUTE } })),
  'ensure-request-object-with-bad-aud-fails': refusesObject({ claims: { aud: 'https://other.example' } }),
  'ensure-request-object-with-exp-over-60-fails': refusesObject(() => ({
    claims: { exp: now() + 70 * MINUTE },
  })),
  'ensure-request-object-with-nbf-over-60-fails': refusesObject(() => ({
    claims: { nbf: now() - 70 * MINUTE },
  })),
  'ensure-signed-request-object-with-RS256-fails': refusesObject({ header: { alg: 'RS256' } }),
  'ensure-request-object-signature-algorithm-is-not-none': async (party) => {
    const signed = await party.requestObject(party.first, party.request(party.first));
    const [, claims] = signed.split('.');
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    await refusesPush(['invalid_request_object'], { push: { form: { request: `${none}.${claims}.` } } })(
      party,
    );
  },
  'ensure-request-object-with-invalid-signature-fails': async (party) => {
    const signed = await party.requestObject(party.first, party.request(party.first));
    const request = withOtherSignature(signed);
    await refusesPush(['invalid_request_object'], { push: { form: { request } } })(party);
  },
  'ensure-matching-key-in-authorization-request': refusesPush(
    ['invalid_request', 'invalid_request_object'],
    ({ second }) => ({ object: { key: second.key } }),
  ),
  'ensure-unsigned-request-at-par-endpoint-fails': refusesPush(['invalid_request'], (party) => ({
    push: { form: { ...party.request(party.first), request: undefined } },
  })),
  'par-authorization-request-containing-request_uri': refusesObject({
    claims: { request_uri: 'urn:ietf:params:oauth:request_uri:other' },
  }),
};

const PUSHED_REQUESTS: Readonly<Record<string, FapiModule>> = {
  'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds': async (party) => {
    const pushed = await party.pushed();
    await party.visit(pushed, {}, async (_, page) => {
      assert.ok(isLogin(page));
      return page;
    });
    const granted = { ...pushed, code: await party.codeOf(pushed) };
    await party.identityIn(granted, await party.tokensIn(await party.redeem(granted)));
  },
  'par-attempt-reuse-request_uri': async (party) => {
    await party.checkRefused(await party.flow(), ['invalid_request_uri']);
  },
  'par-attempt-to-use-expired-request_uri': async (party) => {
    const pushed = await party.pushed();
    await wait(pushed.expiresIn * 1000 + 1000);
    await party.checkRefused(pushed, ['invalid_request_uri']);
  },
  'par-attempt-to-use-request_uri-for-different-client': async (party) => {
    const { requestUri } = await party.pushed();
    const errors = ['invalid_request', 'invalid_request_object', 'invalid_request_uri'];
    await party.checkRefused({ bank: party.second, requestUri }, errors);
  },
  'par-authorization-request-containing-request_uri-form-param': refusesPush(
    ['invalid_request', 'invalid_request_object', 'request_uri_not_supported'],
    { push: { form: { request_uri: 'urn:ietf:params:oauth:request_uri:other' } } },
  ),
  'par-attempt-invalid-http-method': async (party) => {
    const response = await party.push(party.request(party.first), { push: { method: 'PUT' } });
    assert.equal(response.status, 405);
  },
  'par-ensure-pkce-required': refusesPush(['invalid_request'], {
    request: { code_challenge: undefined, code_challenge_method: undefined },
  }),
  'par-plain-pkce-rejected': refusesPush(['invalid_request'], {
    request: { code_challenge: randomText(48), code_challenge_method: 'plain' },
  }),
  'par-without-duplicate-parameters': succeedsWith({}),
  'par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted': succeedsWith(() => ({
    push: { assertion: { claims: { iat: now() + 8, nbf: now() + 8 } } },
  })),
  'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails': refusesPush(
    INVALID_CLIENT,
    () => ({
      push: { assertion: { claims: { iat: now() + 75, nbf: now() + 75, exp: now() + 135 } } },
    }),
  ),
  'par-test-array-as-audience-fails': refusesPush(INVALID_CLIENT, ({ provider }) => ({
    push: { assertion: { claims: { aud: [provider.issuer, 'https://other.example'] } } },
  })),
  'par-test-par-endpoint-url-as-audience-fails': refusesPush(INVALID_CLIENT, (party) => ({
    push: { assertion: { claims: { aud: party.at('pushed_authorization_request_endpoint') } } },
  })),
  'par-test-token-endpoint-url-as-audience-fails': refusesPush(INVALID_CLIENT, (party) => ({
    push: { assertion: { claims: { aud: party.at('token_endpoint') } } },
  })),
};

const TOKEN_REQUESTS: Readonly<Record<string, FapiModule>> = {
  // The credentials of the first client, and the id of the second.
  'ensure-client-id-in-token-endpoint': refusesCode(
    ['invalid_client', 'invalid_grant'],
    ({ first, second }) => ({
      form: { client_id: second.id },
      assertion: { claims: { iss: second.id, sub: second.id }, key: first.key },
    }),
  ),
  'ensure-holder-of-key-required': async (party) => {
    await checkTls(party);
    const granted = await party.grant();
    const isDpop = party.variant.binding === 'dpop';
    const sent = isDpop ? { proof: null } : { certificate: null };
    const error = await checkRefusal(await party.redeem(granted, sent));
    const errors = isDpop
      ? ['invalid_dpop_proof', 'invalid_grant', 'invalid_request']
      : [...INVALID_CLIENT, 'invalid_grant'];
    assert.ok(errors.includes(error), error);
  },
  'ensure-authorization-code-is-bound-to-client': async (party) => {
    const { code } = await party.grant();
    const other = { bank: { ...party.second, redirectUri: party.first.redirectUri }, code };
    assert.equal(await checkRefusal(await party.redeem(other)), 'invalid_grant');
  },
  'attempt-reuse-authorization-code-after-one-second': async (party) => {
    const { tokens, ...granted } = await party.flow();
    await wait(1000);
    assert.equal(await checkRefusal(await party.redeem(granted)), 'invalid_grant');
    if ((await party.userInfo(tokens)).status !== 401) party.remarks.warn('the access token still works');
  },
  'ensure-token-endpoint-fails-with-expired-auth-code': async (party) => {
    const granted = await party.grant();
    await wait((LIFETIME + 1) * 1000);
    assert.equal(await checkRefusal(await party.redeem(granted)), 'invalid_grant');
  },
  'ensure-signed-client-assertion-with-RS256-fails': refusesCode(['invalid_client'], {
    assertion: { header: { alg: 'RS256' } },
  }),
  'ensure-client-assertion-in-token-endpoint': refusesCode(INVALID_CLIENT, { assertion: null }),
  'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails': refusesCode(INVALID_CLIENT, () => ({
    assertion: { claims: { exp: now() - 5 * MINUTE } },
  })),
  'ensure-client-assertion-with-wrong-aud-fails': refusesCode(INVALID_CLIENT, {
    assertion: { claims: { aud: 'https://other.example' } },
  }),
  'ensure-client-assertion-with-no-sub-fails': refusesCode(INVALID_CLIENT, {
    assertion: { claims: { sub: undefined } },
  }),
  'ensure-pkce-code-verifier-required': refusesCode(['invalid_grant'], {
    form: { code_verifier: undefined },
  }),
  'incorrect-pkce-code-verifier-rejected': refusesCode(['invalid_grant'], {
    form: { code_verifier: randomText(48) },
  }),

  'refresh-token': async (party) => {
    const ofSecond = await party.flow({ bank: party.second });
    const granted = await party.flow();
    const { refreshToken } = granted.tokens;
    assert.match(refreshToken ?? '', /^[\x20-\x7E]+$/);
    await wait(1100); // so that the new ID token has another iat
    const tokens = await party.tokensIn(await party.refresh(refreshToken));
    assert.equal(tokens.refreshToken, refreshToken, '§5.3.2.1 (9): it is not rotated');
    assert.notEqual(tokens.accessToken, granted.tokens.accessToken);
    const identity = await party.identityIn({ ...granted, request: {} }, tokens);
    assert.deepEqual([identity.sub, identity.auth_time], [granted.identity.sub, granted.identity.auth_time]);
    await checkUserInfo(await party.userInfo(tokens), identity.sub);

    const without = party.variant.binding === 'dpop' ? { proof: null } : { certificate: null };
    await checkRefusal(await party.refresh(refreshToken, without));
    const { refreshToken: foreign, accessToken } = ofSecond.tokens;
    assert.equal(await checkRefusal(await party.refresh(foreign)), 'invalid_grant');
    const holder = { certificate: party.first, proof: { key: await newProofKey() } };
    assert.equal((await party.userInfo({ accessToken }, holder)).status, 401);
  },
};

const PROOFS: Readonly<Record<string, FapiModule>> = {
  'check-dpop-proof-nbf-exp': provesWith(() => ({ nbf: now(), exp: now() + 5 * MINUTE })),
  'ensure-dpopproof-with-iat-10seconds-before-succeeds': provesWith(() => ({ iat: now() - 10 })),
  'ensure-dpopproof-with-iat-10seconds-after-succeeds': provesWith(() => ({ iat: now() + 8 })),
  'ensure-mismatched-dpop-jkt-fails': refusesPush(['invalid_request', 'invalid_dpop_proof'], {
    request: { dpop_jkt: randomText(32) },
    push: { proof: {} },
  }),
  'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt': refusesCode(
    ['invalid_request', 'invalid_grant', 'invalid_dpop_proof'],
    async () => ({ proof: { key: await newProofKey() } }),
    { push: { proof: {} } },
  ),
  'ensure-token-endpoint-fails-with-mismatched-dpop-jkt': refusesCode(
    ['invalid_request', 'invalid_grant', 'invalid_dpop_proof'],
    {},
    { request: { dpop_jkt: randomText(32) } },
  ),
  'ensure-dpopproof-at-par-endpoint-binding-success': succeedsWith({ push: { proof: {} } }),
  'ensure-dpop-auth-code-binding-success': succeedsWith(async (party) => ({
    request: { dpop_jkt: await party.thumbprint() },
    push: { proof: {} },
  })),
  'dpop-negative-tests': dpopNegativeTests,
};

/** Proofs for all three requests have these claims. */
function provesWith(claims: () => JsonObject): FapiModule {
  return async (party) => {
    const proof = { claims: claims() };
    const granted = await party.grant({ push: { proof } });
    const tokens = await party.tokensIn(await party.redeem(granted, { proof }));
    assert.equal((await party.userInfo(tokens, { proof })).status, 200);
  };
}

/** Proofs and requests at UserInfo (RFC 9449 §4.3, §7). */
async function dpopNegativeTests(party: FapiParty): Promise<void> {
  const { tokens } = await party.flow();
  const { accessToken } = tokens;
  const url = new URL(party.at('userinfo_endpoint'));
  const asks = async (what: string, sent: Sent, status: number) => {
    const response = await party.userInfo(tokens, sent);
    assert.equal(response.status, status, what);
    if (status === 401) assert.match(response.headers.get('www-authenticate') ?? '', /DPoP /, what);
  };
  const accepts = (what: string, sent: Sent) => asks(what, sent, 200);
  const refuses = (what: string, sent: Sent) => asks(what, sent, 401);
  const claims = (claims: JsonObject): Sent => ({ proof: { claims } });
  const header = (header: JsonObject): Sent => ({ proof: { header } });
  const made = () => party.proof({ htm: 'GET', htu: url.href, ath: athOf(accessToken) });
  const sends = async (change: (proof: string) => string): Promise<Sent> => ({
    proof: null,
    headers: { dpop: change(await made()) },
  });

  await accepts('the header in capitals', { proof: null, headers: { DPOP: await made() } });
  await refuses('two proofs', await sends((proof) => `${proof}, ${proof}`));
  await refuses('not a JWT', await sends((proof) => proof.replaceAll('.', '')));
  for (const name of ['typ', 'jwk']) await refuses(`no ${name}`, header({ [name]: undefined }));
  for (const name of ['jti', 'htm', 'htu', 'iat', 'ath'])
    await refuses(`no ${name}`, claims({ [name]: undefined }));
  await refuses('no alg', await sends((proof) => withHeader(proof, ({ alg: _, ...others }) => others)));
  await refuses('another typ', header({ typ: 'JWT' }));
  await refuses('alg none', await sends((proof) => withHeader(proof, (one) => ({ ...one, alg: 'none' }))));
  await refuses('RS256', {
    proof: { key: party.first.key, header: { alg: 'RS256', jwk: rsaPart(party.first.key) } },
  });
  await refuses('an invalid signature', await sends(withOtherSignature));
  await refuses('a private key', header({ jwk: { ...publicPart(party.proofKey), d: party.proofKey.d } }));
  await refuses('another method', claims({ htm: 'PUT' }));
  await accepts('a URL with query and fragment', claims({ htu: `${url.href}?query=1#fragment` }));
  await refuses('another URL', claims({ htu: `${url.href}/other` }));
  await refuses('an hour ahead', claims({ iat: now() + 60 * MINUTE }));
  await refuses('an hour old', claims({ iat: now() - 60 * MINUTE }));
  const jti = randomText(16);
  await accepts('the first use', claims({ jti }));
  await refuses('the second use', claims({ jti }));
  await refuses('the hash of another token', claims({ ath: athOf(`${accessToken}x`) }));
  await refuses('another key', { proof: { key: await newProofKey() } });
  await accepts('unknown members', { proof: { header: { extra: 1 }, claims: { extra: 1 } } });
  await accepts('another case', claims({ htu: `HTTPS://${url.host.toUpperCase()}${url.pathname}` }));
  await refuses('no proof', { proof: null });
  await refuses('no proof, as Bearer', { proof: null, headers: { authorization: `Bearer ${accessToken}` } });
  await accepts('the usual proof', {});
}

/** The server negotiates TLS 1.3, and TLS 1.2 if the client has no later version, but none before (§5.2.1). */
async function checkTls({ operator: { port, certificate } }: FapiParty): Promise<void> {
  const negotiated = (maxVersion: SecureVersion) =>
    new Promise<string | null>((resolve) => {
      const options = { port, host: '127.0.0.1', servername: 'localhost', ca: certificate.pem.cert };
      // Level 0 lets this client offer TLS 1.1 at all.
      const legacy = { minVersion: 'TLSv1', maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' } as const;
      const socket = connect({ ...options, ...legacy }, () => {
        resolve(socket.getProtocol());
        socket.destroy();
      });
      socket.once('error', () => resolve(null));
    });
  assert.equal(await negotiated('TLSv1.3'), 'TLSv1.3');
  assert.equal(await negotiated('TLSv1.2'), 'TLSv1.2');
  assert.equal(await negotiated('TLSv1.1'), null);
}

function athOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

function rsaPart({ kty, n, e }: JWK): JsonObject {
  return { kty, n, e };
}

/** A JWT with another header and the same signature. */
function withHeader(jws: string, change: (header: JsonObject) => JsonObject): string {
  const [, claims, signature] = jws.split('.');
  const header = Buffer.from(JSON.stringify(change(partsOf(jws).header))).toString('base64url');
  return `${header}.${claims}.${signature}`;
}

/** A JWT whose signature differs in its first byte. */
function withOtherSignature(jws: string): string {
  const end = jws.lastIndexOf('.') + 1;
  const signature = Buffer.from(jws.slice(end), 'base64url');
  signature[0] = (signature[0] ?? 0) ^ 1;
  return `${jws.slice(0, end)}${signature.toString('base64url')}`;
}

/** Every module by name, without the prefix that all share. */
export const FAPI_MODULES: Readonly<Record<string, FapiModule>> = {
  ...AUTHORIZATION,
  ...REQUEST_OBJECTS,
  ...PUSHED_REQUESTS,
  ...TOKEN_REQUESTS,
  ...PROOFS,
};
