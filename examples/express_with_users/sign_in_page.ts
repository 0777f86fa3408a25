import type { AuthorizationRequest } from '@grantd/core';

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');

/** Who asks, for what, and who is here: to sign in is to agree. */
export function signInPage({ client, scopes }: AuthorizationRequest, problem = ''): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title>
<h1>Sign in to ${escaped(client.id)}</h1>
<p>It will see: ${escaped(scopes.join(', '))}</p>
<p role="alert">${escaped(problem)}</p>
<form method="post" action="/authorize">
  <label>Name <input name="name" autocomplete="username" required></label>
  <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
  <button>Sign in and allow</button>
</form></html>`;
}
