// Connections to a directory server (RFC 4511). Loaded only if the option ldapUrl is set.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import {
  Client,
  PasswordPolicyControl,
  PasswordPolicyError,
  ResultCodeError,
  type SearchOptions,
} from 'ldapts';
import { DirectoryFault, type DirectoryRefusal } from './contract.ts';

/** How to reach the directory. */
export interface LdapSettings {
  /** Servers of one directory, in the order in which they are asked. */
  readonly urls: readonly string[];
  readonly usesTls: boolean;
  /** PEM of the CAs that are trusted; `undefined` for those that Node trusts. */
  readonly ca: string | undefined;
  /** The account that searches; `undefined` for anonymous searches. */
  readonly account: { readonly dn: string; readonly password: string } | undefined;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
}

/** An entry as found. Names of attributes are in lower case. */
export interface LdapEntry {
  readonly dn: string;
  readonly attributes: ReadonlyMap<string, readonly (string | Buffer)[]>;
}

/** What a directory says about a password that it does not accept. */
export interface RefusedBind {
  /** The result code (RFC 4511 §4.1.9). */
  readonly code: number;
  /** The text of the server, which some servers use for details. */
  readonly message: string;
  /** The reason by the server’s password policy, if it gives one. */
  readonly reason?: DirectoryRefusal | undefined;
}

/** Sign-ins that wait for a connection. Further ones fail at once. */
const MAX_WAITING = 64;

/** Milliseconds after which an unused connection is closed, before firewalls forget it. */
const MAX_IDLE_MS = 30_000;

/** Extended operation StartTLS (RFC 4511 §4.14.1). */
const START_TLS = '1.3.6.1.4.1.1466.20037';

/**
 * Result codes with which servers refuse a user: noSuchObject, inappropriateAuthentication and invalidCredentials; also
 * unwillingToPerform and constraintViolation, by which some servers refuse locked accounts.
 */
const REFUSALS: readonly number[] = [32, 48, 49, 53, 19];

/** A bounded pool of connections. Each use begins with a bind as the account that searches. */
export class LdapPool {
  readonly #settings: LdapSettings;
  readonly #idle: LdapConnection[] = [];
  readonly #waiting: (() => void)[] = [];
  #used = 0;
  /** Index of the server that answered last. */
  #preferred = 0;
  #isClosed = false;

  constructor(settings: LdapSettings) {
    this.#settings = settings;
  }

  /**
   * Runs work on a connection that no other work uses meanwhile.
   * @throws {DirectoryFault} no server answers in time, all connections are in use, or the account is refused
   */
  async use<T>(work: (connection: LdapConnection) => Promise<T>): Promise<T> {
    await this.#enter();
    let connection: LdapConnection | undefined;
    let isHealthy = false;
    try {
      connection = await this.#boundConnection();
      const result = await work(connection);
      isHealthy = true;
      return result;
    } finally {
      if (connection !== undefined) {
        if (isHealthy) this.#keep(connection);
        else connection.close();
      }
      this.#leave();
    }
  }

  /** Closes unused connections, and used ones when their work is done. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  async #enter(): Promise<void> {
    const { maxConnections, timeoutMs } = this.#settings;
    if (this.#used < maxConnections) {
      this.#used += 1;
      return;
    }
    if (this.#waiting.length >= MAX_WAITING)
      throw new DirectoryFault(
        `all ${maxConnections} connections to the directory are in use, and ${MAX_WAITING} sign-ins wait`,
      );
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(
          new DirectoryFault(
            `all ${maxConnections} connections to the directory were in use for ${timeoutMs} ms`,
          ),
        );
      }, timeoutMs);
      this.#waiting.push(enter);
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#used -= 1;
    else next();
  }

  #keep(connection: LdapConnection): void {
    if (this.#isClosed || !connection.isOpen) {
      connection.close();
      return;
    }
    connection.closeAfter(MAX_IDLE_MS, () => {
      const index = this.#idle.indexOf(connection);
      if (index !== -1) this.#idle.splice(index, 1);
    });
    this.#idle.push(connection);
  }

  async #boundConnection(): Promise<LdapConnection> {
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      kept.keepOpen();
      try {
        await kept.bindAccount();
        return kept;
      } catch (error) {
        kept.close();
        // The server has closed the connection meanwhile.
        if (!(error instanceof DirectoryFault && error.cause instanceof ResultCodeError)) continue;
        throw error;
      }
    }
    const fresh = await this.#connect();
    try {
      await fresh.bindAccount();
      return fresh;
    } catch (error) {
      fresh.close();
      throw error;
    }
  }

  /** Asks one server after the other, beginning with the one that answered last. */
  async #connect(): Promise<LdapConnection> {
    const { urls } = this.#settings;
    const faults: unknown[] = [];
    for (let attempt = 0; attempt < urls.length; attempt++) {
      const index = (this.#preferred + attempt) % urls.length;
      const url = urls[index] ?? '';
      try {
        const connection = await connect(url, this.#settings);
        this.#preferred = index;
        return connection;
      } catch (error) {
        faults.push(new Error(`${url}: ${messageOf(error)}`, { cause: error }));
      }
    }
    const reasons = faults.map(messageOf).join('; ');
    throw new DirectoryFault(`no connection to the directory: ${reasons}`, { cause: faults.at(-1) });
  }
}

/** A connection for one user of the pool at a time. */
export class LdapConnection {
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #settings: LdapSettings;
  #closing: NodeJS.Timeout | undefined;

