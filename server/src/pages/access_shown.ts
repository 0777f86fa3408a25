import type { ClientRepository } from '@grantd/core';
import type { Agreed } from '../consents/consents.ts';
import type { ScopeText } from '../consents/scope_texts.ts';
import { applicationShown } from './application_shown.ts';
import type { AccessShown, ScopeGroup, ScopeShown } from './page.ts';
import { localizedMember } from './texts/localized_member.ts';
import type { Language } from './texts/texts.ts';

/** An API whose scopes have texts, as people know it. */
interface KnownApi {
  readonly name: string;
  readonly resource: string;
}

/** What pages need to say what scopes mean. */
export class ScopeGlossary {
  readonly #texts: readonly ScopeText[];
  readonly #apis: ReadonlyMap<string, KnownApi>;
  readonly #language: Language;

  private constructor(texts: readonly ScopeText[], apis: ReadonlyMap<string, KnownApi>, language: Language) {
    this.#texts = texts;
    this.#apis = apis;
    this.#language = language;
  }

  /** The texts of these scopes, and the names of their APIs. */
  static async open(
    {
      scopeTexts,
      clients,
      basePath,
    }: {
      readonly scopeTexts: { list(): Promise<readonly ScopeText[]> };
      readonly clients: Pick<ClientRepository, 'get'>;
      readonly basePath: string;
    },
    scopes: ReadonlySet<string>,
    language: Language,
  ): Promise<ScopeGlossary> {
    const texts = (await scopeTexts.list()).filter(({ scope }) => scopes.has(scope));
    const ids = new Set(texts.flatMap(({ api }) => (api === undefined ? [] : [api])));
    const found = await Promise.all([...ids].map((id) => clients.get(id)));
    const apis = found.flatMap((client) => {
      if (!client?.resource) return [];
      const { id, resource } = client;
      const { name } = applicationShown(client, language, basePath);
      return [[id, { resource, name: name === id ? nameOf(resource) : name }] as const];
    });
    return new ScopeGlossary(texts, new Map(apis), language);
  }

  /** Access with texts where there are some; everything else stays as the protocol calls it. */
  shown({ scopes, resources, claims }: Agreed): AccessShown {
    const groups: ScopeGroup[] = [];
    const own = this.#ofApi(undefined, scopes);
    if (own.length > 0) groups.push({ scopes: own });
    const others = [...this.#apis]
      .map(([id, api]) => ({ api, scopes: this.#ofApi(id, scopes) }))
      .filter((group) => group.scopes.length > 0);
    // If a request names no API, a scope that only one API has can only be about that one.
    const isMeant = ({ api }: { readonly api: KnownApi }) =>
      resources.length > 0 ? resources.includes(api.resource) : others.length === 1;
    groups.push(...others.filter(isMeant));
    const told = new Set(groups.flatMap((group) => group.scopes.map(({ scope }) => scope)));
    const named = new Set(groups.map(({ api }) => api?.resource));
    return {
      groups,
      scopes: scopes.filter((scope) => !told.has(scope)),
      resources: resources.filter((resource) => !named.has(resource)),
      claims,
    };
  }

  #ofApi(api: string | undefined, scopes: readonly string[]): readonly ScopeShown[] {
    return scopes.flatMap((scope) => {
      const found = this.#texts.find((text) => text.api === api && text.scope === scope);
      if (found === undefined) return [];
      const text = (member: 'name' | 'description') => localizedMember(found.texts, member, this.#language);
      const detail = text('description');
      return [{ scope, title: text('name') ?? scope, ...(detail !== undefined && { detail }) }];
    });
  }
}

/** The host of an API without a name; the whole URI if it has no host. */
function nameOf(resource: string): string {
  return new URL(resource).host || resource;
}
