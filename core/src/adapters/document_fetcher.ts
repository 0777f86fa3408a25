// Fetches documents whose URLs come from clients, without access to the host's private network.
import { lookup, Resolver } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6, type LookupFunction } from 'node:net';
import {
  DOCUMENT_LIMITS,
  DocumentError,
  type FetchDocument,
  type FetchedDocument,
  type OutgoingRequest,
  siteOf,
  withinTime,
} from '../http/fetch_document.ts';
import { anyFunction, anyText, type KindsOf, requireKinds, trueOrFalse } from '../protocol/option_kinds.ts';
import { addressUnit } from './node_exchange.ts';

export interface DocumentFetcherOptions {
  /**
   * Also allows `http:` and addresses of this machine and its private networks. Use it for development only: otherwise
   * anyone who can register a client could read from your private network. Default: `false`.
   */
  readonly allowPrivateAddresses?: boolean;
  /**
   * Certificates (PEM) of the authorities that are trusted instead of the usual ones, for servers of your own. Then only
   * `https:` is allowed.
   */
  readonly certificateAuthorities?: string;
  /** Looks up the IP addresses of a host name. Default: the name servers of the machine. */
  readonly resolveName?: ResolveName;
}

const OPTIONS: KindsOf<DocumentFetcherOptions> = {
  allowPrivateAddresses: trueOrFalse,
  certificateAuthorities: anyText,
  resolveName: anyFunction,
};

/**
 * Returns a function that fetches documents from URLs that clients name. It allows only `https:` and public addresses,
 * connects to the very address that it has checked, checks each redirect alike, and keeps to `DOCUMENT_LIMITS`.
 * See ADR 21.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * new AuthorizationServer({ ...options, fetchDocument: documentFetcher() });
 */
export function documentFetcher(options: DocumentFetcherOptions = {}): FetchDocument {
  requireKinds(options, OPTIONS);
  const { allowPrivateAddresses = false, certificateAuthorities: ca } = options;
  const { resolveName = allowPrivateAddresses ? resolveLocalName : resolvePublicName } = options;
  const policy = { allowPrivateAddresses, resolveName, ca };
  const limits = new RequestLimits();
  const fetchDocument: FetchDocument = async (text, request = {}) => {
    const url = parseUrl(text);
    const timeoutMs = Math.min(request.timeoutMs ?? DOCUMENT_LIMITS.timeoutMs, DOCUMENT_LIMITS.timeoutMs);
    // One timeout covers lookups, connections and bodies together.
    return withinTime(timeoutMs, 'the document could not be fetched', (signal) =>
      limits.within(url, signal, () => follow(url, request, policy, signal)),
    );
  };
  return Object.assign(fetchDocument, {
    refusalOf: (url: string) => documentRefusal(url, { allowPrivateAddresses }),
  });
}

/**
 * Returns why `documentFetcher` would refuse a URL, or `undefined` if only its addresses can tell. Call it when a URL
 * is registered, so that mistakes show at once.
 * @throws {DocumentError} the text is not a URL
 */
export function documentRefusal(
  url: string,
  { allowPrivateAddresses = false }: Pick<DocumentFetcherOptions, 'allowPrivateAddresses'> = {},
): string | undefined {
  return refusalOf(parseUrl(url), allowPrivateAddresses);
}

async function follow(
  start: URL,
  request: OutgoingRequest,
  policy: DestinationPolicy,
  signal: AbortSignal,
): Promise<FetchedDocument> {
  const maxBytes = Math.min(request.maxBytes ?? DOCUMENT_LIMITS.bytes, DOCUMENT_LIMITS.bytes);
  const maxRedirects = Math.min(request.maxRedirects ?? DOCUMENT_LIMITS.redirects, DOCUMENT_LIMITS.redirects);
  let url = start;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const { location, ...document } = await exchange(
      await destinationOf(url, policy, signal),
      request,
      maxBytes,
      signal,
    );
    const isRedirect = [301, 302, 303, 307, 308].includes(document.status) && request.method !== 'POST';
    if (!isRedirect || location === undefined) return document;
    url = parseUrl(location, url);
  }
  throw new DocumentError('refused', 'too many redirects');
}

/** Returns the IP addresses of a name, possibly none. Rejects if the lookup itself failed. */
type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

interface DestinationPolicy {
  readonly allowPrivateAddresses: boolean;
  readonly resolveName: ResolveName;
  readonly ca: string | undefined;
}

/** A URL with its checked addresses. The connection goes to these, without a second lookup. */
interface Destination {
  readonly url: URL;
  readonly addresses: readonly string[];
  /** Certificates of the only authorities that are trusted. Default: the usual ones. */
  readonly ca?: string | undefined;
}

const HTTPS_PORT = 443;

/** Lower ports belong to system services (RFC 6335 §6). Of these, only 443 serves documents. */
const FIRST_USER_PORT = 1024;

/** Unlike `new URL`, it throws an error that does not contain the text. */
function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new DocumentError('refused', 'not a valid URL');
  return url;
}

const NOT_PUBLIC = 'the host has an address that is not public';

