// Issuers whose tokens authenticate workloads, from the file of the option `trustedIssuers`.
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import {
  ConfigurationError,
  DocumentError,
  type FetchDocument,
  type TrustedIssuer,
  type TrustedIssuers,
  trustedIssuers,
} from '@grantd/core';
import { documentFetcher } from '@grantd/core/node';
import { isJsonObject, unknownName } from '@grantd/core/options';
import { readCertificates } from './certificates_file.ts';
import { type Configuration, readJsonFile, typedPath } from './configuration.ts';
import { ConfigurationRefused } from './refused.ts';

/** Ready-made settings. The tokens of Kubernetes and SPIFFE are presented many times. */
const KINDS: Readonly<Record<string, Partial<TrustedIssuer>>> = {
  generic: {},
  github: { issuer: 'https://token.actions.githubusercontent.com' },
  gitlab: { issuer: 'https://gitlab.com' },
  kubernetes: { issuer: 'https://kubernetes.default.svc.cluster.local', reuse: 'allowed' },
  spiffe: {},
};

/** The option of the library for each member of the file. */
const MEMBERS: Readonly<Record<string, keyof TrustedIssuer>> = {
  issuer: 'issuer',
  jwks: 'jwks',
  jwks_uri: 'jwksUri',
  algorithms: 'algorithms',
  reuse: 'reuse',
  max_lifetime: 'maxLifetime',
  clients: 'clients',
  grants: 'grants',
  token_endpoint_audience: 'tokenEndpointAudience',
};

/** Members that the library does not know. */
const OWN_MEMBERS = ['kind', 'jwks_file', 'ca_file', 'token_file', 'links'] as const;

/** Finds the user who is linked to a subject of an issuer, by the name of the provider at which they signed in. */
export type FindLink = (provider: string, issuer: string, sub: string) => Promise<string | undefined>;

/** The issuers of a file. */
export interface IssuersOfFile {
  /** What the file says, with the files that it names, to tell whether they have changed. */
  readonly written: readonly (readonly [name: string, entry: Readonly<Record<string, unknown>>])[];
  /**
   * Makes the option of the library.
   * @param fetchOf default: as the file says
   * @throws {ConfigurationRefused} an issuer has another form than expected
   */
  withLinks(findLink: FindLink, fetchOf?: FetchOfIssuer): TrustedIssuers;
}

/** What fetches the keys of an issuer. @param own of the issuer, if its file names authorities */
export type FetchOfIssuer = (name: string, own: FetchDocument | undefined) => FetchDocument | undefined;

/**
 * Reads the issuers, with the files that they name.
 * @returns `undefined` without the option
 * @throws {ConfigurationRefused} a file is unreadable, or has another form than expected
 */
export function readTrustedIssuers(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
): IssuersOfFile | undefined {
  if (settings.trustedIssuers === undefined) return undefined;
  const path = typedPath(environment, settings.trustedIssuers);
  const source = sourceOf('trustedIssuers');
  const content = readJsonFile(path, source);
  if (!isJsonObject(content))
    throw new ConfigurationRefused(
      `${source}: ${path}: expected a JSON object with a member for each issuer`,
    );
  const place = `${source}: ${basename(path)}: `;
  const issuers = Object.entries(content).map(
    ([name, entry]) => [name, readIssuer(entry, place + name, dirname(path))] as const,
  );
  return {
    written: issuers.map(([name, { written }]) => [name, written] as const),
    withLinks(findLink, fetchOf = (_, own) => own) {
      try {
        return trustedIssuers(
          Object.fromEntries(
            issuers.map(([name, { withLinks }]) => {
              const issuer = withLinks(findLink);
              const fetchDocument = fetchOf(name, issuer.fetchDocument);
              return [name, { ...issuer, ...(fetchDocument && { fetchDocument }) }];
            }),
          ),
        );
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        throw new ConfigurationRefused(asWritten(error.message, place));
      }
    },
  };
}

/** The message with the names of the file. */
function asWritten(message: string, place: string): string {
  const inFile = Object.entries(MEMBERS).reduce(
    (text, [name, option]) => text.replaceAll(option, name),
    message,
  );
  return inFile.replace('trustedIssuers.', place);
}

function readIssuer(entry: unknown, place: string, folder: string) {
  if (!isJsonObject(entry)) throw new ConfigurationRefused(`${place}: expected an object`);
  const known = [...OWN_MEMBERS, ...Object.keys(MEMBERS)];
  const unknown = Object.keys(entry).find((member) => !known.includes(member));
  if (unknown !== undefined)
    throw new ConfigurationRefused(unknownName(`${place}.${unknown}`, unknown, known, 'member'));
  const { kind = 'generic' } = entry;
  if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind))
    throw new ConfigurationRefused(`${place}.kind: expected one of ${Object.keys(KINDS).join(', ')}`);
  const fileOf = (member: string): string | undefined => {
    const value = entry[member];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '') return resolve(folder, value);
    throw new ConfigurationRefused(`${place}.${member}: expected the path of a file`);
  };
  const [jwksFile, caFile, tokenFile] = [fileOf('jwks_file'), fileOf('ca_file'), fileOf('token_file')];
  if (jwksFile !== undefined && (entry.jwks ?? entry.jwks_uri) !== undefined)
    throw new ConfigurationRefused(`${place}.jwks_file: expected no jwks and no jwks_uri with it`);
  if (caFile === undefined && tokenFile !== undefined)
    throw new ConfigurationRefused(`${place}.token_file: expected ca_file with it`);
  const { links } = entry;
  if (links !== undefined && (typeof links !== 'string' || links === ''))
    throw new ConfigurationRefused(`${place}.links: expected the name of a provider`);
  const given = Object.entries(MEMBERS).map(([name, option]) => [option, entry[name]] as const);
  const ca = caFile === undefined ? undefined : readCertificates(caFile, `${place}.ca_file`);
  const issuer = {
    ...KINDS[kind],
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    ...(jwksFile !== undefined && { jwks: readJsonFile(jwksFile, `${place}.jwks_file`) }),
    ...(ca !== undefined && { fetchDocument: fetcherOf(ca, tokenFile) }),
  } as TrustedIssuer; // the library checks it
  return {
    written: { ...entry, jwks: issuer.jwks, ca },
    withLinks: (findLink: FindLink): TrustedIssuer =>
      links === undefined ? issuer : { ...issuer, findSubject: (sub) => findLink(links, issuer.issuer, sub) },
  };
}

/**
 * Fetches from an issuer of the operator, also at a private address. Its server must have a certificate of the named
 * authorities, so the metadata of the issuer cannot lead the request to another one (ADR 183).
 */
function fetcherOf(certificateAuthorities: string, tokenFile: string | undefined): FetchDocument {
  const fetchDocument = documentFetcher({ allowPrivateAddresses: true, certificateAuthorities });
  return async (url, request = {}) => {
    const headers = { ...request.headers, ...(tokenFile && { authorization: await bearerIn(tokenFile) }) };
    return fetchDocument(url, { ...request, headers, maxRedirects: 0 });
  };
}

/** Platforms replace such tokens, so the file is read each time. */
async function bearerIn(tokenFile: string): Promise<string> {
  try {
    return `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`;
  } catch (error) {
    throw new DocumentError('failed', 'the token_file of an issuer is not readable', error);
  }
}
