// What an administrator pastes into an application or API to try a client.
import { html } from 'hono/html';
import type { ClientView as Client } from '../admin/client_documents.ts';
import { copyButton } from '../pages/drawing/copying.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import { type Row, section, termList } from './frame.ts';
import { codes, copied } from './values.ts';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** What a client is, by what it may do. */
export type ClientUse = 'spa' | 'native' | 'web' | 'agent' | 'machine' | 'api';

/** @returns what the client is; several if it is an API and also calls others */
export function usesOf(client: Client): readonly ClientUse[] {
  const { grant_types: grants = [], type, application_type: kind } = client;
  const signsIn = grants.includes('authorization_code');
  return [
    ...(signsIn ? ([type === 'confidential' ? 'web' : kind === 'native' ? 'native' : 'spa'] as const) : []),
    ...(grants.includes(EXCHANGE) ? (['agent'] as const) : []),
    ...(grants.includes('client_credentials') ? (['machine'] as const) : []),
    ...(client.resource === undefined ? [] : (['api'] as const)),
  ];
}

/** Settings and code to paste. That of a single-page application is a whole file. */
export function trySection(client: Client, issuer: string, texts: Texts): Html | '' {
  const { console: words } = texts;
  const uses = usesOf(client);
  if (uses.length === 0) return '';
  const { client_id: id } = client;
  const discovery = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const rows: readonly Row[] = [
    [words.issuer, copied(issuer, texts, html`<code>${issuer}</code>`)],
    [texts.labels.client_id, copied(id, texts, html`<code>${id}</code>`)],
    [words.forms.discovery, copied(discovery, texts, html`<code>${discovery}</code>`)],
    [texts.labels.redirect_uris, codes(client.redirect_uris ?? [])],
    [texts.labels.scope, client.scope && html`<code>${client.scope}</code>`],
  ];
  return section(
    'try',
    words.forms.tryTitle,
    html`${termList(rows)}
${uses.map(
  (use) => html`<h3 class="try">${words.forms.tryUses[use]}</h3>
${use === 'spa' ? html`<p class="note">${servingNote(client, texts)}</p>\n` : ''}<p class="actions">${copyButton(`copy-try-${use}`, `#try-${use}`, texts)}${use === 'spa' ? downloadLink(snippetOf(use, client, issuer), texts) : ''}</p>
${use === 'spa' ? html`<details><summary>${words.forms.showFile}</summary>${snippet(use, client, issuer)}</details>` : snippet(use, client, issuer)}\n`,
)}`,
  );
}

function snippet(use: ClientUse, client: Client, issuer: string): Html {
  return html`<pre class="snippet"><code id="try-${use}">${snippetOf(use, client, issuer)}</code></pre>`;
}

/** Links to this machine only: an unchecked client chooses its own redirect URIs. */
function servingNote({ redirect_uris: [uri = ''] = [] }: Client, texts: Texts): Html {
  const { console: words } = texts;
  const command = commandFor(uri);
  return command === undefined
    ? words.serveFile(html`<code>${uri}</code>`)
    : words.serveFileWith(
        copied(command, texts, html`<code>${command}</code>`),
        html`<a href="${uri}" target="_blank" rel="noopener"><code>${uri}</code></a>`,
      );
}

/** The link needs no script, and no page of the server. */
function downloadLink(file: string, { console: { forms } }: Texts): Html {
  const href = `data:text/html;charset=utf-8,${encodeURIComponent(file)}`;
  return html`<a id="download-try" class="button" download="index.html" href="${href}">${forms.download}</a>`;
}

export function snippetOf(use: ClientUse, client: Client, issuer: string): string {
  const base = issuer.replace(/\/$/, '');
  const id = client.client_id;
  const { redirect_uris: [redirectUri = ''] = [], scope = '', resource = '' } = client;
  const [api = ''] = client.apis ?? [];
  const basic = `-u ${shell(`${form(id)}:`)}"$CLIENT_SECRET"`;
  const more = [
    ...(scope === '' ? [] : [`-d scope=${shell(form(scope))}`]),
    ...(api === '' ? [] : [`-d resource=${shell(form(api))}`]),
  ];
  switch (use) {
    case 'spa':
      return singlePageApplication(client, issuer);
    case 'web':
    case 'native':
      return openidClient(use, id, redirectUri, scope, issuer);
    case 'machine':
      return lines(`curl -sS ${basic} ${base}/token`, '-d grant_type=client_credentials', ...more);
    case 'agent':
      return lines(
        `curl -sS ${basic} ${base}/token`,
        `-d grant_type=${EXCHANGE}`,
        '-d subject_token="$TOKEN"',
        '-d subject_token_type=urn:ietf:params:oauth:token-type:access_token',
        ...more,
      );
    case 'api':
      return [`# ${resource}`, lines(`curl -sS ${basic} ${base}/token/introspect`, '-d token="$TOKEN"')].join(
        '\n',
      );
  }
}

function lines(...parts: readonly string[]): string {
  return parts.join(' \\\n  ');
}

