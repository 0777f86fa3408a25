import type { Primitives } from './primitives.ts';

/** The parts of a request besides the exchange. A missing one counts as 0. */
export interface Parts {
  readonly verify?: 'RS256' | 'ES256';
  readonly sign?: 'RS256' | 'ES256';
  /** Default: 1. */
  readonly signatures?: number;
  readonly lookUps?: number;
  readonly inserts?: number;
  /** The share of a durable commit: 1 for a commit per request, 1/64 if 64 requests share one. */
  readonly commits?: number;
}

/**
 * Requests per second of a process on one core that does only the bare exchange and these parts.
 * @param bareRate requests per second of the bare server, in the same run
 */
export function ceiling(bareRate: number, primitives: Primitives, parts: Parts): number {
  const { verifyRs256, verifyEs256, signRs256, signEs256, lookUp, insert, commit } = primitives;
  const verify = { RS256: verifyRs256.medianUs, ES256: verifyEs256.medianUs };
  const sign = { RS256: signRs256.medianUs, ES256: signEs256.medianUs };
  const microseconds =
    1e6 / bareRate +
    (parts.verify === undefined ? 0 : verify[parts.verify]) +
    (parts.sign === undefined ? 0 : sign[parts.sign] * (parts.signatures ?? 1)) +
    (parts.lookUps ?? 0) * lookUp.medianUs +
    (parts.inserts ?? 0) * insert.medianUs +
    (parts.commits ?? 0) * commit.medianUs;
  return 1e6 / microseconds;
}

interface Share {
  /** Share of all requests. All shares sum to 1. */
  readonly share: number;
  /** Requests per second of this kind alone. */
  readonly rate: number;
}

/** Requests per second of a mix. Slower kinds take a larger share of each second. */
export function rateOfMix(shares: readonly Share[]): number {
  const sum = shares.reduce((all, { share }) => all + share, 0);
  if (Math.abs(sum - 1) > 1e-9) throw new RangeError(`the shares of a mix sum to ${sum}, not to 1`);
  return 1 / shares.reduce((seconds, { share, rate }) => seconds + share / rate, 0);
}
