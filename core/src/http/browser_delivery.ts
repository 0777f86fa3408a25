import type { BrowserDelivery, HttpResponse } from './http.ts';

/**
 * The response by which the browser takes something to the client.
 * @param asksBeforeLeaving whether a person decides first, on a page that names the host
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
/** SHA-256 of the script: nothing else may run on the page. */
const SCRIPT_HASH = 'ePniVEkSivX/c7XWBGafqh8tSpiRrKiqYeqbG7N1TOE=';

/**
 * A page that posts the parameters of an authorization response to the client (OAuth 2.0 Form Post Response Mode §2):
 * by itself, or by its button where the browser runs no scripts.
 * The policy says nothing of `form-action`: Chromium holds it against every redirect that follows a form, and where the
 * client sends the person on to is the client's own.
 * @param action the redirect URI, which is registered
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
 * A page that names the host and has a link, or a form, that leads there: for a client that nobody checked (RFC 9700
 * §4.11.2). It runs no script, so that only a person leaves by it.
 */
export function leavingPage(leaving: BrowserDelivery): HttpResponse {
  const { redirectTo, formPost } = leaving;
  const host = escaped(hostShown(redirectTo));
  const way =
    formPost === undefined
      ? `<a id="leave" href="${escaped(redirectTo)}" rel="noreferrer">Continue to ${host}</a>`
      : postingForm(redirectTo, formPost, `Continue to ${host}`);
  const page = htmlPage(
    'Leave this site?',
    `<h1>Leave this site?</h1>
<p>The link continues to <strong>${host}</strong>, the site of an application that nobody here has checked.</p>
${way}`,
    [],
  );
  return { ...page, leaving };
}

/** What tells people where an address leads: its host, or the scheme of an app's own. */
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

/** @param submit text of the button, which may be HTML */
function postingForm(action: string, parameters: Readonly<Record<string, string>>, submit: string): string {
  const fields = Object.entries(parameters).map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  );
  return `<form method="post" action="${escaped(action)}">
${fields.join('\n')}
<button type="submit">${submit}</button>
</form>`;
}

/** Line breaks as well, which a parser of HTML would make into others. */
function escaped(text: string): string {
  return text.replace(/[&<>"'\r\n]/g, (character) => `&#${character.charCodeAt(0)};`);
}
