// Limits what strangers can reach without an identity (ADR 155).
import { DEFAULT_PATHS, pathOf } from '@grantd/core';
import { addressUnit, RequestRate } from '@grantd/core/node';
import type { Settings } from '../config/options.ts';

interface ThrottledRoute {
  /** Its operation, as in the log and in metrics. */
  readonly operation: string;
  /** Below the issuer. */
  readonly path: string;
  /** Whether strangers may use it. Default: yes. */
  readonly isOpen?: (settings: Pick<Settings, 'registration'>) => boolean;
}

/**
 * Routes with a limit for each address. Polling and endpoints that authenticate their callers never have one: a client
 * with many users sends many requests from one address.
 */
export const THROTTLED_ROUTES: readonly ThrottledRoute[] = [
  { operation: 'authorization', path: DEFAULT_PATHS.authorization },
  {
    operation: 'registration',
    path: DEFAULT_PATHS.registration,
    isOpen: ({ registration }) => registration === 'open',
  },
];

/** A request that has to wait. */
export interface Throttled {
  readonly operation: string;
  readonly secondsToWait: number;
}

/** Counts requests, and says which have to wait. */
export type Throttle = (url: string, address: string) => Throttled | undefined;

/** Returns the limits of one process. */
export function throttle(
  issuer: string,
  settings: Pick<Settings, 'addressRequestLimit' | 'registration'>,
  clock?: () => number,
): Throttle {
  const rate = new RequestRate(settings.addressRequestLimit, clock);
  const base = new URL(issuer).pathname.replace(/\/$/, '');
  const operations = new Map(
    THROTTLED_ROUTES.filter(({ isOpen }) => isOpen?.(settings) ?? true).map(({ path, operation }) => [
      base + path,
      operation,
    ]),
  );
  return (url, address) => {
    const operation = operations.get(pathOf({ url }));
    if (operation === undefined) return undefined;
    const secondsToWait = rate.take(`${operation} ${addressUnit(address)}`);
    return secondsToWait === 0 ? undefined : { operation, secondsToWait };
  };
}
