// The life of a server over a database, from its start to its end (ADR 81).
import { isDeepStrictEqual } from 'node:util';
import type { Configuration } from '../config/configuration.ts';
import type { OptionName } from '../config/options.ts';
import type { Provider } from '../config/providers.ts';
import { Refused } from '../config/refused.ts';
import { askStorage } from '../data/tables.ts';
import type { Instance } from '../instance/instance.ts';
import { causeOf } from '../log/logged_error.ts';
import { leftDemoData } from './exposure.ts';
import type { HttpServer } from './http_server.ts';
import { addDemo } from './optional_parts.ts';
import type { Reload, Reloaded } from './reload.ts';
import { type Observation, openService, type Service } from './service.ts';
import { type Connections, type Ending, finish, type Started } from './shutdown.ts';
import type { TlsFiles } from './tls.ts';

/** In their order, except that a reload leads back to `serving`. */
type State =
  | 'starting'
  | 'serving'
  /** Opens another configuration, and still serves with the present one. */
  | 'reloading'
  /** Is no longer ready, but accepts connections, so that load balancers can notice. */
  | 'ending'
  /** Accepts no connections, and finishes the requests that it has. */
  | 'draining'
  | 'stopped';

/** Why a process ends on its own. */
type Breakage = 'database_replaced' | 'background_work_failed';

/** The differences between a single process and one of several workers. */
export interface Role extends Observation {
  readonly server: HttpServer;
  readonly connections: Connections;
  /** Present if the server speaks TLS. */
  readonly tls: TlsFiles | undefined;
  readonly ending: Ending;
  /** Only one of several processes needs to do this. */
  readonly sweeps: boolean;
  readonly bringsDemo: boolean;
  /** The server’s secret at the start of the first process. */
  readonly secretOfStart?: readonly string[];
  /** Called once, when the server answers requests. */
  started(what: Started, secret: readonly string[], reload: Reload): void;
}

/** @throws {Refused} the database cannot be served, or was replaced while serving */
export async function serveDatabase(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
  role: Role,
): Promise<void> {
  await new Lifecycle(environment, role).run(configuration);
}

/** Each transition is one method (ADR 81). */
class Lifecycle {
  #state: State = 'starting';
  readonly #environment: NodeJS.ProcessEnv;
  readonly #role: Role;
  /** Resolves with why this process must not go on. */
  readonly #broken = Promise.withResolvers<Breakage>();
  readonly #renewing = new AbortController();
  /** The ends of earlier services, whose requests may still be pending. */
  readonly #retired = new Set<Promise<void>>();
  #reloads: Promise<unknown> = Promise.resolve();

  constructor(environment: NodeJS.ProcessEnv, role: Role) {
    this.#environment = environment;
    this.#role = role;
  }

