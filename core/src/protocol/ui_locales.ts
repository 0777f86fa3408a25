/**
 * The `ui_locales` parameter: language tags, the most wanted first (OpenID Connect Core §3.1.2.1). What is none by its
 * characters (RFC 5646 §2.1) is left out, since it is no error.
 */
export function parseUiLocales(parameter: string | undefined): readonly string[] {
  return parameter?.split(' ').filter((tag) => /^[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8})*$/.test(tag)) ?? [];
}
