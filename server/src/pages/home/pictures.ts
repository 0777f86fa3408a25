import { type ClientRecord, type IssuingClientRepository, isUnchecked } from '@grantd/core';
import type { Picture } from '../../config/picture.ts';
import { DEFAULT_LANGUAGE, type Language, languageOf, localizedMember } from '../../texts/texts.ts';
import type { PageContext } from '../browser/request.ts';
import { monogramPicture } from '../drawing/brand.ts';
import type { Drawing } from '../drawing/drawing.ts';
import type { Logos } from '../drawing/logos.ts';
import type { Font } from '../drawing/theme.ts';

export interface PictureNeeds {
  readonly drawing: Drawing;
  readonly clients: Pick<IssuingClientRepository, 'get'>;
  readonly logos: Logos;
  readonly operatorLogo: Picture | undefined;
  /** The picture of a provider. */
  readonly providerLogo: (id: string) => Picture | undefined;
  readonly operatorFont: Font | undefined;
}

/** Seconds for which a browser caches a logo. */
const CACHE_SECONDS = 60 * 60;

/**
 * `/logo`: the operator’s logo, with `provider` a provider’s, or with `client` an application’s. If an application’s logo cannot be fetched now, its
 * monogram. 404 if there is no logo, or the application is unknown, disabled or unchecked.
 */
export function showLogo({ drawing, clients, logos, operatorLogo, providerLogo }: PictureNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const provider = c.req.query('provider');
    if (provider !== undefined) {
      const logo = providerLogo(provider);
      c.header('content-disposition', 'attachment');
      return logo === undefined ? c.notFound() : send(c, logo, CACHE_SECONDS);
    }
    const clientId = c.req.query('client');
    if (clientId === undefined)
      return operatorLogo === undefined ? c.notFound() : send(c, operatorLogo, CACHE_SECONDS);
    const client = (/^[\x20-\x7E]+$/.test(clientId) && (await clients.get(clientId))) || undefined;
    const language = languageOf(c.req.query('language') ?? '') ?? DEFAULT_LANGUAGE;
    const uri = client && logoUri(client, language);
    if (client === undefined || client.disabledAtMs !== undefined || isUnchecked(client) || uri === undefined)
      return c.notFound();
    // An attachment is displayed inside a page but downloaded when opened directly, so it never becomes a page here.
    c.header('content-disposition', 'attachment');
    const logo = await logos.get(uri);
    if (logo !== undefined) return send(c, logo, CACHE_SECONDS);
    return send(c, monogramPicture(drawing.application(client, language)), 60);
  };
}

/** `/font`: the font of the operator’s theme. 404 if it has none. */
export function showFont({ operatorFont }: PictureNeeds) {
  return (c: PageContext): Response | Promise<Response> =>
    operatorFont === undefined ? c.notFound() : send(c, operatorFont, CACHE_SECONDS);
}

function logoUri({ metadata = {} }: ClientRecord, language: Language): string | undefined {
  return localizedMember({ ...metadata }, 'logo_uri', language);
}

/** Sends an image or font from outside. Opened directly, it runs nothing. */
function send(c: PageContext, { type, bytes }: Picture | Font, cacheSeconds: number): Response {
  c.header('content-type', type);
  c.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
  c.header('x-content-type-options', 'nosniff');
  c.header('cross-origin-resource-policy', 'same-origin');
  c.header('cache-control', `public, max-age=${cacheSeconds}`);
  return c.body(bytes);
}