  async run(configuration: Configuration): Promise<void> {
    const { connections, ending } = this.#role;
    try {
      const served: Served = { service: await this.#open(configuration, this.#role.secretOfStart) };
      try {
        await this.#start(configuration, served);
        const reason = await Promise.race([ending.requested, this.#broken.promise]);
        await this.#end(served, reason);
        await this.#drain(served);
      } finally {
        // If the start fails, timers must not keep the process alive.
        await served.service.abandon();
      }
    } finally {
      this.#state = 'stopped';
      this.#renewing.abort();
      connections.closeAllConnections();
      connections.close();
    }
  }

  /** From `starting` to `serving`. */
  async #start(configuration: Configuration, served: Served): Promise<void> {
    const { server: http, tls, log, bringsDemo, started } = this.#role;
    const { service } = served;
    const { instance, name } = service;
    const demo = bringsDemo ? await addDemo(instance, service.server) : undefined;
    void this.#use(service);
    tls?.keepFresh(log, this.#renewing.signal, () => http.renewConnections());
    const notice = demo === undefined ? await noticeOf(configuration, instance) : await demo();
    const what = { issuer: instance.issuer, database: name, ...(notice !== undefined && { notice }) };
    this.#state = 'serving';
    started(what, instance.secretTexts(), (next, secretOfStart) => {
      const result = this.#reloads.then(() => this.#reload(served, next, secretOfStart));
      this.#reloads = result.catch(() => undefined);
      return result;
    });
  }

  /**
   * From `serving` through `reloading` and back.
   * @throws {Error} the configuration cannot be served, or the server is ending; the present one stays
   */
  async #reload(
    served: Served,
    next: Configuration,
    secretOfStart: readonly string[] | undefined,
  ): Promise<Reloaded> {
    if (this.#isEnding) throw serverEnding();
    this.#state = 'reloading';
    try {
      const files = this.#role.tls?.prepare(next, this.#environment);
      const opened = await this.#open(next, secretOfStart, true);
      const previous = served.service;
      try {
        if (this.#isEnding) throw serverEnding();
        if (!previous.watch.isInPlace()) throw databaseReplaced(previous.name);
      } catch (error) {
        await opened.end();
        throw error;
      }
      served.service = opened;
      // First, so that it never reads an audit trail that is sealed with a secret that it does not know.
      const stopped = previous.stop();
      const answered = this.#use(opened);
      this.#retire(previous, Promise.all([stopped, answered]));
      files?.use(() => this.#role.server.renewConnections());
      const secret = opened.instance.secretTexts();
      return {
        secret,
        files: [
          ...(files?.changed ?? []),
          ...changed('providers', previous.providers.map(comparable), opened.providers.map(comparable)),
          ...changed('trustedIssuers', previous.instance.trustedIssuers, opened.instance.trustedIssuers),
          ...changed('operatorLogo', previous.operator.logo?.bytes, opened.operator.logo?.bytes),
          ...changed('theme', previous.operator.theme, opened.operator.theme),
          ...changed('secret', previous.instance.secretTexts(), secret),
        ],
      };
    } finally {
      if (!this.#isEnding) this.#state = 'serving';
    }
  }

  /** From `serving` or `reloading` to `ending`. Resolves when the port has to close. */
  async #end(served: Served, reason: NodeJS.Signals | Breakage): Promise<void> {
    this.#state = 'ending';
    const { server: http, ending, log } = this.#role;
    http.closeAfterAnswers();
    await this.#reloads;
    // `#drain` waits for it, and reports its failure.
    served.service.stop().catch(() => undefined);
    if (reason !== 'database_replaced' && reason !== 'background_work_failed') {
      log.info({ event: 'ending', signal: reason });
      void ending.nearlyClosing.then(() => http.keepLastConnections());
      await Promise.race([ending.closing, this.#broken.promise]);
      http.closeAfterAnswers();
    }
  }

  /**
   * From `ending` through `draining` to `stopped`.
   * @throws {Refused} the database was replaced
   * @throws what the work besides requests has thrown
   */
  async #drain({ service }: Served): Promise<void> {
    this.#state = 'draining';
    const { server: http, connections, tracing, log } = this.#role;
    const isReplaced = service.watch.stop();
    if (isReplaced) {
      log.fatal({ event: 'database_replaced', database: service.name });
      http.answerNotReady();
      // Pending requests then also get 503, instead of the result of a lost write.
      await service.closeDatabase();
    }
    const isFinished = await finish(connections);
    try {
      await Promise.all([service.stop(), ...this.#retired]);
    } finally {
      await service.end();
      await tracing?.close();
    }
    this.#state = 'stopped';
    log.info({ event: 'ended', inFlight: isFinished ? 'finished' : 'closed' });
    if (isReplaced) throw databaseReplaced(service.name);
  }

  get #isEnding(): boolean {
    return this.#state === 'ending' || this.#state === 'draining' || this.#state === 'stopped';
  }

  #open(next: Configuration, secretOfStart?: readonly string[], isReload = false): Promise<Service> {
    const isEnding = () => this.#isEnding;
    const ownsGlobals = true;
    return openService(next, this.#environment, {
      ...this.#role,
      secretOfStart,
      isReload,
      isEnding,
      ownsGlobals,
    });
  }

  /** Resolves when the requests that came before are answered. */
  #use(service: Service): Promise<void> {
    const { server: http, tls, monitor, tracing, log } = this.#role;
    service.run({
      onCorrupt: () => http.answerNotReady(),
      onFailure: (error) => {
        log.fatal({ event: 'background_work_failed', cause: causeOf(error) });
        this.#broken.resolve('background_work_failed');
      },
    });
    void service.watch.replaced.then(this.#broken.resolve);
    monitor?.watch({ ...service.watched, tls });
    return http.answerWith(tracing?.listener(service.listener) ?? service.listener);
  }

  /** Ends a service that another one has replaced. Its pending requests need its database. */
  #retire(previous: Service, isIdle: Promise<unknown>): void {
    const end = isIdle.then(() => previous.end({ hasSuccessor: true }));
    const retiring = end.catch((error: unknown) =>
      this.#role.log.error({ event: 'unfinished_work_failed', cause: causeOf(error) }),
    );
    this.#retired.add(retiring);
    void retiring.then(() => this.#retired.delete(retiring));
  }
}

/** What is served now. A reload replaces it. */
interface Served {
  service: Service;
}

function serverEnding(): Refused {
  return new Refused('the server is ending.');
}

async function noticeOf({ settings }: Configuration, instance: Instance): Promise<string | undefined> {
  return settings.demo ? undefined : askStorage(() => leftDemoData(instance));
}

function changed(name: OptionName, one: unknown, other: unknown): readonly OptionName[] {
  return isDeepStrictEqual(one, other) ? [] : [name];
}

/** A provider whose key can be compared. */
function comparable({ credential, ...provider }: Provider): unknown {
  if ('secret' in credential) return { ...provider, credential };
  const { privateKey, keyId } = credential;
  return { ...provider, keyId, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}

function databaseReplaced(name: string): Refused {
  return new Refused(
    `the database ${name} or its write-ahead log was replaced or deleted, or an older copy was restored into it, ` +
      'while grantd was running. ' +
      `If you put another file in its place, remove ${name}-wal and ${name}-shm, which belong to the old file. ` +
      'Then start grantd again. Replace a database only while no program uses it.',
  );
}
