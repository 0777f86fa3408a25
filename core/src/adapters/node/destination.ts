import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { DocumentError } from '../../protocol/fetch_document.ts';
import { isPublicAddress } from './public_address.ts';

/** Which IP addresses a name has; none is an empty list. A rejection is an outage. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/** Where a request may go. */
export interface DestinationPolicy {
  readonly allowPrivateAddresses: boolean;
  readonly resolveName: ResolveName;
}

/** A URL with the addresses that it was found to have; the connection goes to these and no others. */
export interface Destination {
  readonly url: URL;
  readonly addresses: readonly string[];
}

const HTTPS_PORT = 443;

/** Ports below belong to the system's services (RFC 6335 §6), of which a client's documents are on one alone. */
const FIRST_USER_PORT = 1024;

/** As `new URL` does, but without a word about the text in what it throws. */
export function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new DocumentError('refused', 'the text is no URL');
  return url;
}

const NOT_PUBLIC = 'the host has an address that is not public';

/** Names of this machine, whatever name servers say (RFC 6761 §6.3). */
const LOCALHOST = /(?:^|\.)localhost\.?$/;

/** Why a URL is never asked, as far as it tells that itself; otherwise `undefined`, and the addresses of its name decide. */
export function refusalOf(url: URL, allowPrivateAddresses: boolean): string | undefined {
  if (url.username !== '' || url.password !== '') return 'the URL carries credentials';
  if (url.protocol !== 'https:' && !(allowPrivateAddresses && url.protocol === 'http:'))
    return 'the URL is not https';
  if (allowPrivateAddresses) return undefined;
  if (!isUsualPort(url.port)) return 'the port is neither 443 nor 1024 or above';
  const address = LOCALHOST.test(url.hostname) ? '127.0.0.1' : writtenAddress(url.hostname);
  return address === undefined || isPublicAddress(address) ? undefined : NOT_PUBLIC;
}

/**
 * Checks a URL and all addresses of its host.
 * @throws {DocumentError} `refused`: not one to be asked; `failed`: its name cannot be looked up
 */
export async function destinationOf(
  url: URL,
  { allowPrivateAddresses, resolveName }: DestinationPolicy,
  signal: AbortSignal,
): Promise<Destination> {
  const refusal = refusalOf(url, allowPrivateAddresses);
  if (refusal !== undefined) throw new DocumentError('refused', refusal);

  const addresses = await addressesOf(url, resolveName, signal);
  // One that is not public is enough: which of several is asked is not for the name's owner to choose.
  if (!allowPrivateAddresses && !addresses.every(isPublicAddress))
    throw new DocumentError('refused', NOT_PUBLIC);
  return { url, addresses };
}

async function addressesOf(
  { hostname }: URL,
  resolveName: ResolveName,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const written = writtenAddress(hostname);
  if (written !== undefined) return [written];
  const addresses = await resolveName(hostname, signal);
  if (addresses.length === 0) throw new DocumentError('failed', 'the name has no address');
  return addresses;
}

/** The URL parser has written every form of an IPv4 address, also `0x7f.1` and `2130706433`, with dots. */
function writtenAddress(hostname: string): string | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? undefined : host;
}

function isUsualPort(port: string): boolean {
  return port === '' || Number(port) === HTTPS_PORT || Number(port) >= FIRST_USER_PORT;
}

/**
 * Asks the name servers themselves. `getaddrinfo` would hold one of the few threads that also hash passwords, for as
 * long as the name servers of a stranger please.
 */
export const resolvePublicName: ResolveName = async (name, signal) => {
  if (LOCALHOST.test(name)) return ['127.0.0.1'];
  const resolver = new Resolver();
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = [ipv4, ipv6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length === 0 && ipv4.status === 'rejected') throw ipv4.reason;
    return found;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};

/** As every other program of this machine does, with its hosts file. */
export const resolveLocalName: ResolveName = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);