/** Always this machine; name servers are not asked (RFC 6761 §6.3). */
const LOCALHOST = /(?:^|\.)localhost\.?$/;

/** Returns why the URL itself is not allowed; otherwise `undefined`, and its addresses still have to be checked. */
export function refusalOf(url: URL, allowPrivateAddresses: boolean): string | undefined {
  if (url.username !== '' || url.password !== '') return 'the URL contains a username or password';
  if (url.protocol !== 'https:' && !(allowPrivateAddresses && url.protocol === 'http:'))
    return 'the URL is not https';
  if (allowPrivateAddresses) return undefined;
  if (!isUsualPort(url.port)) return 'the port must be 443, or 1024 or higher';
  const address = LOCALHOST.test(url.hostname) ? '127.0.0.1' : writtenAddress(url.hostname);
  return address === undefined || isPublicAddress(address) ? undefined : NOT_PUBLIC;
}

/**
 * Checks a URL and all addresses of its host.
 * @throws {DocumentError} `refused`: the URL or an address is not allowed; `failed`: the lookup found no address
 */
async function destinationOf(
  url: URL,
  { allowPrivateAddresses, resolveName, ca }: DestinationPolicy,
  signal: AbortSignal,
): Promise<Destination> {
  const refusal = refusalOf(url, allowPrivateAddresses);
  if (refusal !== undefined) throw new DocumentError('refused', refusal);
  if (ca !== undefined && url.protocol !== 'https:')
    throw new DocumentError('refused', 'the URL is not https');

  const addresses = await addressesOf(url, resolveName, signal);
  // One private address is enough to refuse, because the name's owner must not influence which one is used.
  if (!allowPrivateAddresses && !addresses.every(isPublicAddress))
    throw new DocumentError('refused', NOT_PUBLIC);
  return { url, addresses, ca };
}

async function addressesOf(
  { hostname }: URL,
  resolveName: ResolveName,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const written = writtenAddress(hostname);
  if (written !== undefined) return [written];
  const addresses = await resolveName(hostname, signal);
  if (addresses.length === 0) throw new DocumentError('failed', 'the host name has no IP address');
  return addresses;
}

/** The URL parser has already normalized IPv4 addresses such as `0x7f.1` and `2130706433`. */
function writtenAddress(hostname: string): string | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? undefined : host;
}

function isUsualPort(port: string): boolean {
  return port === '' || Number(port) === HTTPS_PORT || Number(port) >= FIRST_USER_PORT;
}

/**
 * Asks the name servers directly. `getaddrinfo` would block one of the few threads that also hash passwords, as long
 * as the domain's name servers take.
 */
const resolvePublicName: ResolveName = async (name, signal) => {
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

/** Uses the system's resolver, so that the hosts file counts. */
const resolveLocalName: ResolveName = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/** The response to one request; redirects have not been followed. */
export interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly location: string | undefined;
  readonly caching?: FetchedDocument['caching'];
  readonly body: string;
}

/** Headers of each request. It sends no cookies or credentials, and accepts no compression. */
const OWN_HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'grantd' };

/**
 * Sends one request over a new connection to one of the destination's addresses.
 * @param maxBytes limit for the body; reading stops just past it
 * @throws {DocumentError} `refused`: the response is too large or compressed
 * @throws {Error} the connection failed, or the signal aborted it
 */
export async function exchange(
  destination: Destination,
  { method = 'GET', headers, body, answerAs = 'utf8' }: OutgoingRequest,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Answer> {
  const { url, addresses, ca } = destination;
  // Imported here because most servers never send a request, and start faster without TLS.
  const { request: send } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'));
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = send(url, {
      method,
      headers: {
        ...OWN_HEADERS,
        ...headers,
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      agent: false,
      ...(ca !== undefined && { ca }),
      lookup: pinnedLookup(addresses),
      signal,
    });
    request.on('response', resolve);
    request.on('error', reject);
    request.end(body);
  });
  try {
    const status = response.statusCode ?? 0;
    const { 'content-type': contentType, location, etag, age, 'cache-control': control } = response.headers;
    const caching = [etag, age, control].some((one) => one !== undefined) && {
      caching: { etag, age, 'cache-control': control },
    };
    const isRedirect = status >= 300 && status < 400;
    const isRead = method === 'GET' && !isRedirect;
    const read = isRead ? (await readBody(response, maxBytes)).toString(answerAs) : '';
    return { status, contentType, location, ...caching, body: read };
  } finally {
    response.destroy();
  }
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { 'content-encoding': encoding = 'identity' } = response.headers;
  if (encoding.toLowerCase() !== 'identity') throw new DocumentError('refused', 'the response is compressed');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw new DocumentError('refused', 'the response is too large');
  }
  return Buffer.concat(chunks);
}

/** Returns the checked addresses instead of a second lookup, which a hostile name server could answer differently. */
function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, { all }, done) => {
    if (all) done(null, found);
    else done(null, found[0]?.address ?? '', found[0]?.family);
  };
}

