import type { Server as NetServer, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createSecureContext, TLSSocket } from 'node:tls';
import ldap from 'ldapjs';
import type { MadeCertificate } from '../../../core/test/harness/certificates.ts';

/** An entry of a test directory. */
export interface TestEntry {
  readonly dn: string;
  readonly password: string;
  readonly attributes: Readonly<Record<string, string | readonly string[] | Buffer>>;
}

/** A bind as the directory has received it. */
interface Bind {
  readonly dn: string;
  readonly password: string;
  readonly isEncrypted: boolean;
}

/** How a directory refuses a bind. */
interface Refusal {
  readonly code: number;
  readonly message?: string;
}

export const SUFFIX = 'dc=example,dc=com';

/** The account that searches. */
export const ACCOUNT = { dn: `cn=grantd,${SUFFIX}`, password: 'service-secret' };

const INVALID_CREDENTIALS = 49;
const START_TLS = '1.3.6.1.4.1.1466.20037';

/** What this server reads of a request. The library’s types cover clients only. */
interface Request {
  readonly connection: Socket;
  readonly dn: unknown;
  readonly credentials: unknown;
  readonly filter: { matches(attributes: object, isCaseSensitive: boolean): boolean };
  readonly attributes: readonly string[];
  readonly sizeLimit: number;
}

interface Response {
  diagnosticMessage: string;
  attributes: readonly string[];
  send(entry: object): void;
  end(code: number): void;
  addControl(control: { toBer(writer: BerWriter): void }): void;
}

interface BerWriter {
  startSequence(): void;
  endSequence(): void;
  writeString(text: string): void;
  writeBuffer(bytes: Buffer, tag: number): void;
}

/** The control for password policies (draft-behera-ldap-password-policy). */
const PASSWORD_POLICY = '1.3.6.1.4.1.42.2.27.8.5.1';

// The library takes the control for one of an answer, and refuses it without a value. Requests have none.
(ldap as unknown as { PasswordPolicyControl: { OID: string } }).PasswordPolicyControl.OID = 'of answers only';

interface Tls {
  /** For TLS from the start. */
  readonly implicit?: MadeCertificate;
  /** For STARTTLS. */
  readonly upgrade?: MadeCertificate;
  /** Bytes that an attacker in the middle puts behind the answer to STARTTLS. */
  readonly injected?: Buffer;
}

/** A real LDAP server on loopback, whose content a test can change. It records what it was asked. */
export class DirectoryServer {
  readonly entries: TestEntry[] = [];
  readonly binds: Bind[] = [];
  /** Filters of the searches, as text. */
  readonly filters: string[] = [];
  /** Open connections, and the most that were ever open at the same time. */
  readonly connections = { now: 0, most: 0 };
  /** Refusals of binds, by distinguished name. */
  readonly refusals = new Map<string, Refusal>();
  /** Values of the control for password policies in answers to binds, in BER, by distinguished name. */
  readonly policies = new Map<string, Buffer>();
  /** Answers nothing, but keeps connections open. */
  isSilent = false;
  /** Milliseconds before each answer. */
  delayMs = 0;
  readonly #server: ldap.Server;
  readonly #sockets = new Set<Socket>();

