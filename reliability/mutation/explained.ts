/** A mutant that no test can notice, or that none needs to. */
interface Explained {
  readonly file: string;
  /** Part of its line, to tell it from the same change elsewhere in the file. */
  readonly within: string;
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

export const EXPLAINED: readonly Explained[] = [
  {
    file: 'core/src/token/token.ts',
    within: 'usesDpop ?',
    ...{ from: 'usesDpop', to: 'true' },
    why: 'the function gives the same result; the condition saves its call for most requests',
  },
  {
    file: 'core/src/token/refresh_token.ts',
    within: 'refresh.pairId === undefined ? {}',
    ...{ from: 'refresh.pairId === undefined', to: 'false' },
    why: 'the record leaves out a `pairId` that is undefined; the condition serves the type',
  },
  {
    file: 'core/src/token/refresh_token.ts',
    within: 'record.supersededAtMs ?? 0',
    ...{ from: '0', to: '1' },
    why: 'a superseded record always has the time; the default serves the type',
  },
  {
    file: 'core/src/tokens/mint.ts',
    within: '!isRegistered && requests === undefined',
    ...{ from: '!isRegistered && requests === undefined', to: 'false' },
    why: 'the next condition gives the same result; this one saves work for most clients',
  },
  {
    file: 'core/src/tokens/mint.ts',
    within: 'keepUntil = 0',
    ...{ from: '0', to: '1' },
    why: 'the later of it and the expiry counts',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'remembered !== undefined',
    ...{ from: 'remembered !== undefined', to: 'false' },
    why: 'without its cache the service reads the same key from storage',
  },
  {
    file: 'core/src/tokens/answer_jwt.ts',
    within: 'encryption === undefined || key === undefined',
    from: 'encryption === undefined || key === undefined',
    to: '(encryption === undefined) && (key === undefined)',
    why: 'both are present or neither is; the two conditions serve the types',
  },
  {
    file: 'core/src/tokens/answer_jwt.ts',
    within: 'signed === undefined',
    ...{ from: 'signed === undefined', to: 'false' },
    why: 'both callers sign or encrypt; the check catches a third one that does neither',
  },
  {
    file: 'core/src/tokens/application_claims.ts',
    within: 'claims: true, valuesOf: true',
    ...{ from: 'true', to: 'false' },
    why: 'only the names of the table count',
  },
  {
    file: 'core/src/tokens/application_claims.ts',
    within: 'in: true, scopes: true',
    ...{ from: 'true', to: 'false' },
    why: 'only the names of the table count',
  },
  {
    file: 'core/src/tokens/mint.ts',
    within: 'ordered = Object.entries(claims)',
    ...{ from: '<', to: '<=' },
    why: 'names of members are never equal',
  },
  {
    file: 'core/src/tokens/jwt.ts',
    within: 'base64url.encode(bytes) !== signature',
    ...{ from: 'false', to: 'undefined' },
    why: 'callers use the result as a condition',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: "!operations.includes('verify')",
    ...{ from: 'false', to: 'undefined' },
    why: 'callers use the result as a condition',
  },
  {
    file: 'core/src/tokens/server_secret.ts',
    within: "typeof one !== 'string' || one.length < 32",
    from: "typeof one !== 'string' || one.length < 32",
    to: 'undefined',
    why: 'the table of options rejects such a list first; the check protects other callers',
  },
];
