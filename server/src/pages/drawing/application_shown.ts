import {
  type AuthorizationClient,
  hasResource,
  type IssuingClientRepository,
  isUnchecked,
} from '@grantd/core';
import { html } from 'hono/html';
import type { Agreed, ScopeText } from '../../data/consents.ts';
import type { Person } from '../../data/people.ts';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Language, localizedMember, type Texts } from '../../texts/texts.ts';
import type {
  AccessShown,
  ApplicationShown,
  PageSetting,
  PersonShown,
  ScopeGroup,
  ScopeShown,
} from './layout.ts';

/**
 * A client’s name, brand and links in the user’s language.
 * @param basePath path of the issuer, under which logos are served
 */
export function applicationShown(
  client: Pick<AuthorizationClient, 'id' | 'name' | 'metadata' | 'registeredAt' | 'documentValidAt'>,
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
  const ownName = member('client_name') ?? name;
  // Everyone can write any name into a document. Only its host is certain.
  const isByDocument = client.documentValidAt !== undefined;
  return {
    name: isByDocument ? new URL(id).host : (ownName ?? id),
    ...(isByDocument && { document: { ...(ownName !== undefined && { ownName }) } }),
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

/** An API whose scopes have texts. */
interface KnownApi {
  readonly name: string;
  readonly resource: string;
}

/** Explains scopes with the operator’s texts. */
export class ScopeGlossary {
  readonly #texts: readonly ScopeText[];
  readonly #apis: ReadonlyMap<string, KnownApi>;
  readonly #language: Language;

  private constructor(texts: readonly ScopeText[], apis: ReadonlyMap<string, KnownApi>, language: Language) {
    this.#texts = texts;
    this.#apis = apis;
    this.#language = language;
  }

  /** Loads the texts of some scopes and the names of their APIs. */
  static async open(
    {
      scopeTexts,
      clients,
      basePath,
    }: {
      readonly scopeTexts: { list(): Promise<readonly ScopeText[]> };
      readonly clients: Pick<IssuingClientRepository, 'get'>;
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

  /** Replaces scopes with texts where there are texts. Everything else keeps its protocol name. */
  shown({ scopes, resources, claims }: Agreed): AccessShown {
    const groups: ScopeGroup[] = [];
    const own = this.#ofApi(undefined, scopes);
    if (own.length > 0) groups.push({ scopes: own });
    const others = [...this.#apis]
      .map(([id, api]) => ({ api, scopes: this.#ofApi(id, scopes) }))
      .filter((group) => group.scopes.length > 0);
    // If the request names no API and only one API has the scope, that API is meant.
    const isMeant = ({ api }: { readonly api: KnownApi }) =>
      resources.length > 0 ? hasResource(resources, api.resource) : others.length === 1;
    groups.push(...others.filter(isMeant));
    const explained = new Set(groups.flatMap((group) => group.scopes.map(({ scope }) => scope)));
    const named = groups.map(({ api }) => api?.resource);
    return {
      groups,
      scopes: scopes.filter((scope) => !explained.has(scope)),
      resources: resources.filter((resource) => !hasResource(named, resource)),
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

/** The name of an unnamed API: its host, or the whole URI if it has no host. */
function nameOf(resource: string): string {
  return new URL(resource).host || resource;
}

/** Isolates a name from outside, so that it cannot change the direction of the text around it. */
export function named(name: string): Html {
  return html`<bdi class="name">${name}</bdi>`;
}

/** An application’s name, with a badge if the operator has not checked it. */
export function applicationName({ name, isUnchecked }: ApplicationShown, texts: Texts): Html {
  return isUnchecked === true
    ? html`${named(name)} <span class="badge unchecked">${texts.unchecked.badge}</span>`
    : named(name);
}

/** A warning about an unchecked application; empty for other applications. */
export function uncheckedNote(
  application: ApplicationShown | undefined,
  { operator }: PageSetting,
  texts: Texts,
): Html | '' {
  if (application?.isUnchecked !== true) return '';
  const { title, note, byDocument, ownName } = texts.unchecked;
  const { name, document } = application;
  const about = (document === undefined ? note : byDocument)(named(name), named(operator.name));
  const called = document?.ownName === undefined ? '' : html` ${ownName(named(document.ownName))}`;
  return html`<p id="registered-itself" class="caution">${icon('alert')}<span><strong>${title}</strong> ${about}${called}</span></p>`;
}

/** Shows who is signed in, with a link for other users. */
export function personLine(label: string, { name, detail }: PersonShown, change?: Html): Html {
  return html`<div class="person">
<p><span class="label">${label}</span> <span>${named(name)}</span>${detail === undefined ? '' : html` <bdi class="detail">${detail}</bdi>`}</p>
${change ?? ''}
</div>`;
}

/** An HTML id from an identifier with arbitrary characters. */
export function idOf(prefix: string, identifier: string): string {
  return `${prefix}-${encodeURIComponent(identifier)}`;
}

/** Returns web URLs only; `undefined` for URLs that would run code or open another program. */
export function webAddress(uri: string | undefined): string | undefined {
  return uri !== undefined && /^https?:\/\//i.test(uri) && URL.canParse(uri) ? uri : undefined;
}

/** Links to the application’s own pages (OpenID Connect Dynamic Client Registration §2); empty if there are none. */
export function applicationLinks(
  { policyUri, tosUri, clientUri }: ApplicationShown,
  texts: Texts,
): Html | '' {
  const links = [
    { href: webAddress(policyUri), text: texts.consent.policy },
    { href: webAddress(tosUri), text: texts.consent.terms },
    { href: webAddress(clientUri), text: texts.consent.website },
  ].filter(({ href }) => href !== undefined);
  if (links.length === 0) return '';
  return html`<ul class="links" role="list">
${links.map(({ href, text }) => html`<li><a href="${href}" target="_blank" rel="noopener noreferrer">${text}<span class="unseen"> ${texts.newTab}</span></a></li>\n`)}</ul>`;
}

type KnownScope = keyof Texts['scopes'];

/** Standard scopes, separate from scopes that only the application and its API know. */
interface SortedScopes {
  /** `offline_access` comes last, because it extends the duration of the others. */
  readonly known: readonly KnownScope[];
  readonly own: readonly string[];
}

export function sortScopes(scopes: readonly string[], texts: Texts): SortedScopes {
  const requested = new Set(scopes);
  return {
    known: (Object.keys(texts.scopes) as KnownScope[]).filter((scope) => requested.has(scope)),
    own: [...requested].filter((scope) => !Object.hasOwn(texts.scopes, scope)),
  };
}

/** @param as with or without the details of each scope */
export function scopeList(scopes: readonly KnownScope[], as: 'full' | 'brief', texts: Texts): Html | '' {
  if (scopes.length === 0) return '';
  return html`<ul class="scopes ${as}" role="list">
${scopes.map((scope) => scopeEntry(scope, as === 'full', texts))}</ul>`;
}

/** Scopes with the operator’s texts. */
export function describedList(scopes: readonly ScopeShown[], as: 'full' | 'brief'): Html | '' {
  if (scopes.length === 0) return '';
  return html`<ul class="scopes ${as}" role="list">
${scopes.map(({ title, detail }) => html`<li>${icon('check')}<span>${title}</span>${as === 'full' && detail !== undefined ? html` <span class="detail">${detail}</span>` : ''}</li>\n`)}</ul>`;
}

function scopeEntry(scope: KnownScope, inFull: boolean, texts: Texts): Html {
  const { title, detail } = texts.scopes[scope];
  const isOffline = scope === 'offline_access';
  return html`<li${isOffline ? html` class="offline"` : ''}>${icon(isOffline ? 'clock' : 'check')}<span>${title}</span>${inFull && detail !== undefined ? html` <span class="detail">${detail}</span>` : ''}</li>
`;
}

/** Custom scopes by their protocol names. */
export function codeList(codes: readonly string[]): Html | '' {
  if (codes.length === 0) return '';
  return html`<ul class="codes" role="list">
${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ul>`;
}

/** Whether a use that is known to the hour may have been just now. */
export function isInHour(lastUsedMs: number, nowMs: number): boolean {
  return nowMs - lastUsedMs < 60 * 60 * 1000;
}

/** Uses are known to the hour. */
export function hourOfUse(lastUsedMs: number, nowMs: number, { account, formats }: Texts): string {
  return isInHour(lastUsedMs, nowMs)
    ? account.usedThisHour
    : account.usedInHour(...formats.hourOf(lastUsedMs));
}
