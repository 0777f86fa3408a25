import { isJsonObject } from '@grantd/core/options';
import type { ProgramSecret } from '../instance/program_secret.ts';
import { SealedValues } from './sealed_values.ts';

/** How long a person may take for signing in and consenting. */
const LONGEST_MS = 60 * 60 * 1000;

/** Longer ones do not fit an address beside the cookies, in what Node reads of a request's head. */
const LONGEST_SEALED = 12_000;

/** What a person came for, on its way through the pages. */
export type PendingRequest = PendingAuthorization | PendingLogout | PendingAccount;

export interface PendingAuthorization {
  readonly kind: 'authorization';
  /** From which the library makes the same request again. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly begunAtMs: number;
  /** The session that the person chose to go on with. */
  readonly chosenSession?: string;
  /** The sign-in that the request led to (`signInName`). */
  readonly signIn?: string;
}

export interface PendingLogout {
  readonly kind: 'logout';
  readonly parameters: Readonly<Record<string, string>>;
  readonly begunAtMs: number;
}

/** A person who came to see their account. */
export interface PendingAccount {
  readonly kind: 'account';
  readonly begunAtMs: number;
}

/**
 * Keeps requests in the address of the pages, sealed: what a client pushed is not for the person's browser to read, nor
 * for whoever sees its history, and a beginning cannot be made up.
 */
export class PendingRequests {
  readonly #values: SealedValues;

  constructor(secret: ProgramSecret) {
    this.#values = new SealedValues(secret, 'pending_request');
  }

  /** @returns `undefined` where it is too long for an address */
  async seal(pending: PendingRequest): Promise<string | undefined> {
    const sealed = await this.#values.seal(pending);
    return sealed.length <= LONGEST_SEALED ? sealed : undefined;
  }

  /** @returns `undefined` where the request was not begun here, or too long ago */
  async open(sealed: string): Promise<PendingRequest | undefined> {
    const value = await this.#values.open(sealed);
    const pending = isJsonObject(value) ? pendingOf(value) : undefined;
    return pending !== undefined && pending.begunAtMs + LONGEST_MS > Date.now() ? pending : undefined;
  }
}

/** @returns `undefined` for what another version of the program sealed */
function pendingOf(value: Readonly<Record<string, unknown>>): PendingRequest | undefined {
  const { kind, parameters, begunAtMs, chosenSession, signIn } = value;
  if (typeof begunAtMs !== 'number') return undefined;
  if (kind === 'account') return { kind, begunAtMs };
  if (!isParameters(parameters)) return undefined;
  if (kind === 'logout') return { kind, parameters, begunAtMs };
  if (kind !== 'authorization') return undefined;
  return {
    ...{ kind, parameters, begunAtMs },
    ...(typeof chosenSession === 'string' && { chosenSession }),
    ...(typeof signIn === 'string' && { signIn }),
  };
}

function isParameters(value: unknown): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((one) => typeof one === 'string');
}
