// An API that introspects each token, so that it rejects a revoked one at once.
import { AccessTokenIntrospector } from '@grantd/protect';
import { protect, tokenOf } from '@grantd/protect/express';
import express from 'express';

const tokens = new AccessTokenIntrospector({
  issuer: process.env.ISSUER ?? 'http://localhost:3000',
  audience: 'http://localhost:3001',
  credentials: { clientId: 'my-api', clientSecret: process.env.API_SECRET ?? "the API's secret" },
});

const app = express();

app.get('/reports', protect({ tokens, scopes: ['read'] }), (request, response) => {
  response.json({ reports: [], readBy: tokenOf(request).clientId });
});

app.post('/reports', protect({ tokens, scopes: ['write'] }), (_request, response) => {
  response.sendStatus(201);
});

app.listen(Number(process.env.PORT ?? 3001), '127.0.0.1');
