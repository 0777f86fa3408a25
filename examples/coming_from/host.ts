// A host that keeps @jmondi/oauth2-server, with these endpoints of grantd: introspection, revocation and UserInfo.
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { AuthorizationServer, jwtVerifier } from '@grantd/core';
import { mount } from '@grantd/core/node';
import { jmondi } from './jmondi.ts';

const { PORT = '3000', ISSUER: issuer = `http://localhost:${PORT}`, DATABASE = 'host.db' } = process.env;
const { JWT_SECRET = '' } = process.env;

const database = new DatabaseSync(DATABASE);
const user = database.prepare('SELECT name, email FROM users WHERE id = ?');
const server = new AuthorizationServer({
  issuer,
  storage: jmondi(database),
  jwtService: jwtVerifier([{ algorithm: 'HS256', secret: JWT_SECRET }]),
  insecureAllowGenericJwts: true, // its access tokens have the type JWT
  oidc: { getUserClaims: (id) => user.get(id) },
});
createServer(mount(server)).listen(Number(PORT), '127.0.0.1');
