// Names in certificates. Parses and compares distinguished names. § refers to RFC 4514.

/** A type, as OID, and a value that is prepared for comparison. */
type Attribute = readonly [type: string, value: string];

/** Relative distinguished names, the largest entity first. */
export type DistinguishedName = readonly (readonly Attribute[])[];

/** The names of a certificate's owner. */
export interface ReadCertificate {
  /** In the order of the certificate. */
  readonly subject: DistinguishedName;
  /** Its subject alternative names (RFC 5280 §4.2.1.6). Each has one of the members, or another form. */
  readonly names: readonly {
    readonly dNSName?: string | undefined;
    readonly uniformResourceIdentifier?: string | undefined;
    readonly iPAddress?: string | undefined;
    readonly rfc822Name?: string | undefined;
  }[];
}

/**
 * Reads a certificate, which the TLS layer has already verified.
 * @param der X.509 certificate in DER
 * @returns `undefined` if it is malformed
 */
export type CertificateReader = (der: Uint8Array) => ReadCertificate | undefined;

/** Short names: those of §3, and others that certificates of clients often have. Any type can be written as an OID. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    cn: '2.5.4.3',
    l: '2.5.4.7',
    st: '2.5.4.8',
    o: '2.5.4.10',
    ou: '2.5.4.11',
    c: '2.5.4.6',
    street: '2.5.4.9',
    dc: '0.9.2342.19200300.100.1.25',
    uid: '0.9.2342.19200300.100.1.1',
    serialnumber: '2.5.4.5',
    title: '2.5.4.12',
    businesscategory: '2.5.4.15',
    postalcode: '2.5.4.17',
    givenname: '2.5.4.42',
    sn: '2.5.4.4',
    dnqualifier: '2.5.4.46',
    organizationidentifier: '2.5.4.97',
    emailaddress: '1.2.840.113549.1.9.1',
  }),
);

/** @param value a text, or the DER of another type */
export function attributeOf(type: string, value: string | Uint8Array): Attribute {
  const text = typeof value === 'string' ? value : textIn(value);
  return [type, text === undefined ? `#${String(value)}` : ` ${prepare(text)}`];
}

/** Without regard to case and repeated spaces, as names in certificates are compared (RFC 5280 §7.1). */
function prepare(text: string): string {
  return text.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ').trim();
}

/** Tags of UTF8String, PrintableString and IA5String, whose bytes are UTF-8. */
const TEXTS: readonly (number | undefined)[] = [0x0c, 0x13, 0x16];

/** @returns the text in the DER of a short string; `undefined` for other types */
function textIn([tag, length, ...bytes]: Uint8Array): string | undefined {
  return TEXTS.includes(tag) && length === bytes.length ? decode(bytes) : undefined;
}

const UTF_8 = {
  encoder: new TextEncoder(),
  decoder: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }),
};

/** @returns `undefined` if the bytes are not UTF-8 */
function decode(bytes: readonly number[]): string | undefined {
  try {
    return UTF_8.decoder.decode(Uint8Array.from(bytes));
  } catch {
    return undefined;
  }
}

/**
 * `attributeTypeAndValue` (§3) with the separator behind it. It may have spaces around it, as in RFC 2253 §4: those behind
 * a text are still part of it here. No character fits two parts of the pattern, so that it takes linear time.
 */
const ATTRIBUTE =
  / *([a-z][a-z\d-]*|\d+(?:\.\d+)+) *= *(?! )(#(?:[\da-f]{2})+ *(?=[+,]|$)|(?!#)(?:\\(?:[\da-f]{2}|[ "#+,;<=>\\])|[^\\"+,;<>\0])*)([+,]|$)/iy;

/**
 * Parses the string form of a name, which has the smallest entity first (§2.1).
 * @returns `undefined` if it is malformed or empty, or has a short name that is not known here
 */
export function parseDistinguishedName(text: string): DistinguishedName | undefined {
  const name: (readonly Attribute[])[] = [];
  let relative: Attribute[] = [];
  const pattern = new RegExp(ATTRIBUTE); // has a position
  for (;;) {
    const [, type = '', written = '', separator] = pattern.exec(text) ?? [];
    const oid = /^\d/.test(type) ? type : TYPES.get(type.toLowerCase());
    const value = textOf(written);
    if (separator === undefined || oid === undefined || value === undefined) return undefined;
    relative.push(attributeOf(oid, value));
    if (separator === '+') continue;
    name.push(relative);
    relative = [];
    if (separator === '') return name.reverse();
  }
}

/** An escaped byte, an escaped character, or other text. */
const PARTS = /\\([\da-f]{2})|\\(.)|([^\\]+)/gi;

/** @returns a text, or the bytes of a `hexstring` (§2.4); `undefined` if escaped bytes are not UTF-8 */
function textOf(written: string): string | Uint8Array | undefined {
  if (written.startsWith('#')) return Uint8Array.from(written.match(/[\da-f]{2}/gi) ?? [], byteOf);
  const parts = [...written.matchAll(PARTS)];
  return decode(
    parts.flatMap(([, byte, character, text = character]) =>
      byte === undefined ? [...UTF_8.encoder.encode(text)] : [byteOf(byte)],
    ),
  );
}

function byteOf(hex: string): number {
  return Number.parseInt(hex, 16);
}

/** Whether two names are the same (RFC 5280 §7.1). The order of the attributes of one entity does not matter. */
export function isSameName(a: DistinguishedName, b: DistinguishedName): boolean {
  return comparable(a) === comparable(b);
}

function comparable(name: DistinguishedName): string {
  return JSON.stringify(name.map((relative) => relative.map((attribute) => attribute.join('=')).sort()));
}
