// What the console says when it signs in with an application, in English.
import { html } from 'hono/html';
import type { Html } from '../formats/html.ts';

export const TRIAL = {
  offer: 'Sign in as yourself, and see what the application gets. It needs no code and no server of its own.',
  begin: 'Sign in with this application',
  again: 'Sign in again',
  notAllowed:
    'The console can sign in with this application, if the application allows it as a redirect URI.',
  elsewhere: (url: Html) => html`To sign in with this application, open the console at ${url}.`,
  obstacles: {
    disabled: 'A disabled application cannot be tried.',
    signed_request:
      'The console cannot try this application: its requests must be signed with a key that only the application has.',
    certificate:
      'The console cannot try this application: its tokens are bound to a certificate that only the application has.',
    response_mode:
      'The console cannot try this application: its response modes do not include query, which a page without scripts needs.',
  },
  title: 'What the application gets',
  scopes: 'Scopes',
  granted: 'Granted',
  ofOtherApi: (apis: Html) =>
    html`Not granted. It belongs to an API that the application may not request: ${apis}`,
  unusedApi: (scopes: Html) =>
    html`The access token is not for this API, because the application has none of its scopes. Add one to the scopes of the application: ${scopes}`,
  leftOut:
    'Not granted. The consent or a setting of the server leaves it out, or it belongs to another API than the other scopes.',
  refreshable: 'The application also gets a refresh token, with which it renews its access.',
  notRefreshable:
    'The application gets no refresh token. When the access token expires, the user signs in again.',
  idToken: 'ID token',
  idTokenText: 'Who has signed in, when and how. The application reads it.',
  noIdToken: 'The application gets none, because it does not request the scope openid.',
  encrypted: 'It is encrypted, and only the application has the key.',
  userInfoText: 'What the application learns about the user when it asks.',
  accessToken: 'Access token',
  accessTokenText: 'What an API learns about the token from introspection.',
  refreshToken: 'Refresh token',
  revoke: 'Revoke the token',
  toClient: 'Back to the application',
  ended: 'The token is revoked',
  endedText: 'This is what APIs and the application get from now on:',
  failed: 'The application gets nothing',
  failedText: (name: string) => `The sign-in with ${name} has failed. The application gets this error.`,
  refused: 'The server has refused the request.',
  explain: 'What this means, and what to do',
  errors: {
    access_denied: 'The user, or a rule of the server or the application, has refused the access.',
    login_required: 'The user would have to sign in again, which the request does not allow.',
    unmet_authentication_requirements: 'The sign-in is weaker than the application requires.',
    invalid_scope: 'The application may not have any of these scopes, or not together.',
    invalid_target: 'The application may not request this API.',
    invalid_grant: 'The code is not valid any more. It works once, and only for a short time.',
    invalid_token: 'The token is not active.',
    insufficient_scope: 'Without the scope openid, the application cannot ask UserInfo.',
    unauthorized_client: 'The application may not do this.',
    temporarily_unavailable: 'The server could not answer. Try again soon.',
  },
  foreign: 'This sign-in was not begun here',
  foreignText: (origin: Html) =>
    html`Nothing was redeemed. A sign-in with an application begins and ends in the same browser, within ten minutes, at the address ${origin}. Begin it again on the page of the application.`,
};
