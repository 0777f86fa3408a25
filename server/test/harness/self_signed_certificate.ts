import { generateKeyPairSync, sign } from 'node:crypto';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Tags of DER (X.690 §8). */
const [INTEGER, BIT_STRING, OBJECT_IDENTIFIER, UTF8_STRING, UTC_TIME, SEQUENCE, SET] = [
  0x02, 0x03, 0x06, 0x0c, 0x17, 0x30, 0x31,
];

/** 1.2.840.10045.4.3.2 (RFC 5758 §3.2). */
const ECDSA_WITH_SHA256 = Buffer.from('2a8648ce3d040302', 'hex');
/** 2.5.4.3 (RFC 5280 §4.1.2.4). */
const COMMON_NAME = Buffer.from('550403', 'hex');

/** A key with a self-signed certificate for `localhost` (RFC 5280 §4.1), valid for one day. */
export function selfSignedCertificate(): { readonly key: string; readonly cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, der(OBJECT_IDENTIFIER, ECDSA_WITH_SHA256));
  const commonName = [der(OBJECT_IDENTIFIER, COMMON_NAME), der(UTF8_STRING, Buffer.from('localhost'))];
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, ...commonName)));
  const now = Date.now();
  const content = der(
    SEQUENCE,
    der(INTEGER, Buffer.from([1])),
    algorithm,
    name,
    der(SEQUENCE, utcTime(now - DAY_MS), utcTime(now + DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = der(BIT_STRING, Buffer.from([0]), sign('sha256', content, privateKey));
  const certificate = der(SEQUENCE, content, algorithm, signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  return Buffer.concat([Buffer.from([tag, ...lengthOctets(length)]), content]);
}

/** The shortest form (X.690 §10.1). Lengths above 65,535 do not occur here. */
function lengthOctets(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return der(UTC_TIME, Buffer.from(`${digits}Z`));
}