  constructor(socket: Socket, settings: LdapSettings) {
    this.#socket = socket;
    this.#settings = settings;
    this.#client = clientOver(socket, settings.timeoutMs);
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** @throws {DirectoryFault} the directory does not answer, or refuses the account */
  async bindAccount(): Promise<void> {
    const { account } = this.#settings;
    const { dn, password } = account ?? { dn: '', password: '' };
    try {
      await this.#client.bind(dn, password);
    } catch (error) {
      const isRefused = error instanceof ResultCodeError && REFUSALS.includes(error.code);
      const what = isRefused ? `refuses the account ${dn || 'of anonymous searches'}` : 'did not answer';
      throw new DirectoryFault(`the directory ${what}: ${messageOf(error)}`, { cause: error });
    }
  }

  /**
   * Checks a password by a bind, with the control for password policies (draft-behera-ldap-password-policy). A server
   * that does not know the control ignores it.
   * @returns `undefined` if the directory accepts it
   * @throws {DirectoryFault} the directory does not decide
   */
  async refusalOf(dn: string, password: string): Promise<RefusedBind | undefined> {
    // RFC 4513 §5.1.2: without a password or a name, a server may accept any bind.
    if (password === '' || !dn.includes('='))
      throw new TypeError('a bind without a name or a password proves nothing');
    const policy = new PasswordPolicyControl();
    try {
      await this.#client.bind(dn, password, policy);
    } catch (error) {
      if (error instanceof ResultCodeError && REFUSALS.includes(error.code))
        return { code: error.code, message: error.message, reason: reasonBy(policy) };
      throw faultOf(error);
    }
    const reason = reasonBy(policy);
    return reason && { code: 0, message: '', reason };
  }

  /** @throws {DirectoryFault} the directory does not answer, or the base does not exist */
  async search(base: string, options: SearchOptions): Promise<readonly LdapEntry[]> {
    try {
      const { searchEntries } = await this.#client.search(base, options);
      return searchEntries.map(({ dn, ...attributes }) => ({ dn, attributes: valuesOf(attributes) }));
    } catch (error) {
      throw faultOf(error, ` (base ${base})`);
    }
  }

  /** Closes the connection when it has not been used for a time. @param onClosed called then */
  closeAfter(milliseconds: number, onClosed: () => void): void {
    const end = () => {
      clearTimeout(this.#closing);
      onClosed();
      this.close();
    };
    this.#closing = setTimeout(end, milliseconds).unref();
    this.#socket.unref();
  }

  keepOpen(): void {
    clearTimeout(this.#closing);
    this.#socket.ref();
  }

  close(): void {
    clearTimeout(this.#closing);
    // Says goodbye (RFC 4511 §4.3) and destroys the socket, whether or not that succeeds.
    this.#client.unbind().catch(() => undefined);
    this.#socket.destroy();
  }
}

/**
 * What the password policy of the server says about a bind. Some binds succeed only so that the user can change the
 * password: after a reset, and a few times after it has expired (grace). It cannot be changed here.
 */
function reasonBy({ value = {} }: PasswordPolicyControl): DirectoryRefusal | undefined {
  const { error, graceAuthNsRemaining } = value;
  if (error === PasswordPolicyError.AccountLocked) return 'directory_account_locked';
  const mustChange =
    error === PasswordPolicyError.PasswordExpired || error === PasswordPolicyError.ChangeAfterReset;
  return mustChange || graceAuthNsRemaining !== undefined ? 'password_expired' : undefined;
}

function faultOf(error: unknown, about = ''): DirectoryFault {
  return new DirectoryFault(`the directory did not answer as expected${about}: ${messageOf(error)}`, {
    cause: error,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replaceAll(/\s+/g, ' ').trim() : String(error);
}

function valuesOf(
  attributes: Readonly<Record<string, Buffer | Buffer[] | string[] | string>>,
): ReadonlyMap<string, readonly (string | Buffer)[]> {
  return new Map(
    Object.entries(attributes).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value : [value],
    ]),
  );
}

/** A client over a socket. It never connects by itself: a new connection would lack TLS and the bind. */
function clientOver(socket: Socket, timeout: number): Client {
  let isTaken = false;
  return new Client({
    // Only a form: the socket is connected already.
    url: 'ldap://connected',
    timeout,
    createConnection: () => {
      if (isTaken) throw new Error('the directory has closed the connection');
      isTaken = true;
      return socket;
    },
  });
}

/** Connects with one deadline for the name, TCP and TLS. */
async function connect(url: string, settings: LdapSettings): Promise<LdapConnection> {
  const { protocol, hostname, port } = new URL(url);
  const isImplicit = protocol === 'ldaps:';
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const plain = connectTcp({ host, port: port === '' ? (isImplicit ? 636 : 389) : Number(port) });
  const { connectTimeoutMs: timeoutMs, usesTls, ca } = settings;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs);
  const steps = async (): Promise<Socket> => {
    await ready(plain, 'connect');
    if (!usesTls) return plain;
    if (!isImplicit) await startTls(plain, timeoutMs);
    const name = isIP(host) === 0 ? { servername: host } : {};
    const secure = connectTls({
      socket: plain,
      host,
      ...name,
      minVersion: 'TLSv1.2',
      ...(ca !== undefined && { ca }),
    });
    await ready(secure, 'secureConnect');
    return secure;
  };
  try {
    const socket = await Promise.race([steps(), late.promise]);
    return new LdapConnection(socket.setNoDelay(true), settings);
  } catch (error) {
    plain.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Asks for STARTTLS with a client of its own. What an attacker has put into the plain connection stays in that client,
 * so that it cannot pass for the first answer over TLS.
 */
async function startTls(plain: Socket, timeoutMs: number): Promise<void> {
  await clientOver(plain, timeoutMs).exop(START_TLS);
  plain.removeAllListeners('data');
}

function ready(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve());
    // Stays, so that a later error of a socket that is given up is not an uncaught one.
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('the server has closed the connection')));
  });
}
