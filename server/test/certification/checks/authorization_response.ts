import assert from 'node:assert/strict';
import type { Provider } from '../provider.ts';
import { present } from '../verdict.ts';
import { checkIsHardToGuess } from './entropy.ts';

/** The characters of NQSCHAR (RFC 6749 appendix A.7, A.8). */
const ERROR_TEXT = /^[\x20-\x21\x23-\x5B\x5D-\x7E]*$/;

/**
 * A code for the request, with its state and the right issuer (RFC 9207 §2.4).
 * @returns the code
 */
export function checkCode(
  provider: Provider,
  parameters: URLSearchParams,
  state: string | undefined,
): string {
  assert.equal(parameters.get('error'), null, parameters.toString());
  checkNames(parameters, ['code', 'iss', 'state']);
  checkSender(provider, parameters, state);
  const code = present(parameters.get('code'), 'code');
  checkIsHardToGuess(code);
  return code;
}

/** An error for the request (OpenID Connect Core §3.1.2.6). @returns its code */
export function checkError(
  provider: Provider,
  parameters: URLSearchParams,
  state: string | undefined,
): string {
  checkNames(parameters, ['error', 'error_description', 'error_uri', 'iss', 'state']);
  checkSender(provider, parameters, state);
  const error = present(parameters.get('error'), 'error');
  assert.match(error, ERROR_TEXT);
  assert.match(parameters.get('error_description') ?? '', ERROR_TEXT);
  const uri = parameters.get('error_uri');
  assert.ok(uri === null || URL.canParse(uri), 'error_uri is a URI');
  return error;
}

function checkSender(provider: Provider, parameters: URLSearchParams, state: string | undefined): void {
  assert.equal(parameters.get('state') ?? undefined, state);
  const isAnnounced = provider.metadata.authorization_response_iss_parameter_supported === true;
  assert.equal(parameters.get('iss') ?? undefined, isAnnounced ? provider.issuer : undefined);
}

function checkNames(parameters: URLSearchParams, expected: readonly string[]): void {
  const names = [...parameters.keys()];
  assert.equal(new Set(names).size, names.length, 'no parameter is repeated');
  for (const name of names) assert.ok(expected.includes(name), `${name} is a parameter of the answer`);
}
