import { passed, warning } from '../planned_modules.ts';
import type { PlannedModule } from '../plans.ts';

/** Seconds that codes and pushed requests live in our run. Two modules wait for their end. */
export const LIFETIME = 8;

/** How the clients of a run authenticate, and what binds their tokens. */
export interface FapiVariant {
  readonly authentication: 'private_key_jwt' | 'mtls';
  readonly binding: 'dpop' | 'mtls';
  /** Whether requests are signed request objects, and responses JWTs. */
  readonly isSigned: boolean;
}

export interface FapiPlan {
  /** The suite's name. */
  readonly name: string;
  readonly profile: 'fapi2-security' | 'fapi2-message-signing';
  readonly variants: readonly FapiVariant[];
}

/** A module that the suite runs only in some variants. */
interface FapiModule extends PlannedModule {
  readonly isIn?: (variant: FapiVariant) => boolean;
}

export const FAPI_PLANS: readonly FapiPlan[] = [
  {
    name: 'fapi2-security-profile-final-test-plan',
    profile: 'fapi2-security',
    variants: [
      { authentication: 'private_key_jwt', binding: 'dpop', isSigned: false },
      { authentication: 'private_key_jwt', binding: 'mtls', isSigned: false },
      { authentication: 'mtls', binding: 'dpop', isSigned: false },
      { authentication: 'mtls', binding: 'mtls', isSigned: false },
    ],
  },
  {
    name: 'fapi2-message-signing-final-test-plan',
    profile: 'fapi2-message-signing',
    variants: [{ authentication: 'private_key_jwt', binding: 'dpop', isSigned: true }],
  },
];

/** The modules that the suite runs in a variant. */
export function modulesIn(variant: FapiVariant): readonly PlannedModule[] {
  return MODULES.filter(({ isIn = () => true }) => isIn(variant));
}

const withDpop = ({ binding }: FapiVariant) => binding === 'dpop';
const withAssertions = ({ authentication }: FapiVariant) => authentication === 'private_key_jwt';
const withSignature = ({ isSigned }: FapiVariant) => isSigned;

function only(isIn: FapiModule['isIn'], name: string, checks: string): FapiModule {
  return { ...passed(name, checks), ...(isIn && { isIn }) };
}