/** Special-purpose blocks of the IANA registry (RFC 6890). */
const SPECIAL_IPV4 = blockList('ipv4', [
  ['0.0.0.0', 8], // this network (RFC 791)
  ['10.0.0.0', 8], // private (RFC 1918)
  ['100.64.0.0', 10], // carrier-grade NAT (RFC 6598)
  ['127.0.0.0', 8], // loopback (RFC 1122)
  ['169.254.0.0', 16], // link-local (RFC 3927), where clouds serve credentials
  ['172.16.0.0', 12], // private (RFC 1918)
  ['192.0.0.0', 24], // IETF protocol assignments (RFC 6890)
  ['192.0.2.0', 24], // documentation (RFC 5737)
  ['192.31.196.0', 24], // AS112 (RFC 7535)
  ['192.52.193.0', 24], // AMT (RFC 7450)
  ['192.88.99.0', 24], // 6to4 relays (RFC 7526)
  ['192.168.0.0', 16], // private (RFC 1918)
  ['192.175.48.0', 24], // AS112 (RFC 7534)
  ['198.18.0.0', 15], // benchmarking (RFC 2544)
  ['198.51.100.0', 24], // documentation (RFC 5737)
  ['203.0.113.0', 24], // documentation (RFC 5737)
  ['224.0.0.0', 4], // multicast (RFC 1112)
  ['240.0.0.0', 4], // reserved, and broadcast (RFC 1112, RFC 919)
]);

/** All other IPv6 space, except NAT64, is special-purpose or unassigned. */
const GLOBAL_IPV6 = blockList('ipv6', [['2000::', 3]]);
const SPECIAL_IPV6 = blockList('ipv6', [
  ['2001::', 23], // IETF protocol assignments, with Teredo and benchmarking (RFC 2928, RFC 4380, RFC 5180)
  ['2001:db8::', 32], // documentation (RFC 3849)
  ['2002::', 16], // 6to4, which leads to the IPv4 address inside it (RFC 3056)
  ['2620:4f:8000::', 48], // AS112 (RFC 7534)
  ['3fff::', 20], // documentation (RFC 9637)
]);

/** Reaches the IPv4 address in its last 32 bits (RFC 6052 §2.1). IPv6-only networks reach IPv4 only this way. */
const NAT64 = blockList('ipv6', [['64:ff9b::', 96]]);

/** Returns whether everyone on the internet can reach this IP address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL_IPV4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false; // a zone means a link of this machine
  if (NAT64.check(address, 'ipv6')) return !SPECIAL_IPV4.check(lastFourBytes(address), 'ipv4');
  return GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6');
}

function blockList(
  family: 'ipv4' | 'ipv6',
  blocks: readonly (readonly [network: string, bits: number])[],
): BlockList {
  const list = new BlockList();
  for (const [network, bits] of blocks) list.addSubnet(network, bits, family);
  return list;
}

/** Returns the last 32 bits of an IPv6 address in dotted IPv4 form. */
function lastFourBytes(address: string): string {
  // The URL parser writes every form of the address in hexadecimal groups.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::').at(-1)?.split(':') ?? [];
  const [high = 0, low = 0] = ['0', '0', ...groups]
    .slice(-2)
    .map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Limit for all concurrent requests. Further ones fail, so that slow sites cannot exhaust the server. */
const MAX_REQUESTS = 64;

/** Limit for concurrent requests to one site, so that a slow one leaves room for the others. */
const MAX_REQUESTS_PER_SITE = 16;

/** Limit for requests that wait until another request to their site has finished. */
const MAX_WAITING_PER_SITE = 48;

/** Limits concurrent requests, in total and per site. */
class RequestLimits {
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();
  #total = 0;

  /**
   * Runs `work` as soon as the limits allow it.
   * @param signal ends the wait, not the work
   * @throws {DocumentError} `failed`: too many requests are running or waiting
   */
  async within<T>(url: URL, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const site = siteOf(url.hostname, addressUnit);
    await this.#begin(site, signal);
    try {
      return await work();
    } finally {
      this.#end(site);
    }
  }

  async #begin(site: string, signal: AbortSignal): Promise<void> {
    const toSite = this.#running.get(site) ?? 0;
    if (this.#total >= MAX_REQUESTS) throw tooMany();
    if (toSite >= MAX_REQUESTS_PER_SITE) return this.#wait(site, signal);
    this.#running.set(site, toSite + 1);
    this.#total += 1;
  }

  /** Resolves when another request to the site has finished. That request passes its place on. */
  async #wait(site: string, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(site) ?? new Set();
    if (waiting.size >= MAX_WAITING_PER_SITE) throw tooMany();
    this.#waiting.set(site, waiting);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => {
      waiting.delete(resolve);
      reject(tooMany());
    };
    waiting.add(resolve);
    signal.addEventListener('abort', giveUp);
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  #end(site: string): void {
    const waiting = this.#waiting.get(site);
    const [next] = waiting ?? [];
    if (next !== undefined) {
      waiting?.delete(next);
      next();
      return;
    }
    this.#waiting.delete(site);
    const left = (this.#running.get(site) ?? 1) - 1;
    if (left === 0) this.#running.delete(site);
    else this.#running.set(site, left);
    this.#total -= 1;
  }
}

function tooMany(): DocumentError {
  return new DocumentError('failed', 'too many documents are being fetched');
}
