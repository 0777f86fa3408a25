/** A mutant that no test can notice, or that none needs to. */
interface Explained {
  readonly file: string;
  /** Part of its line, to tell it from the same change elsewhere in the file. */
  readonly within: string;
  /** Default: every mutant of the line that survives. */
  readonly from?: string;
  readonly to?: string;
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
  {
    file: 'core/src/tokens/client_keys.ts',
    within: 'error instanceof DocumentError ? error.ofClient',
    why: 'every failure of the host’s fetchDocument becomes a DocumentError before it comes here',
  },
  {
    file: 'core/src/tokens/jwt.ts',
    within: "algorithm === 'HS256' ? [algorithm]",
    why: '`namesOf` gives the same name; the condition serves the type',
  },
  {
    file: 'core/src/tokens/jwt.ts',
    within: 'others.length > 0) return false',
    why: 'readers of the header have refused every text that is not three parts',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: "if (claims === undefined) return { verified: false, reason: 'malformed' };",
    why: 'the server signs objects only; the check serves the type',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'algorithm !== key.algorithm || isExtended',
    why: 'the signature is checked with the algorithm of the key, and only the server can sign an extension; a second lock',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'MAX_HEADERS = 200',
    why: 'a limit of memory, far above what a test reaches',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'if (common === header) this.#headers.set(name, header);',
    why: 'equal headers are shared to save memory',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'if (!record) throw new Error(`the signing key',
    why: 'without the check another error names the same key',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'if (current === undefined) throw new Error',
    why: '`#complete` has just created the key; the check serves the type',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: '(next?.createdAtMs ?? 0)',
    why: '`#complete` has just created the key; the default serves the type',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'async rotate(algorithm: SigningAlgorithm, now = false)',
    why: 'the operation that calls it always passes the argument',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'if (stored) return stored;',
    why: 'without it the keys are completed first, with the same result',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: '(one) => one === needed ||',
    why: 'without `needed` the list decides alike, unless a store forgets keys that it lists',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'if (missing.length === 0) return records;',
    why: 'without it the same list is read again',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'modulusLength: 2048',
    why: 'a key with one more bit works alike',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: "...(algorithm === 'EdDSA' && { crv: 'Ed25519' })",
    why: 'the default of jose',
  },
  {
    file: 'core/src/tokens/jwt_service.ts',
    within: 'return { index: -1 };',
    why: 'every negative index means that no secret opens the key',
  },
  {
    file: 'core/src/tokens/mint.ts',
    within: '...(confirmation !== undefined && { confirmation }),',
    why: 'the claims of the record name the key, too',
  },
  {
    file: 'core/src/tokens/mint.ts',
    within: 'if (claims === undefined || !String(claims.jti).endsWith(body)) return undefined;',
    why: 'a second lock: the digest of the rebuilt token decides',
  },
  {
    file: 'core/src/tokens/mint.ts',
    within: '(one < other ? -1 : 1)',
    why: 'any order will do that is the same each time',
  },
  {
    file: 'core/src/tokens/mint.ts',
    within: 'if (!isRegistered && requests === undefined) return {};',
    why: 'spreading `undefined` adds nothing',
  },
  {
    file: 'core/src/tokens/mint.ts',
    within: 'if (!isRegistered && Object.keys(wanted).length === 0) return {};',
    why: 'spreading `undefined` adds nothing',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: 'RSA_BITS = {',
    why: 'limits of time, tested on both sides by keys of the usual sizes',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: 'RSA_EXPONENT_BITS = {',
    why: 'a limit of time; exponents have whole bytes',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: 'MAX_NUMBER_LENGTH',
    why: 'a limit of memory',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: "if (use !== undefined && use !== (isEncryption ? 'enc' : 'sig')) return false;",
    why: 'callers use the result as a condition',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: "!(algorithm === 'EdDSA' && alg === 'Ed25519')) return false;",
    why: 'callers use the result as a condition',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: 'return key instanceof Uint8Array ? undefined : key;',
    why: 'keys have been read, and none of them is symmetric; the condition serves the type',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: 'return Array.isArray(value) && value.every',
    why: 'a text has no `every`',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: 'curves.some((curve) => curve === value)',
    why: 'jose refuses keys of the wrong type or curve, too',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: "kty === 'EC' && isCurve(crv",
    why: 'jose refuses keys of the wrong type or curve, too',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: "kty === 'OKP' && isCurve(crv",
    why: 'jose refuses keys of the wrong type or curve, too',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: '(bytesOf(number).at(-1) ?? 0)',
    why: 'the number has a byte; the default serves the type',
  },
  {
    file: 'core/src/tokens/public_keys.ts',
    within: 'return first === -1 ? 0',
    why: 'the number of zero has too few bits by either way',
  },
  {
    file: 'core/src/tokens/server_secret.ts',
    within: 'this.#secrets.length === 0 ||',
    why: 'the table of options rejects such a list first; the check protects other callers',
  },
  {
    file: 'core/src/tokens/server_secret.ts',
    within: "this.#secrets.some((one) => typeof one !== 'string'",
    why: 'the table of options rejects such a list first; the check protects other callers',
  },
  {
    file: 'core/src/tokens/server_secret.ts',
    within: 'if (keys === undefined) {',
    why: 'without the cache the same keys are derived again',
  },
  {
    file: 'core/src/tokens/server_secret.ts',
    within: 'this.#derived.set(use, keys);',
    why: 'without the cache the same keys are derived again',
  },
  {
    file: 'core/src/tokens/server_secret.ts',
    within: 'if (first === undefined) throw',
    why: 'the constructor requires a secret; the check serves the type',
  },
  {
    file: 'core/src/tokens/server_secret.ts',
    within: '.slice(0, 8)',
    why: 'a fingerprint only has to differ',
  },
  {
    file: 'core/src/tokens/state.ts',
    within: 'if (context.pairwiseSecret === undefined) return subject;',
    why: 'without the secret the client’s identifier is the subject, by one lookup more',
  },
  {
    file: 'core/src/tokens/state.ts',
    within: 'if (context.getSubjectState !== undefined) {',
    why: 'without the function a user is live; the condition saves the call',
  },
  {
    file: 'core/src/tokens/jwt.ts',
    within: 'REFUSALS.some((refusal) => error instanceof refusal)',
    why: 'the other errors come from a key that does not fit its algorithm, which is checked when the key is read',
  },
];
