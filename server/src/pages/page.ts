import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Brand } from './brand.ts';
import type { Html } from './html.ts';
import type { Language } from './texts/texts.ts';

/** What is the same for every page of one request. */
export interface PageSetting {
  readonly language: Language;
  /** Who runs this server. */
  readonly operator: Brand;
}

/** What a view gives, to be drawn and sent. */
export interface Page extends PageSetting {
  /** What the page is for, and first of all what is wrong, if something is. */
  readonly title: string;
  readonly body: Html;
  /** Whose colour the page has, where it is not the operator's. */
  readonly color?: string;
  /** Whether the body names the operator, so that the foot of the page need not. */
  readonly namesOperator?: boolean;
  /** A page with lists has room for them. */
  readonly width?: 'narrow' | 'wide';
  readonly status?: ContentfulStatusCode;
  /** Whether the page's form may end at an application. */
  readonly formMayLeave?: boolean;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** What an application is known by, and what it says about itself. */
export interface ApplicationShown extends Brand {
  /** Addresses on the web; anything but `https:` and `http:` is not shown. */
  readonly clientUri?: string;
  readonly policyUri?: string;
  readonly tosUri?: string;
}

/** How a person is called on pages. */
export interface PersonShown {
  readonly name: string;
  /** What tells people of one name apart, such as an email address. */
  readonly detail?: string;
}

/** A scope in the operator's words. */
export interface ScopeShown {
  readonly scope: string;
  readonly title: string;
  readonly detail?: string;
}

/** Scopes of one API, or of this server. */
export interface ScopeGroup {
  readonly api?: { readonly name: string; readonly resource: string };
  readonly scopes: readonly ScopeShown[];
}

/** What an application asks for at once, or what a person agreed to at once. */
export interface AccessShown {
  /** Scopes that the operator has texts for. */
  readonly groups?: readonly ScopeGroup[];
  /** The others. */
  readonly scopes: readonly string[];
  /** What access tokens are for (RFC 8707), where it is more than this server. */
  readonly resources?: readonly string[];
  /** Claims that it asks for by name (OpenID Connect Core §5.5). */
  readonly claims?: readonly string[];
}

/** A form of this server. */
export interface FormShown {
  /** Where it is sent, by `POST`. */
  readonly action: string;
  /** Goes back as the field `form_token`. */
  readonly formToken: string;
}
