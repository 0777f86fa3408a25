// Where requests come from, and whether a browser sends them.
import type { IncomingHttpHeaders } from 'node:http';
import { preferencesOf } from '@grantd/core';
import { addressUnit, plainAddress } from '@grantd/core/node';
import { networkCheck } from './networks.ts';
import type { Settings } from './options.ts';

interface AddressedRequest {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
}

/** Returns the IP address of a request’s sender. */
export type ClientAddress = (request: AddressedRequest) => string;

/** Stands for the client’s address if a trusted proxy reports something else. It belongs to no network. */
const UNKNOWN_ADDRESS = 'unknown';

/**
 * Determines client addresses: the address of the connection, or behind trusted proxies the address that they report.
 * Each proxy appends to `X-Forwarded-For`, so the entries before the last trusted one can be forged.
 */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = networkCheck(trustedProxies);
  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? '') ?? '';
    for (const forwarded of forwardedFor(headers).reverse()) {
      if (!isTrusted(address)) return address;
      address = plainAddress(forwarded) ?? UNKNOWN_ADDRESS;
    }
    return address;
  };
}

/** Headers that proxies add to requests. */
const PROXY_HEADERS = [
  ...['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port'],
  ...['x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip', 'x-envoy-external-address'],
];

/**
 * Decides by `adminFrom` whether a request may reach administration. A request that has come through a proxy has a known
 * sender only if a trusted proxy reports it. Otherwise, everyone behind a proxy on this machine would seem to be on this
 * machine (ADR 164).
 * @param onUnknownSender called once, for the first request with the address of a proxy in `adminFrom`
 */
export function admissionByAddress(
  { adminFrom, trustedProxies = [] }: Pick<Settings, 'adminFrom' | 'trustedProxies'>,
  onUnknownSender: () => void,
): (request: AddressedRequest) => boolean {
  const [isAdmitted, isTrusted] = [networkCheck(adminFrom), networkCheck(trustedProxies)];
  const addressOf = clientAddress(trustedProxies);
  let isReported = false;
  return (request) => {
    if (!isAdmitted(addressOf(request))) return false;
    const { headers, socket } = request;
    if (!PROXY_HEADERS.some((name) => headers[name] !== undefined)) return true;
    const isKnown =
      headers['x-forwarded-for'] !== undefined && isTrusted(plainAddress(socket.remoteAddress ?? '') ?? '');
    if (!isKnown && !isReported) {
      isReported = true;
      onUnknownSender();
    }
    return isKnown;
  };
}

/** Of the 16-bit groups of an IPv6 address. */
const GROUPS_OF_SITE = 3;

/**
 * The name of the site of an address unit: of an IPv4 address, or of the /48 of an IPv6 /64. Anyone can have a /48 with
 * thousands of /64 (ADR 229).
 */
export const siteOf = (unit: string): string => `site ${unit.split(':', GROUPS_OF_SITE).join(':')}`;

/**
 * The network of an address, which says where a sign-in came from without naming one device.
 * @returns an IPv4 /24 or an IPv6 /56; `undefined` if the text is no address
 */
export function networkOf(address: string): string | undefined {
  const unit = addressUnit(address);
  const [ipv4] = /^(?:\d+\.){3}(?=\d+$)/.exec(unit) ?? [];
  if (ipv4 !== undefined) return `${ipv4}0/24`;
  const [, groups, last = ''] = /^((?:[0-9a-f]+:){3})([0-9a-f]+)::\/64$/.exec(unit) ?? [];
  return groups && `${groups}${(Number.parseInt(last, 16) & 0xff00).toString(16)}::/56`;
}

function forwardedFor(headers: IncomingHttpHeaders): string[] {
  const lines = headers['x-forwarded-for'] ?? [];
  return [lines].flat().flatMap((line) => line.split(','));
}

/** Whether a browser shows the response to its user: it then asks for HTML by name. */
export function asksForPage(accept: string | undefined): boolean {
  const weightOf = (type: string) => preferencesOf(accept).find(({ value }) => value === type)?.weight ?? 0;
  return weightOf('text/html') > 0 && weightOf('text/html') >= weightOf('application/json');
}
