/** The module system of a consumer. */
type ModuleSystem = 'esm' | 'commonjs';

const IMPORTS: Readonly<Record<string, string>> = {
  AuthorizationServer: '@grantd/core',
  mount: '@grantd/core/fetch',
  memoryStorage: '@grantd/core/memory',
  openSqliteStorage: '@grantd/core/sqlite',
};

/**
 * A consumer's program in plain JavaScript. On each store it gets a token, introspects it, revokes it and introspects
 * it again. It prints the results by store.
 */
export function consumerProgram(system: ModuleSystem): string {
  const lines = Object.entries(IMPORTS).map(([name, entry]) => importOf(system, name, entry));
  return `${lines.join('\n')}\n${BODY}`;
}

/** A program that prints the names in a certificate, or the error of a package that is missing. */
export function certificateProgram(system: ModuleSystem, der: Uint8Array): string {
  return `${importOf(system, 'loadCertificateReader', '@grantd/core/client_certificates')}
const der = Uint8Array.from(${JSON.stringify([...der])});
loadCertificateReader().then(
  (read) => console.log(JSON.stringify(read(der))),
  ({ name, option, message }) => console.log(JSON.stringify({ name, option, message })),
);
`;
}

function importOf(system: ModuleSystem, name: string, entry: string): string {
  return system === 'esm'
    ? `import { ${name} } from '${entry}';`
    : `const { ${name} } = require('${entry}');`;
}

const BODY = `
const issuer = 'https://login.example.com';

async function answersOn(storage) {
  const server = new AuthorizationServer({ issuer, secret: 'a secret of thirty-two characters', storage });
  await server.prepare();
  await storage.clients.add({
    id: 'my-service',
    secrets: [await server.operator.hashClientSecret('its secret')],
    grantTypes: ['client_credentials'],
    scopes: ['read'],
    redirectUris: [],
  });
  const answer = mount(server);
  const post = async (path, form) => {
    const authorization = 'Basic ' + btoa('my-service:its+secret');
    const request = new Request(issuer + path, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(form),
    });
    const response = await answer(request);
    return { status: response.status, text: await response.text() };
  };
  const issued = await post('/token', { grant_type: 'client_credentials', scope: 'read' });
  if (issued.status !== 200) throw new Error(issued.text);
  const token = JSON.parse(issued.text).access_token;
  const { status, text } = await post('/token/introspect', { token });
  const { active, client_id, scope } = JSON.parse(text);
  const revoked = await post('/token/revoke', { token });
  const afterwards = await post('/token/introspect', { token });
  storage.close?.();
  return [{ status, active, client_id, scope }, revoked, afterwards];
}

async function main() {
  const memory = await answersOn(memoryStorage());
  const path = 'consumer-' + process.pid + '.db';
  console.log(JSON.stringify({ memory, sqlite: await answersOn(openSqliteStorage({ path, issuer })) }));
}

main();
`;
