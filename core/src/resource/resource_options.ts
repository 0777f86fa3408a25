import { ConfigurationError } from '../protocol/oauth_error.ts';
import { isAskable, type TransportPolicy } from './transport_policy.ts';

/**
 * @returns the issuer, and by which transport it may be asked
 * @throws {ConfigurationError} no URL without query and fragment (RFC 8414 §2), or one that may not be asked
 */
export function requireIssuer({
  issuer,
  allowInsecureRequests = false,
}: {
  readonly issuer: string;
  readonly allowInsecureRequests?: boolean | undefined;
}): TransportPolicy {
  const policy = { issuer, allowInsecureRequests };
  if (URL.canParse(issuer) && !/[?#]/.test(issuer) && isAskable(issuer, policy)) return policy;
  throw new ConfigurationError('issuer', 'the URL of the authorization server, of https or on loopback');
}

/**
 * @returns the same URL, in ASCII
 * @throws {ConfigurationError} the authorization server may not be asked there
 */
export function requireAskableUrl(option: string, url: string, policy: TransportPolicy): string {
  if (isAskable(url, policy)) return new URL(url).href;
  throw new ConfigurationError(option, 'a URL of https, or on loopback as the issuer');
}

/**
 * @returns the same URL, in ASCII
 * @throws {ConfigurationError} it is none of http or https
 */
export function requireUrl(option: string, url: string): string {
  const parsed = URL.parse(url);
  if (parsed !== null && /^https?:$/.test(parsed.protocol)) return parsed.href;
  throw new ConfigurationError(option, 'a URL of https or http');
}

/** @throws {ConfigurationError} none, or an empty one */
export function requireAudience(audience: string | readonly string[]): readonly string[] {
  const audiences = [audience].flat();
  if (audiences.length > 0 && audiences.every((one) => typeof one === 'string' && one !== ''))
    return audiences;
  throw new ConfigurationError('audience', 'what access tokens for this API name as their audience');
}

/** Seconds; more would make an expiry meaningless. */
const LONGEST_TOLERANCE = 300;

/** @throws {ConfigurationError} no seconds by which clocks may differ */
export function requireTolerance(clockTolerance = 0): number {
  return requireBetween('clockTolerance', clockTolerance, 0, LONGEST_TOLERANCE);
}

/** @throws {ConfigurationError} no number, or out of bounds */
export function requireBetween(option: string, value: number, least: number, most: number): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new ConfigurationError(option, `a number from ${least} to ${most}`);
}
