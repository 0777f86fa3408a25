// Which ways to sign in a user has by the configuration.
import type { Person } from '../data/people.ts';
import type { UpstreamIdentities, UpstreamIdentity } from '../data/upstream_identities.ts';
import type { OpenWays, WaysToSignIn } from '../data/ways_to_sign_in.ts';
import { providerOfAddress } from './own_passwords.ts';

/** Which ways count for a user. They say nothing about whether the user has them. */
export async function waysOf(
  { providers, hasPasskeys, hasDirectory }: OpenWays,
  identities: Pick<UpstreamIdentities, 'ofSubject'>,
  { subject, name }: Pick<Person, 'subject' | 'name'>,
): Promise<WaysToSignIn> {
  const links = providers.length === 0 ? [] : await identities.ofSubject(subject);
  return {
    hasPasswords: providerOfAddress(providers, name) === undefined,
    hasPasskeys,
    hasDirectory,
    links: links.filter((link) => isUsable(providers, link)).map(({ id }) => id),
  };
}

/** Which ways count under a new username. */
export function underName({ providers }: OpenWays, name: string): (ways: WaysToSignIn) => WaysToSignIn {
  return (ways) => ({ ...ways, hasPasswords: providerOfAddress(providers, name) === undefined });
}

/** Which ways count if the directory checks the password from now on. */
export function inDirectory(ways: WaysToSignIn): WaysToSignIn {
  return { ...ways, hasPasswords: ways.hasPasswords && ways.hasDirectory };
}

/** Whether a user can sign in with a link. A link outlives the configuration of its provider. */
function isUsable(
  providers: OpenWays['providers'],
  { provider, upstreamIssuer }: Pick<UpstreamIdentity, 'provider' | 'upstreamIssuer'>,
): boolean {
  const issuer = providers.find(({ id }) => id === provider)?.issuer;
  return issuer !== undefined && canBeIssuer(new URL(upstreamIssuer), new URL(issuer));
}

/**
 * Whether metadata that are found at a configured URL can name an issuer. Discovery compares them as URLs, so one of the
 * two may have a slash after the host. With URLs of metadata documents and of Microsoft, it accepts every issuer.
 */
export function canBeIssuer(issuer: URL, configured: URL): boolean {
  const { href, origin, hostname } = configured;
  return (
    issuer.href === href ||
    href.includes('/.well-known/') ||
    origin === 'https://login.microsoftonline.com' ||
    hostname.endsWith('.b2clogin.com')
  );
}
