import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type Application, startApplication } from '../harness/application.ts';
import type { Credentials } from '../harness/browser.ts';
import { type ClientKey, newSigningKey } from '../harness/client_key.ts';
import { grantdPrints } from '../harness/commands.ts';
import { Workbench } from '../harness/program.ts';
import { serverCertificate } from '../harness/tls.ts';
import { startTlsProxy, type TlsProxy } from '../harness/tls_proxy.ts';
import type { Client } from './client.ts';
import type { Plan } from './plans.ts';
import {
  AFTER_LOGOUT,
  ALIAS,
  backChannelCommand,
  CALLBACK,
  clientCommand,
  personCommand,
  SETTINGS,
} from './set_up.ts';

/** A provider configured for a plan, and the site of the client. */
export interface Operator {
  readonly issuer: string;
  readonly person: Credentials;
  /** The client that the operator registered, for the suite's configuration. */
  readonly client: Client;
  /** The RSA key of every client that needs none of its own, because creating one takes long. */
  readonly clientKey: ClientKey;
  /** The redirect URI of every client. */
  readonly redirectUri: string;
  /** The URI after logout. */
  readonly afterLogoutUri: string;
  /** The client's site. The provider fetches from it if the plan allows that; paths follow the alias. */
  readonly site: ClientSite;
  /** Runs a command of the program on its database. */
  command(args: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

/** The site of the clients. */
interface ClientSite {
  /**
   * Serves a document from now on.
   * @returns its URL
   */
  put(path: string, body: string | Uint8Array, type: string): string;
  /** Bodies of the requests for a path, in order. */
  bodiesAt(path: string): readonly string[];
}

const PERSON: Credentials = { username: 'certified', password: 'correct horse battery' };

const CLIENT = {
  id: 'suite',
  secret: 'the secret of the client, which is long',
  authentication: 'client_secret_basic',
} as const;

/** Providers and clients are https with one certificate, which both sides trust. */
const CERTIFICATE = await serverCertificate();

/** The program on its own database, behind TLS, with a user and a client. */
export async function startOperator(plan: Plan): Promise<Operator> {
  setDefaultCACertificates([...new Set([...getCACertificates('default'), CERTIFICATE.pem.cert])]);
  const workbench = new Workbench();
  const [proxy, siteProxy] = [await startTlsProxy(CERTIFICATE), await startTlsProxy(CERTIFICATE)];
  const site = await startApplication();
  const close = async () => {
    for (const one of [proxy, siteProxy, site]) one.close();
    await workbench.clear();
  };
  siteProxy.leadTo(Number(new URL(site.origin).port));
  const suite = plan.fetches ? siteProxy.origin : 'https://rp.example';
  const base = `${suite}/test/a/${ALIAS}`;
  try {
    const command = await startProgram(workbench, plan, proxy);
    await command(personCommand(PERSON.username), PERSON.password);
    const fetches = plan.fetches ? ['--insecure-development'] : [];
    await command([...clientCommand(CLIENT.id, suite), ...fetches], CLIENT.secret);
    if (plan.name.includes('backchannel'))
      await command([...backChannelCommand(CLIENT.id, suite), ...fetches]);
    return {
      issuer: proxy.origin,
      person: PERSON,
      client: { ...CLIENT, redirectUri: `${base}/${CALLBACK}` },
      clientKey: await newSigningKey('RS256'),
      redirectUri: `${base}/${CALLBACK}`,
      afterLogoutUri: `${base}/${AFTER_LOGOUT}`,
      site: siteOf(site, base),
      command,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @returns a function that runs commands on its database */
async function startProgram(workbench: Workbench, plan: Plan, proxy: TlsProxy) {
  const folder = workbench.folder();
  const [trusted, configuration] = [join(folder, 'trusted.pem'), join(folder, 'grantd.json')];
  writeFileSync(trusted, CERTIFICATE.pem.cert);
  // The client's site is on this machine.
  const settings = { issuer: proxy.origin, ...SETTINGS, insecureDevelopment: plan.fetches };
  writeFileSync(configuration, JSON.stringify(settings));
  const args = ['--config', configuration, '--trusted-proxies', '127.0.0.1'];
  const { port } = await workbench.start(folder, args, { NODE_EXTRA_CA_CERTS: trusted });
  proxy.leadTo(port);
  return (words: readonly string[], input = '') => grantdPrints(folder, words, input);
}

function siteOf({ asked, put }: Application, base: string): ClientSite {
  const { pathname } = new URL(base);
  return {
    put(path, body, type) {
      put(`${pathname}${path}`, body, type);
      return `${base}${path}`;
    },
    bodiesAt: (path) =>
      asked.filter(({ url }) => url.pathname === `${pathname}${path}`).map(({ body }) => body),
  };
}
