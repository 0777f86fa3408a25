// A single-page application whose tokens are bound to a key that no script can read, with nothing but oauth4webapi.
import * as oauth from 'oauth4webapi';
import { load, save } from '/storage.js';

const { issuer, client_id, api } = await (await fetch('/settings.json')).json();
const redirectUri = `${location.origin}/callback`;
const options = { [oauth.allowInsecureRequests]: true }; // only for a server on this machine
const client = { client_id };
const server = await oauth.processDiscoveryResponse(
  new URL(issuer),
  await oauth.discoveryRequest(new URL(issuer), options),
);

/** The browser keeps the key and signs with it. `extractable: false` means that no script can read it. */
async function ownKey() {
  const kept = await load('key');
  if (kept !== undefined) return kept;
  const made = await oauth.generateKeyPair('ES256', { extractable: false });
  await save('key', made);
  return made;
}

const DPoP = oauth.DPoP(client, await ownKey());

/** Repeats a request once if the server or the API asks for another nonce, which the handle `DPoP` has then noted. */
async function withNonce(request) {
  try {
    return await request();
  } catch (error) {
    if (oauth.isDPoPNonceError(error)) return request();
    throw error;
  }
}

async function signIn() {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  sessionStorage.setItem('sign-in', JSON.stringify({ verifier, state }));
  const url = new URL(server.authorization_endpoint);
  url.search = new URLSearchParams({
    ...{ client_id, redirect_uri: redirectUri, response_type: 'code', state, resource: api },
    ...{ scope: 'openid profile read', dpop_jkt: await DPoP.calculateThumbprint() },
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  location.assign(url);
  await new Promise(() => {}); // the page goes away
}

async function redeem() {
  const { verifier, state } = JSON.parse(sessionStorage.getItem('sign-in'));
  const callback = oauth.validateAuthResponse(server, client, new URL(location), state);
  history.replaceState(null, '', '/');
  const tokens = await withNonce(async () =>
    oauth.processAuthorizationCodeResponse(
      server,
      client,
      await oauth.authorizationCodeGrantRequest(
        ...[server, client, oauth.None(), callback, redirectUri, verifier],
        { ...options, DPoP },
      ),
    ),
  );
  await save('tokens', tokens);
}

async function refresh() {
  const { refresh_token } = await load('tokens');
  const tokens = await withNonce(async () =>
    oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refresh_token, { ...options, DPoP }),
    ),
  );
  await save('tokens', tokens);
}

async function read() {
  const { access_token } = await load('tokens');
  const get = (url) =>
    withNonce(() =>
      oauth.protectedResourceRequest(access_token, 'GET', new URL(url), undefined, undefined, {
        ...options,
        DPoP,
      }),
    );
  element('name').textContent = (await (await get(server.userinfo_endpoint)).json()).name;
  element('notes').textContent = await (await get(`${api}/notes`)).text();
}

const element = (id) => document.getElementById(id);

/** Does something, and says how it went. */
async function act(action) {
  for (const id of ['name', 'notes', 'problem']) element(id).textContent = '';
  element('state').textContent = 'busy';
  try {
    await action();
  } catch (error) {
    element('problem').textContent = `${error} ${error.error ?? ''}`;
  }
  element('state').textContent = (await load('tokens')) === undefined ? 'signed out' : 'signed in';
}

for (const [id, action] of Object.entries({ 'sign-in': signIn, read, refresh }))
  element(id).onclick = () => act(action);
await act(location.pathname === '/callback' ? redeem : () => {});
