import type { Hashing } from '../environment.ts';

export const sha256: Hashing['sha256'] = async (text) =>
  base64url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));

export const hmacSha256: Hashing['hmacSha256'] = async (key, text) => {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return base64url(await crypto.subtle.sign('HMAC', imported, new TextEncoder().encode(text)));
};

function base64url(bytes: ArrayBuffer): string {
  const binary = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
