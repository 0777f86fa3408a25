import { html } from 'hono/html';
import type { Html } from './layout.ts';

export interface SignInView {
  readonly action: string;
  readonly formToken: string;
  readonly clientName: string;
  readonly username: string;
  readonly problem?: string;
}

export function signInForm({ action, formToken, clientName, username, problem }: SignInView): Html {
  return html`<p>to continue to <strong>${clientName}</strong></p>
${problem === undefined ? '' : html`<p role="alert" id="problem">${problem}</p>`}
<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<label for="username">Name</label>
<input id="username" name="username" value="${username}" autocomplete="username" autocapitalize="none" required ${username === '' ? 'autofocus' : ''}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required ${username === '' ? '' : 'autofocus'}>
<button id="login-submit" type="submit">Sign in</button>
</form>`;
}

export interface ConsentView {
  readonly action: string;
  readonly formToken: string;
  readonly clientName: string;
  readonly personName: string;
  readonly scopes: readonly string[];
  readonly changePerson: string;
}

/** What the scopes that everyone knows mean; any other is shown as it is. */
const SCOPE_MEANINGS: ReadonlyMap<string, string> = new Map([
  ['openid', 'know who you are'],
  ['profile', 'read your profile'],
  ['email', 'read your email address'],
  ['address', 'read your postal address'],
  ['phone', 'read your telephone number'],
  ['offline_access', 'keep this access while you are away'],
]);

export function consentForm(view: ConsentView): Html {
  const { action, formToken, clientName, personName, scopes, changePerson } = view;
  return html`<p>You are signed in as <strong>${personName}</strong>. <a id="change-person" href="${changePerson}">Not you?</a></p>
<p><strong>${clientName}</strong> asks to:</p>
<ul id="scopes">
${scopes.map((scope) => html`<li>${SCOPE_MEANINGS.get(scope) ?? scope}</li>\n`)}
</ul>
<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<button id="consent-allow" type="submit" name="decision" value="allow">Allow</button>
<button id="consent-deny" type="submit" name="decision" value="deny">Deny</button>
</form>`;
}

export function problemText(text: string): Html {
  return html`<p role="alert" id="problem">${text}</p>
<p>Go back to the application and try again.</p>`;
}

/** @param metadata where the server describes itself; absent without OpenID Connect */
export function homeText(issuer: string, metadata: string | undefined): Html {
  return html`<p>This is the authorization server <strong>${issuer}</strong>. Applications send you here to sign in; there is nothing to do on this page.</p>
${metadata === undefined ? '' : html`<p>For developers: <a href="${metadata}">what it offers</a>.</p>`}`;
}
