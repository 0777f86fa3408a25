import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

export type Html = ReturnType<typeof html>;

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 24rem; margin: 4rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
label, input { display: block; width: 100%; box-sizing: border-box; font: inherit; }
input { margin: 0 0 1rem; padding: 0.5rem; }
button { font: inherit; padding: 0.5rem 1rem; }
[role=alert] { border-left: 0.25rem solid #b00020; padding-left: 0.75rem; }
`;

const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

export interface Page {
  readonly title: string;
  readonly body: Html;
  readonly status?: ContentfulStatusCode;
  /** Where the page's form may lead besides this server; Chromium looks at the redirect that follows as well. */
  readonly formLeadsTo?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** A page that runs no script, is not kept, not framed, and tells nobody its address. */
export async function renderPage(c: Context, page: Page): Promise<Response> {
  for (const [name, value] of Object.entries(page.headers ?? {})) c.header(name, String(value));
  c.header('content-security-policy', contentSecurityPolicy(page.formLeadsTo));
  c.header('cache-control', 'no-store');
  c.header('x-content-type-options', 'nosniff');
  c.header('x-frame-options', 'DENY');
  c.header('referrer-policy', 'no-referrer');
  return c.html(
    html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<main>
<h1>${page.title}</h1>
${page.body}
</main>
</body>
</html>
`,
    page.status ?? 200,
  );
}

function contentSecurityPolicy(formLeadsTo: string | undefined): string {
  const formAction = formLeadsTo === undefined ? "'self'" : `'self' ${sourceOf(formLeadsTo)}`;
  return [
    "default-src 'none'",
    `style-src ${STYLE_SOURCE}`,
    `form-action ${formAction}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/**
 * A redirect URI as a source expression: its origin, or where that cannot be one its scheme alone. Apps have schemes
 * without an origin, and the grammar knows no IPv6 addresses (CSP Level 3 §2.3.1).
 */
function sourceOf(redirectUri: string): string {
  const { origin, protocol, hostname } = new URL(redirectUri);
  return origin === 'null' || hostname.startsWith('[') ? protocol : origin;
}
