// An Express application whose own users sign in to other applications. Limit their attempts as you do elsewhere.
import { AuthorizationServer, type HttpRequest, sweep } from '@grantd/core';
import { handler, mount } from '@grantd/core/express';
import { openSqliteStorage } from '@grantd/core/sqlite';
import express from 'express';
import { claimsOf, idOf } from './people.ts';
import { formFor, formIn } from './sign_in_form.ts';

const port = Number(process.env.PORT ?? 3000);
const issuer = process.env.ISSUER ?? `http://localhost:${port}`;
const storage = openSqliteStorage({ path: process.env.DATABASE ?? 'tokens.db', issuer });

const server = new AuthorizationServer({
  issuer,
  secret: process.env.GRANTD_SECRET ?? '', // at least 32 characters, the same at every start
  storage,
  oidc: { getUserClaims: claimsOf },
  getSubjectState: (id) => (claimsOf(id) === undefined ? undefined : 'active'),
});

await server.prepare();
setInterval(() => sweep(storage).catch(console.error), 60_000).unref(); // deletes expired rows

/** Shows the sign-in form for a request, and then checks the user's name and password. */
async function authorize(request: HttpRequest) {
  const form = formIn(request);
  if (form !== undefined) {
    const checked = await server.authorization.resume(form.parameters);
    const subject = await idOf(form.name, form.password);
    if (subject === undefined) return formFor(request, checked, 'Name or password is wrong.');
    return server.authorization.complete(checked, { subject, authTime: Math.floor(Date.now() / 1000) });
  }
  const checked = await server.authorization.validate(request);
  if (checked.prompt.includes('none'))
    return server.authorization.refuse(checked, 'login_required', 'nobody is signed in');
  return formFor(request, checked);
}

const app = express();
app.use(mount(server));
app.all('/authorize', handler(authorize));
app.listen(port, '127.0.0.1');
