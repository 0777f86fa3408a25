import { after, before } from 'node:test';
import type { BrowserContextOptions } from 'playwright-core';
import { type Application, startApplication } from '../harness/application.ts';
import { Chromium } from '../harness/chromium.ts';
import { grantdPrints } from '../harness/commands.ts';
import { type RunningServer, Workbench } from '../harness/program.ts';
import { Visit } from './visit.ts';

/** A server with the demo's users, an application registered as `shop`, and a browser. */
export interface Scene {
  readonly server: RunningServer;
  readonly application: Application;
  readonly chromium: Chromium;
  /** The application's `/callback`. */
  readonly redirectUri: string;
  /** A user with a new browser, who comes from the shop. */
  visitor(options?: BrowserContextOptions): Promise<Visit>;
}

type Prepare = (server: RunningServer) => Promise<void>;

/**
 * Sets up the scene for the tests of a `describe`.
 * @param flags of the server, besides the demo's
 * @param prepare changes what the flags need, on a server without them
 * @returns the scene; call the result inside the tests
 */
export function scene(flags: readonly string[] = [], prepare?: Prepare): () => Scene {
  const workbench = new Workbench();
  let application: Application | undefined;
  let chromium: Chromium | undefined;
  let set: Scene | undefined;
  before(async () => {
    application = await startApplication();
    application.put('/callback', '<!doctype html><title>Back at the shop</title>');
    chromium = await Chromium.start();
    set = await open(workbench, application, chromium, flags, prepare);
  });
  after(async () => {
    await chromium?.close();
    application?.close();
    await workbench.clear();
  });
  return () => {
    if (set === undefined) throw new Error('the scene is set before the tests, not before the suite');
    return set;
  };
}

async function open(
  workbench: Workbench,
  application: Application,
  chromium: Chromium,
  flags: readonly string[],
  prepare: Prepare | undefined,
): Promise<Scene> {
  const redirectUri = `${application.origin}/callback`;
  const folder = workbench.folder();
  const port = prepare && (await portAfter(workbench, folder, prepare));
  const given = ['--demo', ...flags, ...(port === undefined ? [] : ['--port', port])];
  const server = await workbench.start(folder, given, { PROVIDER_SECRET: 'of the pages' });
  const scopes = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'].map(
    (scope) => `--scope=${scope}`,
  );
  await grantdPrints(server.folder, [
    ...['client', 'add', 'shop', '--public', '--name=The shop'],
    ...[`--redirect-uri=${redirectUri}`, ...scopes],
  ]);
  return {
    server,
    application,
    chromium,
    redirectUri,
    async visitor(options) {
      const shop = { client_id: 'shop', redirect_uri: redirectUri };
      return new Visit(await chromium.page(options), server.url, shop);
    },
  };
}

/** Prepares the database of a server. @returns the port, which is part of the stored issuer */
async function portAfter(workbench: Workbench, folder: string, prepare: Prepare): Promise<string> {
  const server = await workbench.start(folder, ['--demo']);
  await prepare(server);
  await server.stop();
  return new URL(server.url).port;
}
