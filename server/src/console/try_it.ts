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

/** Settings and code to paste. @param here how the console itself signs in with the client */
export function trySection(client: Client, issuer: string, here: Html | '', texts: Texts): Html | '' {
  const { console: words } = texts;
  const uses = usesOf(client);
  if (uses.length === 0) return '';
  const { client_id: id } = client;
  const discovery = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const rows: readonly Row[] = [
    [words.issuer, copied(issuer, texts, html`<code>${issuer}</code>`)],
    [texts.labels.client_id, copied(id, texts, html`<code>${id}</code>`)],
    [words.forms.discovery, copied(discovery, texts, html`<code>${discovery}</code>`)],
    [texts.labels.redirect_uris, codes(ownUris(client, issuer))],
    [texts.labels.scope, client.scope && html`<code>${client.scope}</code>`],
  ];
  return section(
    'try',
    words.forms.tryTitle,
    html`${here}${termList(rows)}
${uses.map(
  (use) => html`<h3 class="try">${words.forms.tryUses[use]}</h3>
<p class="actions">${copyButton(`copy-try-${use}`, `#try-${use}`, texts)}</p>
<pre class="snippet"><code id="try-${use}">${snippetOf(use, client, issuer)}</code></pre>\n`,
)}`,
  );
}

/** The redirect URI with which the console tries an application (ADR 220). */
export function trialUri(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/console/try`;
}

/** Without that of the console. */
function ownUris({ redirect_uris: uris = [] }: Client, issuer: string): readonly string[] {
  return uris.filter((uri) => uri !== trialUri(issuer));
}

export function snippetOf(use: ClientUse, client: Client, issuer: string): string {
  const base = issuer.replace(/\/$/, '');
  const id = client.client_id;
  const { scope = '', resource = '' } = client;
  const [redirectUri = ''] = ownUris(client, issuer);
  const [api = ''] = client.apis ?? [];
  const basic = `-u ${shell(`${form(id)}:`)}"$CLIENT_SECRET"`;
  const more = [
    ...(scope === '' ? [] : [`-d scope=${shell(form(scope))}`]),
    ...(api === '' ? [] : [`-d resource=${shell(form(api))}`]),
  ];
  switch (use) {
    case 'spa':
      return userManager(client, issuer);
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

function userManager(client: Client, issuer: string): string {
  const { client_id: id, scope = 'openid' } = client;
  const [redirectUri = ''] = ownUris(client, issuer);
  const bound = client.dpop_bound_access_tokens === true;
  const proof = '  dpop: { store: new IndexedDbDPoPStore(), bind_authorization_code: true },\n';
  return `// npm install oidc-client-ts
import { ${bound ? 'IndexedDbDPoPStore, ' : ''}UserManager } from 'oidc-client-ts';

const manager = new UserManager({
  authority: ${quoted(issuer)},
  client_id: ${quoted(id)},
  redirect_uri: ${quoted(redirectUri)},
  scope: ${quoted(scope)},
${bound ? proof : ''}});

// 1. Send the browser to the server.
await manager.signinRedirect();

// 2. At the redirect URI:
const user = await manager.signinCallback();
console.log(user.profile, user.access_token);`;
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
.snippet { margin: .5rem 0 0; padding: .875rem; white-space: pre-wrap; background: var(--ground); border: 1px solid var(--line); border-radius: var(--radius, .625rem); }
.shown-secret { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .75rem; margin: .75rem 0; }
.shown-secret code { padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: var(--radius, .625rem); }
`;
