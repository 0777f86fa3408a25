// A single-page application as its developers would write one, with nothing but oidc-client-ts.
const { UserManager } = globalThis.oidc;

const settings = await (await fetch('/settings.json')).json();
const manager = new UserManager({
  ...settings,
  redirect_uri: `${location.origin}/callback`,
  silent_redirect_uri: `${location.origin}/silent`,
  post_logout_redirect_uri: `${location.origin}/`,
  loadUserInfo: true,
  automaticSilentRenew: false,
  silentRequestTimeoutInSeconds: 5,
});

const element = (id) => document.getElementById(id);

async function show() {
  const user = await manager.getUser();
  element('name').textContent = user?.profile.name ?? '';
  element('state').textContent = user === null ? 'signed out' : 'signed in';
}

/** Does something, and says how it went. */
async function act(what, action) {
  element('state').textContent = `${what} …`;
  element('problem').textContent = '';
  try {
    await action();
  } catch (error) {
    element('problem').textContent = error.error ?? String(error);
  }
  await show();
}

const actions = {
  'sign-in': () => manager.signinRedirect(),
  renew: () => manager.signinSilent(),
  revoke: () => manager.revokeTokens().then(() => manager.removeUser()),
  'sign-out': () => manager.signoutRedirect(),
};
for (const [id, action] of Object.entries(actions)) element(id).onclick = () => act(id, action);

if (location.pathname === '/silent') {
  await manager.signinSilentCallback();
} else if (new URLSearchParams(location.search).has('state')) {
  const isBack = location.pathname === '/callback';
  await act('callback', () => (isBack ? manager.signinCallback() : manager.signoutCallback()));
  history.replaceState(null, '', '/');
} else {
  await show();
}
