// What Apple does in a way of its own (Sign in with Apple): client secrets and names.
import type { KeyObject } from 'node:crypto';
import { isJsonObject } from '@grantd/core/options';
import { SignJWT } from 'jose/jwt/sign';
import type { ClientAuth } from 'openid-client';
import type { Provider } from '../config/providers.ts';

/** Seconds for which a client secret for Apple is valid. Each token request gets a new one. */
const APPLE_SECRET_LIFETIME = 5 * 60;

/** Apple's client secret: a JWT, signed with the key of the team. */
export function appleSecret(
  { issuer, clientId }: Pick<Provider, 'issuer' | 'clientId'>,
  {
    privateKey,
    keyId = '',
    teamId,
  }: { readonly privateKey: KeyObject; readonly keyId: string | undefined; readonly teamId: string },
  clock: () => number,
): ClientAuth {
  return async (_, __, body) => {
    const now = Math.floor(clock() / 1000);
    const secret = await new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: keyId })
      .setIssuer(teamId)
      .setSubject(clientId)
      .setAudience(issuer)
      .setIssuedAt(now)
      .setExpirationTime(now + APPLE_SECRET_LIFETIME)
      .sign(privateKey);
    body.set('client_id', clientId);
    body.set('client_secret', secret);
  };
}

/**
 * Takes the parameter `user` out of a response of Apple, which sends it at the first sign-in only. It is not signed, so
 * nothing but the name counts, which users also choose freely at Apple.
 */
export function appleName(callback: URL): Readonly<Record<string, string>> {
  const text = callback.searchParams.get('user');
  callback.searchParams.delete('user');
  let user: unknown;
  try {
    user = JSON.parse(text ?? '');
  } catch {
    return {};
  }
  const name = isJsonObject(user) && isJsonObject(user.name) ? user.name : {};
  const partOf = (value: unknown) =>
    typeof value === 'string' ? value.replaceAll(/\p{C}/gu, '').trim() : '';
  const [given, family] = [partOf(name.firstName), partOf(name.lastName)];
  const whole = [given, family].filter((part) => part !== '').join(' ');
  return Object.fromEntries(
    Object.entries({ name: whole, given_name: given, family_name: family }).filter(([, part]) => part !== ''),
  );
}
