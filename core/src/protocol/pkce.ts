import { sha256 } from '#hashing';
import { equalInConstantTime } from './hashing/constant_time.ts';

/** RFC 7636 §4.1. */
const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;
/** RFC 7636 §4.2: an S256 challenge is the base64url of 32 bytes. */
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export function isS256Challenge(text: string): boolean {
  return S256_CHALLENGE.test(text);
}

/** Whether the verifier fits the S256 challenge (RFC 7636 §4.6). */
export async function verifierFits(verifier: string, challenge: string): Promise<boolean> {
  return VERIFIER.test(verifier) && equalInConstantTime(await sha256(verifier), challenge);
}