/** Every module, in the order of the suite. The prefix of their names is `fapi2-security-profile-final-`. */
const MODULES: readonly FapiModule[] = [
  passed('discovery-end-point-verification', 'endpoints, methods and algorithms in the metadata'),
  passed('happy-flow', 'two clients: code flow, UserInfo; TLS; no token in a URL'),
  passed('user-rejects-authentication', 'a user who cancels; the error has a state of 128 characters'),
  only(
    withSignature,
    'ensure-request-object-with-multiple-aud-succeeds',
    'a request object for several audiences, one of which is the issuer',
  ),
  passed('ensure-authorization-request-without-state-success', 'a request without state'),
  passed('ensure-authorization-request-without-nonce-success', 'a request without nonce'),
  passed('ensure-authorization-request-with-64-char-nonce-success', 'a nonce of 64 characters'),
  passed('ensure-other-scope-order-succeeds', 'openid need not be the first scope'),
  warning(
    'test-claims-parameter-identity-claims',
    'the claims parameter requests every announced claim in the ID token and at UserInfo',
    'the ID token also has sid',
  ),
  passed('access-token-type-header-case-sensitivity', 'the authentication scheme in other case'),
  only(
    withSignature,
    'ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted',
    'a request object of a clock that is 8 seconds ahead',
  ),
  only(withDpop, 'check-dpop-proof-nbf-exp', 'proofs with nbf and exp'),
  only(withDpop, 'ensure-dpopproof-with-iat-10seconds-before-succeeds', 'proofs that are 10 seconds old'),
  only(
    withDpop,
    'ensure-dpopproof-with-iat-10seconds-after-succeeds',
    'proofs of a clock that is ahead by 8 seconds',
  ),
  only(
    withDpop,
    'ensure-mismatched-dpop-jkt-fails',
    'a pushed request whose dpop_jkt is not the key of its proof is refused',
  ),
  only(
    withDpop,
    'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt',
    'a code is bound to the key of the proof with the pushed request',
  ),
  only(withDpop, 'ensure-token-endpoint-fails-with-mismatched-dpop-jkt', 'a code is bound to dpop_jkt'),
  only(
    withDpop,
    'ensure-dpopproof-at-par-endpoint-binding-success',
    'a code that is bound by the proof with the pushed request',
  ),
  only(withDpop, 'ensure-dpop-auth-code-binding-success', 'a code that is bound by dpop_jkt and proof'),
  passed(
    'ensure-different-nonce-inside-and-outside-request-object',
    'another nonce in the address is ignored',
  ),
  passed(
    'ensure-different-state-inside-and-outside-request-object',
    'another state in the address is ignored',
  ),
  passed('ensure-authorization-request-with-long-nonce', 'a nonce of 384 characters is kept'),
  passed('ensure-authorization-request-with-long-state', 'a state of 1,000 characters is kept'),
  ...[
    ['without-exp', 'a request object without exp is refused'],
    ['without-nbf', 'a request object without nbf is refused'],
  ].map(([what, checks]) => only(withSignature, `ensure-request-object-${what}-fails`, String(checks))),
  passed(
    'state-only-outside-request-object-not-used',
    'a state that is only in the address is not in the response',
  ),
  passed('ensure-request-object-without-redirect-uri-fails', 'a request without redirect_uri is refused'),
  ...[
    ['ensure-expired-request-object-fails', 'an expired request object is refused'],
    ['ensure-request-object-with-bad-aud-fails', 'a request object for another server is refused'],
    ['ensure-request-object-with-exp-over-60-fails', 'one that lives for more than 60 minutes is refused'],
    ['ensure-request-object-with-nbf-over-60-fails', 'one that is older than 60 minutes is refused'],
    ['ensure-signed-request-object-with-RS256-fails', 'one that is signed with RS256 is refused'],
    ['ensure-request-object-signature-algorithm-is-not-none', 'one without a signature is refused'],
    ['ensure-request-object-with-invalid-signature-fails', 'one with an invalid signature is refused'],
    ['ensure-matching-key-in-authorization-request', 'one that another client signed is refused'],
    ['ensure-unsigned-request-at-par-endpoint-fails', 'a pushed request without a request object is refused'],
  ].map(([name, checks]) => only(withSignature, String(name), String(checks))),
  passed('plain-fapi-tolerate-unregistered-redirect-uri', 'an unregistered redirect URI is refused'),
  passed(
    'ensure-unsigned-authorization-request-without-using-par-fails',
    'a request in the address is refused',
  ),
  passed('ensure-redirect-uri-in-authorization-request', 'a request without redirect_uri is refused'),
  passed('ensure-response-type-code-idtoken-fails', 'the response type code id_token is refused'),
  passed('ensure-response-type-token-fails', 'the response type token is refused'),
  passed(
    'ensure-client-id-in-token-endpoint',
    'credentials of one client with the id of another are refused',
  ),
  passed('ensure-holder-of-key-required', 'a code without proof or certificate is refused; TLS'),
  passed('ensure-authorization-code-is-bound-to-client', 'the code of another client is refused'),
  {
    ...passed(
      'attempt-reuse-authorization-code-after-one-second',
      'a code works once; a second use ends its access token',
    ),
    waitsSeconds: 1,
  },
  {
    ...passed('ensure-token-endpoint-fails-with-expired-auth-code', 'an expired code is refused'),
    waitsSeconds: 10,
  },
  ...[
    ['ensure-signed-client-assertion-with-RS256-fails', 'an assertion that is signed with RS256 is refused'],
    ['ensure-client-assertion-in-token-endpoint', 'a token request without an assertion is refused'],
    [
      'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails',
      'an assertion that expired 5 minutes ago is refused',
    ],
    ['ensure-client-assertion-with-wrong-aud-fails', 'an assertion for another server is refused'],
    ['ensure-client-assertion-with-no-sub-fails', 'an assertion without sub is refused'],
  ].map(([name, checks]) => only(withAssertions, String(name), String(checks))),
  only(
    withDpop,
    'dpop-negative-tests',
    '24 requests with bad proofs that UserInfo must refuse, and 6 that it must accept',
  ),
  passed('refresh-token', 'refresh tokens are bound to their client, and need a proof or certificate'),
  passed(
    'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds',
    'a user may open the request twice before signing in',
  ),
  passed('par-attempt-reuse-request_uri', 'a used request_uri is refused'),
  {
    ...passed('par-attempt-to-use-expired-request_uri', 'an expired request_uri is refused'),
    waitsSeconds: 10,
  },
  only(
    withAssertions,
    'par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted',
    'an assertion of a clock that is 8 seconds ahead',
  ),
  only(
    withAssertions,
    'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails',
    'an assertion of a clock that is more than 60 seconds ahead is refused',
  ),
  passed(
    'par-attempt-to-use-request_uri-for-different-client',
    'the request_uri of another client is refused',
  ),
  passed(
    'par-authorization-request-containing-request_uri-form-param',
    'a pushed request with request_uri is refused',
  ),
  passed('par-attempt-invalid-http-method', 'the endpoint for pushed requests accepts POST alone'),
  passed('par-ensure-pkce-required', 'a request without PKCE is refused'),
  passed('ensure-pkce-code-verifier-required', 'a code without code_verifier is refused'),
  passed('incorrect-pkce-code-verifier-rejected', 'a code with another code_verifier is refused'),
  passed('par-plain-pkce-rejected', 'the PKCE method plain is refused'),
  only(
    withSignature,
    'par-authorization-request-containing-request_uri',
    'a request object that contains request_uri is refused',
  ),
  passed('par-without-duplicate-parameters', 'the address has only client_id and request_uri'),
  ...[
    ['par-test-array-as-audience-fails', 'an assertion whose aud is a list is refused'],
    ['par-test-par-endpoint-url-as-audience-fails', 'an assertion for the URL of the endpoint is refused'],
    ['par-test-token-endpoint-url-as-audience-fails', 'an assertion for the token endpoint is refused'],
  ].map(([name, checks]) => only(withAssertions, String(name), String(checks))),
];
