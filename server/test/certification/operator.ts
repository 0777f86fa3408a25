import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { DEMO_PERSON } from '../../src/demo/demo_people.ts';
import { type Application, startApplication } from '../harness/application.ts';
import type { Credentials } from '../harness/browser.ts';
import { type ClientKey, newSigningKey } from '../harness/client_key.ts';
import { grantdPrints, Workbench } from '../harness/program.ts';
import { selfSignedCertificate } from '../harness/self_signed_certificate.ts';
import { startTlsProxy } from '../harness/tls_proxy.ts';
import type { Client } from './client.ts';
import type { Plan } from './plans.ts';

/** A provider as its operator has set it up for a plan, and the client's own site. */
export interface Operator {
  readonly issuer: string;
  readonly person: Credentials;
  /** The client that the operator has registered; the suite is told of it. */
  readonly client: Client;
  /** RSA: the key of every client that does not need one of its own. Making one takes long. */
  readonly clientKey: ClientKey;
  /** Where every client is answered. */
  readonly redirectUri: string;
  /** Where browsers are sent after logout. */
  readonly afterLogoutUri: string;
  /** What the provider fetches, where the plan lets it; paths follow the alias. */
  readonly site: ClientSite;
  /** Runs a command of the program on its database. */
  command(args: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

/** The site of the clients. */
export interface ClientSite {
  /** Serves a document from now on. @returns its URL */
  put(path: string, body: string | Uint8Array, type: string): string;
  /** Bodies that came to a path, in order. */
  bodiesAt(path: string): readonly string[];
}

/** As in the suite: what its addresses begin with is followed by the alias of the test. */
const ALIAS = '/test/a/grantd';

const PERSON: Credentials = { username: 'certified', password: 'a password of theirs' };

const CLIENT = {
  id: 'suite',
  secret: 'the secret of the client, which is long',
  authentication: 'client_secret_basic',
} as const;

/** Every provider and every client here is https, behind one certificate, which both sides are told to trust. */
const CERTIFICATE = selfSignedCertificate();

/** The program on a database of its own, behind TLS, with a person and a client. */
export async function startOperator(plan: Plan): Promise<Operator> {
  setDefaultCACertificates([...getCACertificates('default'), CERTIFICATE.cert]);
  const workbench = new Workbench();
  const [proxy, siteProxy] = [await startTlsProxy(CERTIFICATE), await startTlsProxy(CERTIFICATE)];
  const site = await startApplication();
  siteProxy.leadTo(Number(new URL(site.origin).port));
  const origin = plan.fetches ? siteProxy.origin : 'https://rp.example';

  const folder = workbench.folder();
  const trusted = join(folder, 'trusted.pem');
  writeFileSync(trusted, CERTIFICATE.cert);
  const server = await workbench.start(
    folder,
    [
      ...['--issuer', proxy.origin, '--trusted-proxies', '127.0.0.1'],
      ...plan.options,
      // The client's site is on this very machine.
      ...(plan.fetches ? ['--insecure-development'] : []),
    ],
    { NODE_EXTRA_CA_CERTS: trusted },
  );
  proxy.leadTo(server.port);
  const command = (args: readonly string[], input = '') => grantdPrints(folder, args, input);
  const claims = Object.entries(DEMO_PERSON.claims).map(
    ([name, value]) => `--claim=${name}=${JSON.stringify(value)}`,
  );
  await command(['user', 'add', PERSON.username, '--password-stdin', ...claims], PERSON.password);
  const [redirectUri, afterLogoutUri] = [
    `${origin}${ALIAS}/callback`,
    `${origin}${ALIAS}/post_logout_redirect`,
  ];
  const args = [
    ...[
      'client',
      'add',
      CLIENT.id,
      '--secret-stdin',
      '--auth-method',
      CLIENT.authentication,
      '--scope',
      'openid',
    ],
    ...['--redirect-uri', redirectUri, '--post-logout-redirect-uri', afterLogoutUri],
    ...(plan.fetches
      ? [
          '--backchannel-logout-uri',
          `${origin}${ALIAS}/backchannel_logout`,
          '--backchannel-logout-session-required',
        ]
      : []),
  ];
  await command(args, CLIENT.secret);
  return {
    issuer: proxy.origin,
    person: PERSON,
    client: { ...CLIENT, redirectUri },
    clientKey: await newSigningKey('RS256'),
    redirectUri,
    afterLogoutUri,
    site: siteOf(site, origin),
    command,
    async close() {
      for (const one of [proxy, siteProxy, site]) one.close();
      await workbench.clear();
    },
  };
}

function siteOf({ asked, put }: Application, origin: string): ClientSite {
  return {
    put(path, body, type) {
      put(`${ALIAS}${path}`, body, type);
      return `${origin}${ALIAS}${path}`;
    },
    bodiesAt: (path) => asked.filter(({ url }) => url.pathname === `${ALIAS}${path}`).map(({ body }) => body),
  };
}
