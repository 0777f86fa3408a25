import { type AuthorizationClient, isUnchecked } from '@grantd/core';
import type { Person } from '../people/people.ts';
import type { ApplicationShown, PersonShown } from './page.ts';
import { localizedMember } from './texts/localized_member.ts';
import type { Language } from './texts/texts.ts';

/**
 * What a client has registered for people to read, in their language.
 * @param basePath of the issuer: a logo comes from here
 */
export function applicationShown(
  client: Pick<AuthorizationClient, 'id' | 'name' | 'metadata' | 'registeredAt'>,
  language: Language,
  basePath: string,
): ApplicationShown {
  const { id, name, metadata = {} } = client;
  const member = (of: Parameters<typeof localizedMember>[1]) =>
    localizedMember({ ...metadata }, of, language);
  const [clientUri, policyUri, tosUri] = [member('client_uri'), member('policy_uri'), member('tos_uri')];
  const brand = {
    ...(member('logo_uri') !== undefined && {
      logo: `${basePath}/logo?${new URLSearchParams({ client: id, language })}`,
    }),
    ...(metadata.brand_color !== undefined && { color: metadata.brand_color }),
  };
  return {
    name: member('client_name') ?? name ?? id,
    ...(isUnchecked(client) ? { isUnchecked: true } : brand),
    ...(clientUri !== undefined && { clientUri }),
    ...(policyUri !== undefined && { policyUri }),
    ...(tosUri !== undefined && { tosUri }),
  };
}

export function personShown({ name, claims }: Person): PersonShown {
  const { email } = claims;
  return { name, ...(typeof email === 'string' && email !== name && { detail: email }) };
}
