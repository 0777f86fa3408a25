import {
  DOCUMENT_LIMITS,
  DocumentError,
  type FetchDocument,
  type FetchedDocument,
  type OutgoingRequest,
} from '../../protocol/fetch_document.ts';
import { anyFunction, type KindsOf, requireKinds, trueOrFalse } from '../../protocol/option_kinds.ts';
import { withinTime } from '../../protocol/within_time.ts';
import {
  type DestinationPolicy,
  destinationOf,
  parseUrl,
  type ResolveName,
  refusalOf,
  resolveLocalName,
  resolvePublicName,
} from './destination.ts';
import { exchange } from './exchange.ts';
import { SiteShares } from './site_shares.ts';

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