function shell(text: string): string {
  return /^[\w.:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Encoded for a form, and for the user name of Basic authentication (RFC 6749 §2.3.1). */
function form(text: string): string {
  return encodeURIComponent(text).replaceAll('%20', '+');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Inside a script of an HTML file. */
function scripted(text: string): string {
  return quoted(text).replaceAll('<', '\\x3c');
}

/** A command that serves a folder at the redirect URI; `undefined` if that is not on this machine. */
function commandFor(redirectUri: string): string | undefined {
  const { protocol, hostname, port } = URL.parse(redirectUri) ?? {};
  const isHere = protocol === 'http:' && (hostname === 'localhost' || hostname === '127.0.0.1');
  return isHere ? `python3 -m http.server ${port || '80'} --bind ${hostname}` : undefined;
}

function servedAt(redirectUri: string): string {
  const how = commandFor(redirectUri) ?? 'any server for files';
  return `Save it as index.html, serve it with ${how}, and open ${redirectUri.replaceAll('--', '%2D%2D')}`;
}

/** A whole HTML file, without imports. */
function singlePageApplication(client: Client, issuer: string): string {
  const { client_id: id, redirect_uris: [redirectUri = ''] = [], scope = 'openid' } = client;
  return `<!doctype html>
<!-- ${servedAt(redirectUri)} -->
<html lang="en">
<meta charset="utf-8">
<title>Sign-in</title>
<p id="state">Not signed in.</p>
<button id="sign-in">Sign in</button>
<pre id="shown"></pre>
<script type="module">
const issuer = ${scripted(issuer)};
const client_id = ${scripted(id)};
const redirect_uri = ${scripted(redirectUri)};
const scope = ${scripted(scope)};

const show = (state) => { document.querySelector('#state').textContent = state; };
const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '');
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const claimsOf = (token) => {
  const [, claims] = token.split('.');
  if (claims === undefined) return 'It is opaque: only the server knows its claims.';
  const bytes = Uint8Array.from(atob(claims.replace(/-/g, '+').replace(/_/g, '/')), (one) => one.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
};
const json = async (url, options) => {
  const response = await fetch(url, options);
  const body = await response.json();
  if (!response.ok) throw new Error(body.error_description ?? body.error ?? response.status);
  return body;
};
const server = await json(issuer.replace(/\\/$/, '') + '/.well-known/openid-configuration');

document.querySelector('#sign-in').onclick = async () => {
  const [state, verifier] = [random(), random()];
  Object.assign(sessionStorage, { state, verifier });
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const request = { client_id, redirect_uri, scope, state, response_type: 'code',
    code_challenge: base64url(digest), code_challenge_method: 'S256' };
  location.assign(server.authorization_endpoint + '?' + new URLSearchParams(request));
};

const answer = new URLSearchParams(location.search);
if (answer.has('state')) {
  history.replaceState(null, '', redirect_uri);
  try {
    const { state, verifier } = sessionStorage;
    sessionStorage.clear();
    if (answer.get('state') !== state || answer.get('iss') !== server.issuer)
      throw new Error('The response is not for this page. Sign in again.');
    if (answer.has('error')) throw new Error(answer.get('error_description') ?? answer.get('error'));
    const code = { grant_type: 'authorization_code', code: answer.get('code'), redirect_uri, client_id,
      code_verifier: verifier };
    const tokens = await json(server.token_endpoint, { method: 'POST', body: new URLSearchParams(code) });
    const headers = { authorization: 'Bearer ' + tokens.access_token };
    const isOfUser = scope.split(' ').includes('openid');
    const shown = {
      access_token: claimsOf(tokens.access_token),
      userinfo: isOfUser ? await json(server.userinfo_endpoint, { headers }) : 'The scope has no openid.',
    };
    show('Signed in.');
    document.querySelector('#shown').textContent = JSON.stringify(shown, undefined, 2);
  } catch (error) {
    show('Sign-in failed: ' + error.message);
  }
}
</script>
</html>
`;
}

function openidClient(
  use: 'web' | 'native',
  id: string,
  redirectUri: string,
  scope: string,
  issuer: string,
): string {
  const authentication = use === 'web' ? 'process.env.CLIENT_SECRET' : 'undefined, oidc.None()';
  const insecure = issuer.startsWith('http:');
  const more = insecure
    ? `${use === 'web' ? ', undefined' : ''}, { execute: [oidc.allowInsecureRequests] }`
    : '';
  return `// npm install openid-client
import * as oidc from 'openid-client';

const config = await oidc.discovery(new URL(${quoted(issuer)}), ${quoted(id)}, ${authentication}${more});

// 1. Send the browser there, and keep the verifier and the state for step 2.
const verifier = oidc.randomPKCECodeVerifier();
const state = oidc.randomState();
const request = oidc.buildAuthorizationUrl(config, {
  redirect_uri: ${quoted(redirectUri)},
  scope: ${quoted(scope)},
  state,
  code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
});

// 2. At the redirect URI, with the URL of the request:
const tokens = await oidc.authorizationCodeGrant(config, new URL(url), {
  pkceCodeVerifier: verifier,
  expectedState: state,
});
console.log(tokens.claims());`;
}

/** Rules of snippets and of secrets that are shown once. */
export const TRY_STYLE = `
.try { margin-top: 1rem; }
.card { position: relative; }
.card:hover { background: var(--ground); }
.card .button::after { content: ''; position: absolute; inset: 0; }
.snippet { margin: .5rem 0 0; padding: .875rem; white-space: pre-wrap; background: var(--ground); border: 1px solid var(--line); border-radius: var(--radius, .625rem); }
.shown-secret { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .75rem; margin: .75rem 0; }
.shown-secret code { padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: var(--radius, .625rem); }
`;
