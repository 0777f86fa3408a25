// Users as other programs export them. Each converter says what this server leaves out.

import { type Fields, isObject } from '../fields.ts';
import { ImportFault } from '../import_faults.ts';
import { type ImportLine, type LineProblem, readImportLine } from '../import_lines.ts';
import { readPasswordHash } from '../password_formats.ts';
import { storedHashForm } from '../password_spellings.ts';
import { fromAuth0 } from './auth0.ts';
import { fromAuthelia } from './authelia.ts';
import { type Converter, type ConvertOptions, withoutAbsent } from './conversion.ts';
import { fromDjango } from './django.ts';
import { FIREBASE_COLUMNS, fromFirebase } from './firebase.ts';
import { fromKeycloak } from './keycloak.ts';
import { fromKratos } from './kratos.ts';
import { fromAspNet, fromBetterAuth, fromGitea, fromNextcloud, fromTable, fromWordPress } from './tables.ts';

/** How the users of a file are found. */
interface Format {
  /**
   * `lines`: a JSON object per line. `document`: a JSON list, or an object with the list `users`. `rows`: a JSON list, a JSON
   * object per line, or CSV with a header. `yaml`: a YAML document.
   */
  readonly form: 'lines' | 'document' | 'rows' | 'yaml';
  /** The columns of CSV without a header. */
  readonly columns?: readonly string[];
  /** `undefined` for the members of a line. */
  readonly convert?: Converter;
}

const FORMATS = {
  grantd: { form: 'lines' },
  csv: { form: 'rows', convert: fromTable },
  aspnet: { form: 'rows', convert: fromAspNet },
  auth0: { form: 'lines', convert: fromAuth0 },
  authelia: { form: 'yaml', convert: fromAuthelia },
  'better-auth': { form: 'rows', convert: fromBetterAuth },
  django: { form: 'document', convert: fromDjango },
  firebase: { form: 'document', convert: fromFirebase, columns: FIREBASE_COLUMNS },
  gitea: { form: 'rows', convert: fromGitea },
  keycloak: { form: 'document', convert: fromKeycloak },
  kratos: { form: 'document', convert: fromKratos },
  nextcloud: { form: 'rows', convert: fromNextcloud },
  wordpress: { form: 'rows', convert: fromWordPress },
} as const satisfies Readonly<Record<string, Format>>;

/** Formats of an import. */
export type ImportFormat = keyof typeof FORMATS;
export const IMPORT_FORMATS = Object.keys(FORMATS) as readonly ImportFormat[];

export function formatOf(name: ImportFormat): Format {
  return FORMATS[name];
}

/** Formats with a JSON object per line, which the admin API reads. */
export const LINE_FORMATS = ['grantd', 'auth0'] as const satisfies readonly ImportFormat[];

/** Reads a user in a format. Subject identifiers stay the same, so that applications recognise their users. */
export function convertUser(
  format: ImportFormat,
  user: unknown,
  options: ConvertOptions = {},
): ImportLine | LineProblem {
  const { convert } = formatOf(format);
  if (!isObject(user)) return { reasons: [new ImportFault('no_object')] };
  const warnings: ImportFault[] = [];
  const converted = convert === undefined ? user : withoutAbsent(convert(user, warnings, options));
  if (convert !== undefined && isUnconverted(converted))
    return {
      reasons: converted.reasons,
      isSkipped: converted.isSkipped === true,
      ...(typeof converted.username === 'string' && { username: converted.username }),
    };
  const read = readImportLine(withOptions(converted, warnings, options), warnings);
  if ('reasons' in read || convert === undefined) return read;
  return { ...read, warnings: [...read.warnings, ...withoutWayIn(read)] };
}

function isUnconverted(fields: Fields): fields is Fields & { readonly reasons: readonly ImportFault[] } {
  return Array.isArray(fields.reasons) && fields.reasons.every((one) => one instanceof ImportFault);
}

function withOptions(
  converted: Readonly<Record<string, unknown>>,
  warnings: ImportFault[],
  { emailsAreVerified = false, dropsUnusableHashes = false }: ConvertOptions,
): Readonly<Record<string, unknown>> {
  const { password_hash: hash, ...others } = converted;
  const { claims } = others;
  const isVouchedFor =
    emailsAreVerified &&
    isObject(claims) &&
    claims.email !== undefined &&
    claims.email_verified === undefined;
  const line = isVouchedFor ? { ...others, claims: { ...claims, email_verified: true } } : others;
  if (hash === undefined) return line;
  const problem = dropsUnusableHashes && typeof hash === 'string' ? hashProblem(hash) : undefined;
  if (problem === undefined) return { ...line, password_hash: hash };
  warnings.push(new ImportFault('hash_left_out', problem));
  return line;
}

function hashProblem(hash: string): string | undefined {
  const read = readPasswordHash(storedHashForm(hash));
  return 'problem' in read ? read.problem : undefined;
}

/** What a user misses who has nothing to sign in with, and no verified address for a link to choose a password. */
function withoutWayIn({
  passwordHash,
  links,
  directoryId,
  invite,
  claims,
  warnings,
}: ImportLine): ImportFault[] {
  const canSignIn = [passwordHash, links, directoryId, invite].some((item) => item !== undefined);
  const isSaid = warnings.some((warning) => String(warning).includes('run grantd'));
  if (canSignIn || claims.email_verified === true || isSaid) return [];
  return [new ImportFault('no_way_in')];
}
