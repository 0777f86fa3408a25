import { ConfigurationError } from '../protocol/oauth_error.ts';

/** @throws {ConfigurationError} no URL of http or https without query and fragment (RFC 8414 §2) */
export function requireIssuer(issuer: string): string {
  const url = URL.parse(issuer);
  if (url !== null && /^https?:$/.test(url.protocol) && !/[?#]/.test(issuer)) return issuer;
  throw new ConfigurationError('issuer', 'the URL of the authorization server');
}

/** @throws {ConfigurationError} none, or an empty one */
export function requireAudience(audience: string | readonly string[]): readonly string[] {
  const audiences = [audience].flat();
  if (audiences.length > 0 && audiences.every((one) => typeof one === 'string' && one !== ''))
    return audiences;
  throw new ConfigurationError('audience', 'what access tokens for this API name as their audience');
}

/** @throws {ConfigurationError} no number, or out of bounds */
export function requireBetween(option: string, value: number, least: number, most: number): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new ConfigurationError(option, `a number from ${least} to ${most}`);
}
