/** What a database URL may look like; ends the sentence "expected …". */
export const DATABASE_URL_FORM = 'sqlite:PATH or postgres://USER@HOST:PORT/DATABASE';

export function isDatabaseUrl(url: string): boolean {
  return isPostgresUrl(url) ? isReadable(url) : /^sqlite:(?!:memory:$).+/.test(url);
}

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/** Whether the URL of a PostgreSQL database tells the password as well. */
export function hasPassword(url: string): boolean {
  const { password, searchParams } = new URL(url);
  return password !== '' || searchParams.has('password');
}

/** The URL of a PostgreSQL database as it may be shown. */
export function withoutPassword(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  shown.searchParams.delete('password');
  return shown.href;
}

/**
 * A `#`, `%`, `/` or `?` that was not encoded would cut off or change what stands around it: a password has such
 * characters. After the last two, its `@` stands where none belongs.
 */
function isReadable(url: string): boolean {
  if (!URL.canParse(url) || url.includes('#') || /%(?![0-9a-f]{2})/i.test(url)) return false;
  const { pathname, search } = new URL(url);
  return !`${pathname}${search}`.includes('@');
}
