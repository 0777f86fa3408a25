/** SHA-256 of a text's UTF-8 bytes, base64url without padding. */
export async function sha256(text: string): Promise<string> {
  return base64url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

/** HMAC-SHA-256 of a text's UTF-8 bytes, base64url without padding. */
export async function hmacSha256(key: Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return base64url(await crypto.subtle.sign('HMAC', imported, new TextEncoder().encode(text)));
}

function base64url(bytes: ArrayBuffer): string {
  const binary = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
