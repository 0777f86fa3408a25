import { lookup, Resolver } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6, type LookupFunction } from 'node:net';
import {
  DOCUMENT_LIMITS,
  DocumentError,
  type FetchDocument,
  type FetchedDocument,
  type OutgoingRequest,
  withinTime,
} from '../http/fetch_document.ts';
import { anyFunction, type KindsOf, requireKinds, trueOrFalse } from '../option_kinds.ts';

export interface DocumentFetcherOptions {
  /**
   * Also asks addresses of the machine and its networks, by http as well: for development alone, since whoever may
   * register a client could read from there what is meant for nobody outside. Default: `false`.
   */
  readonly allowPrivateAddresses?: boolean;
  /** How a name becomes addresses. Default: the name servers of the machine. */
  readonly resolveName?: ResolveName;
}

const OPTIONS: KindsOf<DocumentFetcherOptions> = {
  allowPrivateAddresses: trueOrFalse,
  resolveName: anyFunction,
};

/**
 * Fetches documents that strangers name: https alone, no address that is not public, over a connection to the very
 * address that was checked, a few redirects that are checked alike, all within `DOCUMENT_LIMITS`.
 */
export function documentFetcher(options: DocumentFetcherOptions = {}): FetchDocument {
  requireKinds(options, OPTIONS);
  const { allowPrivateAddresses = false } = options;
  const { resolveName = allowPrivateAddresses ? resolveLocalName : resolvePublicName } = options;
  const policy = { allowPrivateAddresses, resolveName };
  const shares = new SiteShares();
  const fetchDocument: FetchDocument = async (text, request = {}) => {
    const url = parseUrl(text);
    const timeoutMs = Math.min(request.timeoutMs ?? DOCUMENT_LIMITS.timeoutMs, DOCUMENT_LIMITS.timeoutMs);
    // One clock for names, connections and bodies together.
    return withinTime(timeoutMs, 'the document could not be fetched', (signal) =>
      shares.within(url, signal, () => follow(url, request, policy, signal)),
    );
  };
  return Object.assign(fetchDocument, {
    refusalOf: (url: string) => documentRefusal(url, { allowPrivateAddresses }),
  });
}

/**
 * Why such a fetcher will never ask for a URL, as far as the URL itself tells; `undefined` where it may. For whoever
 * writes one down and wants to know at once.
 * @throws {DocumentError} the text is no URL
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
  throw new DocumentError('refused', 'the answer is one redirect too many');
}

/** Which IP addresses a name has; none is an empty list. A rejection is an outage. */
type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/** Where a request may go. */
interface DestinationPolicy {
  readonly allowPrivateAddresses: boolean;
  readonly resolveName: ResolveName;
}

/** A URL with the addresses that it was found to have; the connection goes to these and no others. */
interface Destination {
  readonly url: URL;
  readonly addresses: readonly string[];
}

const HTTPS_PORT = 443;

/** Ports below belong to the system's services (RFC 6335 §6), of which a client's documents are on one alone. */
const FIRST_USER_PORT = 1024;

/** As `new URL` does, but without a word about the text in what it throws. */
function parseUrl(text: string, base?: URL): URL {
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
async function destinationOf(
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

/** As every other program of this machine does, with its hosts file. */
const resolveLocalName: ResolveName = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/** The answer to one request, before anything was made of a redirect. */
export interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
}

/** What every request says: no cookie, no credential, and that the answer must not be packed. */
const OWN_HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'grantd' };

/**
 * One request over a connection of its own to one of the destination's addresses, and what was answered.
 * @param maxBytes of the body, which is read no further than just past it
 * @throws {DocumentError} `refused`: the answer is too large, or packed
 * @throws {Error} the connection failed, or the signal ended it
 */
export async function exchange(
  destination: Destination,
  { method = 'GET', headers, body, answerAs = 'utf8' }: OutgoingRequest,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Answer> {
  const { url, addresses } = destination;
  // Loaded only here: most servers never send a request, and start sooner without TLS.
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
      lookup: answering(addresses),
      signal,
    });
    request.on('response', resolve);
    request.on('error', reject);
    request.end(body);
  });
  try {
    const status = response.statusCode ?? 0;
    const { 'content-type': contentType, location } = response.headers;
    const isRedirect = status >= 300 && status < 400;
    const isRead = method === 'GET' && !isRedirect;
    const read = isRead ? (await readBody(response, maxBytes)).toString(answerAs) : '';
    return { status, contentType, location, body: read };
  } finally {
    response.destroy();
  }
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { 'content-encoding': encoding = 'identity' } = response.headers;
  if (encoding.toLowerCase() !== 'identity') throw new DocumentError('refused', 'the answer is encoded');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw new DocumentError('refused', 'the answer is too large');
  }
  return Buffer.concat(chunks);
}

/** A look-up that has been made already: a name that answers otherwise the next time leads nowhere else. */
function answering(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, { all }, done) => {
    if (all) done(null, found);
    else done(null, found[0]?.address ?? '', found[0]?.family);
  };
}

