import type { HttpResponse } from '../../protocol/http.ts';

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
export function formPostPage(action: string, parameters: Readonly<Record<string, string>>): HttpResponse {
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${SCRIPT_HASH}'`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
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
    body: pageOf(action, parameters),
  };
}

function pageOf(action: string, parameters: Readonly<Record<string, string>>): string {
  const fields = Object.entries(parameters).map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  );
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Back to the application</title>
</head>
<body>
<form method="post" action="${escaped(action)}">
${fields.join('\n')}
<button type="submit">Continue</button>
</form>
<script>${SCRIPT}</script>
</body>
</html>
`;
}

/** Line breaks as well, which a parser of HTML would make into others. */
function escaped(text: string): string {
  return text.replace(/[&<>"'\r\n]/g, (character) => `&#${character.charCodeAt(0)};`);
}
