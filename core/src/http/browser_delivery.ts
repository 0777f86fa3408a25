// Responses that take the browser to a client: redirects, form posts and a page that asks first.
import type { BrowserDelivery, HttpResponse } from './http.ts';

/**
 * The response that makes the browser return to the client.
 * @param asksBeforeLeaving whether a page asks the user first and names the host
 */
export function deliveryResponse(
  { redirectTo, formPost }: BrowserDelivery,
  asksBeforeLeaving = false,
): HttpResponse {
  if (asksBeforeLeaving) return leavingPage({ redirectTo, ...(formPost !== undefined && { formPost }) });
  if (formPost !== undefined) return formPostPage(redirectTo, formPost);
  return { status: 303, headers: { 'cache-control': 'no-store', location: redirectTo }, body: '' };
}

const SCRIPT = 'document.forms[0].submit()';
/** SHA-256 of the only script that may run on the page. */
const SCRIPT_HASH = 'ePniVEkSivX/c7XWBGafqh8tSpiRrKiqYeqbG7N1TOE=';

/**
 * A page that posts the authorization response to the client (OAuth 2.0 Form Post Response Mode §2), automatically or
 * by its button if scripts are off. The policy omits `form-action`, because Chromium applies it to every redirect after
 * the form, and the client may redirect anywhere.
 * @param action the registered redirect URI
 */
function formPostPage(action: string, parameters: Readonly<Record<string, string>>): HttpResponse {
  return htmlPage(
    'Back to the application',
    `${postingForm(action, parameters, 'Continue')}
<script>${SCRIPT}</script>`,
    [`script-src 'sha256-${SCRIPT_HASH}'`],
  );
}

/**
 * A page that names the host and links to it, for an unchecked client (RFC 9700 §4.11.2). It runs no script, so only a
 * user can leave it.
 */
export function leavingPage(leaving: BrowserDelivery): HttpResponse {
  const { redirectTo, formPost } = leaving;
  const host = escapeMarkup(hostShown(redirectTo));
  const way =
    formPost === undefined
      ? `<a id="leave" href="${escapeMarkup(redirectTo)}" rel="noreferrer">Continue to ${host}</a>`
      : postingForm(redirectTo, formPost, `Continue to ${host}`);
  const page = htmlPage(
    'Leave this site?',
    `<h1>Leave this site?</h1>
<p>The link continues to <strong>${host}</strong>, the site of an application that this server’s operator has not checked.</p>
${way}`,
    [],
  );
  return { ...page, leaving };
}

/** Shows users where a URL leads: its host, or its custom scheme. */
export function hostShown(uri: string): string {
  const { protocol, host } = new URL(uri);
  return protocol === 'https:' || protocol === 'http:' ? host : protocol.slice(0, -1);
}

function htmlPage(title: string, body: string, policies: readonly string[]): HttpResponse {
  const policy = ["default-src 'none'", ...policies, "base-uri 'none'", "frame-ancestors 'none'"];
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': policy.join('; '),
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    },
    body: `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
</head>
<body>
${body}
</body>
</html>
`,
  };
}

/** @param submit text of the button; may contain HTML */
function postingForm(action: string, parameters: Readonly<Record<string, string>>, submit: string): string {
  const fields = Object.entries(parameters).map(
    ([name, value]) => `<input type="hidden" name="${escapeMarkup(name)}" value="${escapeMarkup(value)}">`,
  );
  return `<form method="post" action="${escapeMarkup(action)}">
${fields.join('\n')}
<button type="submit">${submit}</button>
</form>`;
}

/** Also escapes line breaks, which HTML parsers normalize. */
function escapeMarkup(text: string): string {
  return text.replace(/[&<>"'\r\n]/g, (character) => `&#${character.charCodeAt(0)};`);
}
