import { DocumentError } from '../../protocol/fetch_document.ts';
import { addressUnit } from './remote_address.ts';

/** Requests under way at once; further ones fail, so that slow strangers cannot pile up here. */
const MOST_AT_ONCE = 64;

/** Of them to one site, so that a slow one leaves room for all others. */
const MOST_TO_ONE_SITE = 16;

/** Of one site, until another request to it is over. */
const MOST_WAITING = 48;

/** Shares of the requests that may be under way: everyone's together, and each site's. */
export class SiteShares {
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
