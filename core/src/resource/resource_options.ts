import { ConfigurationError } from '../protocol/oauth_error.ts';

/** @throws {ConfigurationError} no URL of http or https without query and fragment (RFC 8414 §2) */
export function requireIssuer(issuer: string): string {
  const url = URL.parse(issuer);
  if (url !== null && /^https?:$/.test(url.protocol) && !/[?#]/.test(issuer)) return issuer;
  throw new ConfigurationError('issuer', 'the URL of the authorization server');
}

/**
 * @param issuer whose URLs it may be: with TLS where the issuer has it
 * @returns the same URL, in ASCII
 * @throws {ConfigurationError} it is none of http or https, or has no TLS
 */
export function requireUrl(option: string, url: string, issuer?: string): string {
  const { protocol, href } = URL.parse(url) ?? { protocol: '', href: '' };
  const isOfIssuer = issuer === undefined || protocol === new URL(issuer).protocol;
  if (/^https?:$/.test(protocol) && isOfIssuer) return href;
  throw new ConfigurationError(option, 'a URL of https, as the issuer has it');
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
