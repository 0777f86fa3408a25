import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { exportJWK, type JWK } from 'jose';
import { type MadeCertificate, newCertificate } from '../../../../core/test/harness/certificates.ts';
import type { Credentials } from '../../harness/browser.ts';
import { newSigningKey } from '../../harness/client_key.ts';
import { grantdPrints } from '../../harness/commands.ts';
import { Workbench } from '../../harness/program.ts';
import { serverCertificate } from '../../harness/tls.ts';
import { ALIAS, bankCommand, CALLBACK, personCommand } from '../set_up.ts';
import { type FapiPlan, type FapiVariant, LIFETIME } from './plans.ts';

/** A client that the operator registered. */
export interface Bank {
  readonly id: string;
  readonly redirectUri: string;
  /** An RSA key, which signs assertions and request objects. */
  readonly key: JWK;
  readonly certificate: MadeCertificate;
}

/** The program with a profile and TLS of its own, a user, and two clients for each variant. */
export interface FapiOperator {
  readonly issuer: string;
  readonly port: number;
  /** The certificate of the server, which issued itself. */
  readonly certificate: MadeCertificate;
  readonly person: Credentials;
  banks(variant: FapiVariant): readonly [Bank, Bank];
  close(): Promise<void>;
}

const PERSON: Credentials = { username: 'certified', password: 'correct horse battery' };
const SUITE = 'https://rp.example';
const REDIRECT_URI = `${SUITE}/test/a/${ALIAS}/${CALLBACK}`;

const SERVER = await serverCertificate();
const CA = await newCertificate({ subject: [{ CN: ['clients'] }], isCa: true });

export async function startFapiOperator({ profile, variants }: FapiPlan): Promise<FapiOperator> {
  setDefaultCACertificates([...new Set([...getCACertificates('default'), SERVER.pem.cert])]);
  const workbench = new Workbench();
  const folder = workbench.folder();
  for (const [name, content] of Object.entries({
    'tls.pem': SERVER.pem.cert,
    'tls.key': SERVER.pem.key,
    'clients.pem': CA.pem.cert,
  }))
    writeFileSync(join(folder, name), content, { mode: 0o600 });
  const server = await workbench.start(folder, [
    ...['--profile', profile, '--tls-certificate', 'tls.pem', '--tls-key', 'tls.key'],
    ...['--mtls-port', '0', '--tls-client-ca', 'clients.pem'],
    ...['--authorization-code-lifetime', `${LIFETIME}`, '--pushed-request-lifetime', `${LIFETIME}`],
  ]);
  try {
    await grantdPrints(folder, personCommand(PERSON.username), PERSON.password);
    const banks = new Map<FapiVariant, readonly [Bank, Bank]>();
    for (const variant of variants)
      banks.set(variant, [await addBank(folder, variant, 1), await addBank(folder, variant, 2)]);
    return {
      issuer: server.url,
      port: server.port,
      certificate: SERVER,
      person: PERSON,
      banks: (variant) => banks.get(variant) ?? raise('the plan has no such variant'),
      close: () => workbench.clear(),
    };
  } catch (error) {
    await workbench.clear();
    throw error;
  }
}

/** The second client has another redirect URI, with a query. */
async function addBank(folder: string, variant: FapiVariant, number: 1 | 2): Promise<Bank> {
  const id = `${variant.authentication}-${variant.binding}-${number}`;
  const { privateKey, publicKey } = await newSigningKey('PS256');
  writeFileSync(join(folder, `${id}.json`), JSON.stringify({ keys: [publicKey] }));
  await grantdPrints(folder, bankCommand(id, SUITE, variant, number));
  const names = [{ type: 'dns', value: `${id}.example` }] as const;
  return {
    id,
    redirectUri: number === 1 ? REDIRECT_URI : `${REDIRECT_URI}?dummy1=lorem&dummy2=ipsum`,
    key: { ...(await exportJWK(privateKey)), kid: publicKey.kid },
    certificate: await newCertificate({ names: [...names], issuer: CA }),
  };
}

function raise(message: string): never {
  throw new Error(message);
}