/** Special-purpose blocks of the IANA registries (RFC 6890) that lie in the unicast space. */
const SPECIAL_IPV4 = blockList('ipv4', [
  ['0.0.0.0', 8], // this network (RFC 791)
  ['10.0.0.0', 8], // private (RFC 1918)
  ['100.64.0.0', 10], // carrier-grade NAT (RFC 6598)
  ['127.0.0.0', 8], // loopback (RFC 1122)
  ['169.254.0.0', 16], // link-local (RFC 3927), where clouds keep their credentials
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

/** What is neither here nor NAT64 is loopback, mapped, unique local, link-local, multicast or not given out yet. */
const GLOBAL_IPV6 = blockList('ipv6', [['2000::', 3]]);
const SPECIAL_IPV6 = blockList('ipv6', [
  ['2001::', 23], // IETF protocol assignments, with Teredo and benchmarking (RFC 2928, RFC 4380, RFC 5180)
  ['2001:db8::', 32], // documentation (RFC 3849)
  ['2002::', 16], // 6to4, which leads to the IPv4 address inside it (RFC 3056)
  ['2620:4f:8000::', 48], // AS112 (RFC 7534)
  ['3fff::', 20], // documentation (RFC 9637)
]);

/** Leads to the IPv4 address in its last 32 bits (RFC 6052 §2.1); all that an IPv6-only network sees of IPv4. */
const NAT64 = blockList('ipv6', [['64:ff9b::', 96]]);

/** Whether an IP address, as text, is one that anybody on the internet could ask. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL_IPV4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false; // a zone is one of this machine's own links
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

/** Of an IPv6 address, in the dotted form of IPv4. */
function lastFourBytes(address: string): string {
  // The URL parser writes the address in hexadecimal groups alone, whatever its form was.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::').at(-1)?.split(':') ?? [];
  const [high = 0, low = 0] = ['0', '0', ...groups]
    .slice(-2)
    .map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Requests under way at once; further ones fail, so that slow strangers cannot pile up here. */
const MOST_AT_ONCE = 64;

/** Of them to one site, so that a slow one leaves room for all others. */
const MOST_TO_ONE_SITE = 16;

/** Of one site, until another request to it is over. */
const MOST_WAITING = 48;

/** Shares of the requests that may be under way: everyone's together, and each site's. */
class SiteShares {
  readonly #underWay = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();
  #all = 0;

  /**
   * Does work when the site has a place for it.
   * @param signal ends the wait, not the work
   * @throws {DocumentError} `failed`: too many requests are under way, or wait
   */
  async within<T>(url: URL, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const site = siteOf(url);
    await this.#begin(site, signal);
    try {
      return await work();
    } finally {
      this.#end(site);
    }
  }

  async #begin(site: string, signal: AbortSignal): Promise<void> {
    const toSite = this.#underWay.get(site) ?? 0;
    if (this.#all >= MOST_AT_ONCE) throw tooMany();
    if (toSite >= MOST_TO_ONE_SITE) return this.#turn(site, signal);
    this.#underWay.set(site, toSite + 1);
    this.#all += 1;
  }

  /** Resolves when a request to the site is over, whose place is taken then. */
  async #turn(site: string, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(site) ?? new Set();
    if (waiting.size >= MOST_WAITING) throw tooMany();
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
    const left = (this.#underWay.get(site) ?? 1) - 1;
    if (left === 0) this.#underWay.delete(site);
    else this.#underWay.set(site, left);
    this.#all -= 1;
  }
}

/**
 * Whoever has a domain has as many names below it as they like: all names that end alike are one site, by their last two
 * labels. The domains of a registry with more labels (`co.uk`) are one as well, and wait for each other.
 */
function siteOf({ hostname }: URL): string {
  const isAddress = hostname.startsWith('[') || /^[\d.]+$/.test(hostname);
  return isAddress ? addressUnit(hostname) : hostname.split('.').filter(Boolean).slice(-2).join('.');
}

function tooMany(): DocumentError {
  return new DocumentError('failed', 'too many documents are being fetched');
}

/** An IPv4 address as IPv6 writes it (RFC 4291 §2.5.5.2), in the one way in which a URL's host does. */
const IPV4_MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** An address in one way of writing it: without port and zone, and IPv4 as IPv4. `undefined` if the text is none. */
export function plainAddress(text: string): string | undefined {
  const [, bracketed, before] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? [];
  const address = (bracketed ?? before ?? text.trim()).replace(/%.*$/, '');
  const version = isIP(address);
  if (version === 0) return undefined;
  if (version === 4) return address;
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = IPV4_MAPPED.exec(written) ?? [];
  return high === undefined || low === undefined ? written : ipv4Of(high, low);
}

const GROUPS = 8;
/** Of 64 bits: what a network gives to one customer at least (RFC 6177 §2). */
const GROUPS_OF_UNIT = 4;

/**
 * What counts as one address in every limit: an IPv4 address, or the /64 of an IPv6 address, since whoever has one of
 * its addresses has them all. Any other text is its own unit.
 */
export function addressUnit(text: string): string {
  const address = plainAddress(text);
  if (address === undefined || isIP(address) === 4) return address ?? text;
  const [head = '', tail] = address.split('::');
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const zeros = tail === undefined ? 0 : GROUPS - (before?.length ?? 0) - (after?.length ?? 0);
  const groups = [...(before ?? []), ...Array<string>(zeros).fill('0'), ...(after ?? [])];
  return `${groups.slice(0, GROUPS_OF_UNIT).join(':')}::/64`;
}

/** @param halves 16 bits each, in hexadecimal */
function ipv4Of(...halves: readonly [string, string]): string {
  return halves
    .map((half) => Number.parseInt(half, 16))
    .flatMap((bits) => [bits >> 8, bits & 0xff])
    .join('.');
}
