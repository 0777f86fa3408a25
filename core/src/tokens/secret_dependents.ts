import { isLiveSecret } from '../protocol/client_secrets.ts';
import type { ClientRecord } from '../protocol/records.ts';

/** What stops working when a server secret is dropped. */
export interface DependentsOfSecret {
  /** Identifiers of the clients with a live secret whose hash is under it. */
  readonly clients: readonly string[];
  /** `kid` of the signing keys that are sealed under it. */
  readonly signingKeys: readonly string[];
}

export interface SecretDependents {
  /** In the order of the secrets. */
  readonly secrets: readonly ({ readonly fingerprint: string } & DependentsOfSecret)[];
  /** Under any of them: hashes of an earlier schema, which do not say so until their client authenticates. */
  readonly unknown: DependentsOfSecret;
  /** Under none of them: these clients cannot authenticate, and these keys do not sign. */
  readonly lost: DependentsOfSecret;
}

export function secretDependents(
  clients: readonly ClientRecord[],
  seals: ReadonlyMap<string, number>,
  { fingerprints, nowMs }: { readonly fingerprints: readonly string[]; readonly nowMs: number },
): SecretDependents {
  const isUnder = ({ secrets = [] }: ClientRecord, fits: (fingerprint: string | undefined) => boolean) =>
    secrets.some((one) => isLiveSecret(one, nowMs) && fits(one.serverSecret));
  const clientsWhere = (fits: (fingerprint: string | undefined) => boolean) =>
    clients.filter((client) => isUnder(client, fits)).map(({ id }) => id);
  const keysAt = (index: number) => [...seals].filter(([, at]) => at === index).map(([kid]) => kid);
  return {
    secrets: fingerprints.map((fingerprint, index) => ({
      fingerprint,
      clients: clientsWhere((one) => one === fingerprint),
      signingKeys: keysAt(index),
    })),
    unknown: { clients: clientsWhere((one) => one === undefined), signingKeys: [] },
    lost: {
      clients: clientsWhere((one) => one !== undefined && !fingerprints.includes(one)),
      signingKeys: keysAt(-1),
    },
  };
}
