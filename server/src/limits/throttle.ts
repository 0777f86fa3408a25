// Limits what strangers can reach without an identity (ADR 155).
import { DEFAULT_PATHS } from '@grantd/core';
import { RequestRate, senderOf } from '@grantd/core/node';
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
 * with many users sends many requests from one address. Requests that are pushed and those of devices are stored, and
 * need no more than the identifier of a public client, which can be the URL of any document.
 */
export const THROTTLED_ROUTES: readonly ThrottledRoute[] = [
  { operation: 'authorization', path: DEFAULT_PATHS.authorization },
  { operation: 'pushed_authorization_request', path: DEFAULT_PATHS.pushedAuthorizationRequest },
  { operation: 'device_authorization', path: DEFAULT_PATHS.deviceAuthorization },
  { operation: 'device', path: DEFAULT_PATHS.device },
  {
    operation: 'registration',
    path: DEFAULT_PATHS.registration,
    isOpen: ({ registration }) => registration === 'open',
  },
];

/** Limits of one process. */
export class Throttle {
  /** Operations with a limit, by their path. */
  readonly operations: ReadonlyMap<string, string>;
  readonly #rate: RequestRate;

  constructor(
    issuer: string,
    settings: Pick<Settings, 'addressRequestLimit' | 'registration'>,
    clock?: () => number,
  ) {
    const base = new URL(issuer).pathname.replace(/\/$/, '');
    const routes = THROTTLED_ROUTES.filter(({ isOpen }) => isOpen?.(settings) ?? true);
    this.operations = new Map(routes.map(({ path, operation }) => [base + path, operation]));
    this.#rate = new RequestRate(settings.addressRequestLimit, clock);
  }

  /** Counts a request. @returns seconds to wait; 0 to go on */
  take(operation: string, address: string): number {
    return this.#rate.take(`${operation} ${senderOf(address)}`);
  }
}
