// Users of `firebase auth:export`, as JSON or as CSV without a header.

import type { Fields } from '../fields.ts';
import { ImportFault } from '../import_faults.ts';
import { rowOf, truth } from './cells.ts';
import {
  type ConvertOptions,
  creationTime,
  type FirebaseHash,
  linksFrom,
  objectsIn,
  warnOfOthers,
  withoutAbsent,
} from './conversion.ts';

const PROVIDERS: ReadonlyMap<unknown, string> = new Map([
  ['google.com', 'google'],
  ['github.com', 'github'],
  ['apple.com', 'apple'],
]);

/** The providers with columns in a CSV file. Older versions of firebase-tools know the first four. */
const FIRST_PROVIDERS = ['google.com', 'facebook.com', 'twitter.com', 'github.com'];
const LATER_PROVIDERS = [
  ...['apple.com', 'microsoft.com', 'gc.apple.com'],
  ...['playgames.google.com', 'linkedin.com', 'yahoo.com'],
];
const CSV_PROVIDERS = [...FIRST_PROVIDERS, ...LATER_PROVIDERS];

const providerColumns = (provider: string) =>
  ['rawId', 'email', 'displayName', 'photoUrl'].map((name) => `${provider} ${name}`);

/** The columns of a CSV file. */
export const FIREBASE_COLUMNS: readonly string[] = [
  ...['localId', 'email', 'emailVerified', 'passwordHash', 'salt', 'displayName', 'photoUrl'],
  ...FIRST_PROVIDERS.flatMap(providerColumns),
  ...['createdAt', 'lastSignedInAt', 'phoneNumber', 'disabled', 'customAttributes'],
  ...LATER_PROVIDERS.flatMap(providerColumns),
];

const USED: ReadonlySet<string> = new Set([
  ...FIREBASE_COLUMNS.filter((name) => name !== 'customAttributes'),
  // The last column of a row of a CSV file is empty.
  ...['providerUserInfo', ''],
]);

export function fromFirebase(user: Fields, warnings: ImportFault[], options: ConvertOptions): Fields {
  const row = rowOf(user);
  const [localId, email, phoneNumber] = [row('localId'), row('email'), row('phoneNumber')];
  const [passwordHash, salt] = [row('passwordHash'), row('salt')];
  warnOfOthers(user, USED, warnings);
  const hash =
    typeof passwordHash === 'string'
      ? firebaseHash(passwordHash, typeof salt === 'string' ? salt : '', options.firebaseHash)
      : undefined;
  if (hash === '') return { username: email, reasons: [new ImportFault('firebase_hash')] };
  const providers = [
    ...objectsIn(user.providerUserInfo),
    ...CSV_PROVIDERS.map((providerId) => ({
      ...{ providerId, rawId: user[`${providerId} rawId`], email: user[`${providerId} email`] },
    })),
  ].filter(({ rawId }) => rawId !== undefined && rawId !== '');
  const links = providers.map(({ providerId, rawId, email: address }) => ({
    ...{ provider: PROVIDERS.get(providerId) ?? providerId, sub: rawId, label: address },
  }));
  return {
    username: email ?? phoneNumber ?? localId,
    subject: localId,
    claims: withoutAbsent({
      email,
      email_verified: email === undefined ? undefined : truth(row('emailVerified')),
      name: row('displayName'),
      picture: row('photoUrl'),
      phone_number: phoneNumber,
      // Firebase adds a number only after a code in a text message.
      phone_number_verified: phoneNumber === undefined ? undefined : true,
    }),
    created_at: creationTime(row('createdAt'), warnings),
    disabled: truth(row('disabled')),
    links: linksFrom(links, options, warnings),
    password_hash: hash,
  };
}

/** @returns the empty string if the parameters are unknown */
function firebaseHash(hash: string, salt: string, config: FirebaseHash | undefined): string {
  if (config === undefined) return '';
  const { signerKey, saltSeparator, rounds, memCost } = config;
  return `$firescrypt$ln=${memCost},r=${rounds},p=1$${salt}$${hash}$${saltSeparator}$${signerKey}`.replaceAll(
    /[-_]/g,
    (sign) => (sign === '-' ? '+' : '/'),
  );
}

/** Reads the parameters as Firebase’s console shows them, or as JSON. @returns `undefined` if one is missing */
export function readFirebaseHash(text: string): FirebaseHash | undefined {
  const written = (name: string) =>
    new RegExp(`\\b${name}["']?\\s*[:=]\\s*["']?([\\w+/=-]+)`).exec(text)?.[1];
  const [signerKey, saltSeparator, rounds, memCost] = [
    ...['base64_signer_key', 'base64_salt_separator', 'rounds', 'mem_cost'].map(written),
  ];
  if (signerKey === undefined || saltSeparator === undefined) return undefined;
  const numbers = [Number(rounds), Number(memCost)] as const;
  if (!numbers.every((number) => Number.isInteger(number) && number > 0)) return undefined;
  return { signerKey, saltSeparator, rounds: numbers[0], memCost: numbers[1] };
}