  constructor({ implicit, upgrade, injected }: Tls = {}) {
    const tls = implicit && { certificate: implicit.pem.cert, key: implicit.pem.key };
    this.#server = ldap.createServer(tls);
    const { server } = this.#server as unknown as { readonly server: NetServer };
    server.on('connection', (socket) => this.#count(socket));
    this.#server.bind('', (request: Request, response: Response) => {
      const password = String(request.credentials);
      const dn = String(request.dn);
      const isEncrypted = request.connection instanceof TLSSocket;
      this.binds.push({ dn, password, isEncrypted });
      void this.#answer(() => this.#bind(dn, password, response));
    });
    this.#server.search('', (request: Request, response: Response) => {
      this.filters.push(String(request.filter));
      void this.#answer(() => this.#search(request, response));
    });
    this.#server.exop(START_TLS, (request: Request, response: Response) => {
      if (upgrade === undefined) return response.end(2);
      response.end(0);
      const { connection } = request;
      if (injected !== undefined) connection.write(injected);
      connection.removeAllListeners('data');
      const secureContext = createSecureContext(upgrade.pem);
      const secure = new TLSSocket(connection, { isServer: true, secureContext });
      secure.on('error', () => connection.destroy());
      (this.#server as unknown as { newConnection(socket: Socket): void }).newConnection(secure);
    });
  }

  get port(): number {
    return Number(new URL(this.#server.url).port);
  }

  /** @param port default: a free one */
  async start(port = 0): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', () => resolve());
    });
    return this;
  }

  /** Closes the port and every connection. */
  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  /** Closes every connection, as a restart or a firewall does. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Removes everything that a test has set or recorded. */
  reset(): void {
    this.entries.length = 0;
    this.binds.length = 0;
    this.filters.length = 0;
    this.refusals.clear();
    this.policies.clear();
    this.isSilent = false;
    this.delayMs = 0;
  }

  /** Adds a user with the attributes of OpenLDAP. */
  addPerson(uid: string, attributes: TestEntry['attributes'] = {}, password = passwordOf(uid)): TestEntry {
    const entry = {
      dn: `uid=${uid.replaceAll(',', '\\2c')},ou=people,${SUFFIX}`,
      password,
      attributes: { objectClass: ['person', 'inetOrgPerson'], uid, entryUUID: `id-of-${uid}`, ...attributes },
    };
    this.entries.push(entry);
    return entry;
  }

  /** Changes attributes of a user. `undefined` removes one. */
  change(uid: string, change: Readonly<Record<string, TestEntry['attributes'][string] | undefined>>): void {
    const index = this.entries.findIndex(({ attributes }) => attributes.uid === uid);
    const entry = this.entries[index];
    if (entry === undefined) throw new TypeError(`there is no entry of ${uid}`);
    const changed = Object.entries({ ...entry.attributes, ...change }).filter(
      (one): one is [string, string] => one[1] !== undefined,
    );
    this.entries[index] = { ...entry, attributes: Object.fromEntries(changed) };
  }

  /** Passwords that were sent for a user. */
  sentFor(uid: string): readonly string[] {
    return this.binds.filter(({ dn }) => dn.startsWith(`uid=${uid},`)).map(({ password }) => password);
  }

  #count(socket: Socket): void {
    this.#sockets.add(socket);
    this.connections.now += 1;
    this.connections.most = Math.max(this.connections.most, this.connections.now);
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.connections.now -= 1;
    });
  }

  async #answer(work: () => void): Promise<void> {
    if (this.delayMs > 0) await pause(this.delayMs);
    if (!this.isSilent) work();
  }

  #bind(dn: string, password: string, response: Response): void {
    const { code, message = '' } = this.#refusalOf(dn, password) ?? { code: 0 };
    response.diagnosticMessage = message;
    const policy = this.policies.get(dn);
    if (policy !== undefined)
      response.addControl({
        toBer(writer) {
          writer.startSequence();
          writer.writeString(PASSWORD_POLICY);
          writer.writeBuffer(policy, 0x04);
          writer.endSequence();
        },
      });
    response.end(code);
  }

  #refusalOf(dn: string, password: string): Refusal | undefined {
    const refusal = this.refusals.get(dn);
    if (refusal !== undefined) return refusal;
    // As servers do that allow unauthenticated binds (RFC 4513 §5.1.2).
    if (password === '') return undefined;
    const known = [ACCOUNT, ...this.entries].find((entry) => entry.dn === dn);
    return known?.password === password ? undefined : { code: INVALID_CREDENTIALS };
  }

  #search(request: Request, response: Response): void {
    const found = this.entries.filter(
      ({ dn, attributes }) =>
        dn.endsWith(String(request.dn)) && request.filter.matches(textsOf(attributes), false),
    );
    // The library compares them in lower case.
    response.attributes = request.attributes.map((name) => name.toLowerCase());
    for (const { dn, attributes } of found.slice(0, request.sizeLimit || found.length)) {
      const lists = Object.entries(attributes).map(([name, value]) => [
        name,
        Array.isArray(value) ? value : [value],
      ]);
      response.send({ dn, attributes: Object.fromEntries(lists) });
    }
    response.end(found.length > (request.sizeLimit || found.length) ? 4 : 0);
  }
}

export function passwordOf(uid: string): string {
  return `password of ${uid}`;
}

function textsOf(attributes: TestEntry['attributes']): Record<string, string | readonly string[]> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, Buffer.isBuffer(value) ? String(value) : value]),
  );
}
