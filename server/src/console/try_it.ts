// What an administrator pastes into an application or API to try a client.
import { html } from 'hono/html';
import type { ClientView as Client } from '../admin/client_documents.ts';
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

/** Settings and code to paste; the code of a single-page application is all that it needs. */
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
<pre class="snippet" tabindex="0"><code id="try-${use}">${snippetOf(use, client, issuer)}</code></pre>\n`,
)}`,
  );
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

function singlePageApplication(client: Client, issuer: string): string {
  const { client_id: id, redirect_uris: [redirectUri = ''] = [], scope = 'openid' } = client;
  const isInsecure = issuer.startsWith('http:');
  const options = isInsecure ? ', insecure' : '';
  return `// npm install oauth4webapi
import * as oauth from 'oauth4webapi';

const client = { client_id: ${quoted(id)} };
const redirectUri = ${quoted(redirectUri)};
const issuer = new URL(${quoted(issuer)});${isInsecure ? '\nconst insecure = { [oauth.allowInsecureRequests]: true }; // the issuer has no TLS' : ''}
const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer${options}));

if (new URL(location.href).searchParams.has('state')) {
  const { state, verifier } = sessionStorage;
  const answer = oauth.validateAuthResponse(server, client, new URL(location.href), state);
  const response = await oauth.authorizationCodeGrantRequest(
    server, client, oauth.None(), answer, redirectUri, verifier${options});
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response);
  const user = await oauth.userInfoRequest(server, client, tokens.access_token${options});
  document.body.textContent = JSON.stringify(await user.json());
} else {
  const state = oauth.generateRandomState();
  const verifier = oauth.generateRandomCodeVerifier();
  Object.assign(sessionStorage, { state, verifier });
  const request = new URL(server.authorization_endpoint);
  request.search = new URLSearchParams({
    ...client,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: ${quoted(scope)},
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString();
  location.assign(request);
}`;
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
.snippet { max-width: 100%; margin: .5rem 0 0; padding: .875rem; overflow-x: auto; overflow-wrap: normal; background: var(--ground); border: 1px solid var(--line); border-radius: var(--radius, .625rem); }
.shown-secret { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .75rem; margin: .75rem 0; }
.shown-secret code { padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: var(--radius, .625rem); }
`;
