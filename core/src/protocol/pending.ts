// Pending rows: each waits for its end, expires, and is used once. A new kind is one more entry in this table (ADR 152).

const DAY = 24 * 60 * 60;

/** What the server knows about a kind of pending row. Stores know only its name. */
interface Kind {
  /** Only its type counts: what rows of the kind keep. */
  readonly data: object;
  /** Rows of the kind expire within this many seconds. */
  readonly mostSeconds: number;
  /** Whether a second identifier finds a row too. */
  readonly hasOtherId: boolean;
}

/** What is known of a request of a device. */
export interface DeviceRequestState {
  /** Parameters from which the request is rebuilt. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly requestedAtMs: number;
  /** What limits count as the sender of the request (`HttpRequest.place`). */
  readonly place?: string;
  /** When both codes expire, in seconds since 1970. The row stays longer, so that the device gets the right error. */
  readonly codesExpireAt: number;
  /** Seconds between two polls of the device. Grows with each early one (RFC 8628 §3.5). */
  readonly interval: number;
  /** The last poll that was not early. */
  readonly polledAtMs?: number;
  readonly decision?: 'approved' | 'denied';
  /** `id` of the authorization code that was issued at the approval. */
  readonly codeId?: string;
}

export const PENDING_KINDS = {
  /** A pushed authorization request, under the digest of its `request_uri` (RFC 9126). Keeps the parameters. */
  pushed_request: { data: {} as Readonly<Record<string, string>>, mostSeconds: DAY, hasOtherId: false },
  /** A request of a device, under the digest of its device code. The digest of its user code finds it too (RFC 8628). */
  device_request: { data: {} as DeviceRequestState, mostSeconds: DAY, hasOtherId: true },
} as const satisfies Record<string, Kind>;

export type PendingKind = keyof typeof PENDING_KINDS;

/** Something that waits for its end, and expires. */
export interface PendingRow<K extends PendingKind = PendingKind> {
  readonly kind: K;
  /** SHA-256 (base64url) of what its holder presents. Unique within the kind. */
  readonly id: string;
  /** A digest that finds the row as well, if the kind has one. Unique within the kind. */
  readonly otherId?: string;
  readonly clientId: string;
  readonly data: (typeof PENDING_KINDS)[K]['data'];
  /** How often the row was changed. */
  readonly version: number;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

/** A pending row to be stored. */
export type NewPendingRow<K extends PendingKind = PendingKind> = Omit<PendingRow<K>, 'version'>;
