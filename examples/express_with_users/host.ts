// An Express application whose own users sign in to other applications: its table, its passwords, its page.
//   GRANTD_SECRET=… node examples/express_with_users/host.ts
import { randomUUID } from 'node:crypto';
import { AuthorizationServer, errorResponse } from '@grantd/core';
import { mount, sendResponse, toHttpRequest } from '@grantd/core/express';
import { openSqliteStorage } from '@grantd/core/sqlite';
import express, { type ErrorRequestHandler, type Request } from 'express';
import { signInPage } from './sign_in_page.ts';
import { users } from './users.ts';

const port = Number(process.env.PORT ?? 3000);
const issuer = process.env.ISSUER ?? `http://localhost:${port}`;
const storage = openSqliteStorage({ path: process.env.DATABASE ?? 'tokens.db', issuer });
const server = new AuthorizationServer({
  issuer,
  secret: process.env.GRANTD_SECRET ?? '',
  storage,
  oidc: { getUserClaims: (subject) => users.claimsOf(subject) },
});
await server.prepare();

/** Requests of applications, while somebody signs in; the browser knows its own by a cookie. */
const waiting = new Map<string, Readonly<Record<string, string>>>();
const MOST_WAITING = 1000;
const ticketOf = ({ headers }: Request) => /(?:^|; )ticket=([^;]+)/.exec(headers.cookie ?? '')?.[1] ?? '';

const app = express();
app.use(mount(server));

app.get('/authorize', async (request, response) => {
  const asked = await server.validateAuthorizationRequest(await toHttpRequest(request));
  if (asked.prompt.includes('none')) {
    sendResponse(
      request,
      response,
      server.refuseAuthorization(asked, 'login_required', 'nobody is signed in'),
    );
    return;
  }
  const ticket = randomUUID();
  for (const [oldest] of waiting) if (waiting.size >= MOST_WAITING) waiting.delete(oldest);
  waiting.set(ticket, asked.parameters);
  response.cookie('ticket', ticket, { httpOnly: true, sameSite: 'lax', secure: issuer.startsWith('https:') });
  response.send(signInPage(asked));
});

app.post('/authorize', express.urlencoded(), async (request, response) => {
  const parameters = waiting.get(ticketOf(request));
  if (parameters === undefined) {
    response.status(400).send('Go back to the application and begin again.');
    return;
  }
  const asked = await server.resumeAuthorizationRequest(parameters);
  const user = users.withPassword(String(request.body.name), String(request.body.password));
  if (user === undefined) {
    response.status(401).send(signInPage(asked, 'Name or password is wrong.'));
    return;
  }
  waiting.delete(ticketOf(request));
  const authTime = Math.floor(Date.now() / 1000);
  sendResponse(request, response, await server.completeAuthorization(asked, { subject: user.id, authTime }));
});

const refuse: ErrorRequestHandler = (error, request, response, _next) =>
  sendResponse(request, response, errorResponse(error));
app.use(refuse);
app.listen(port);
