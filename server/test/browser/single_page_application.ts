import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Page } from 'playwright-core';
import { type Application, startApplication } from '../harness/application.ts';
import { addClient } from '../harness/clients.ts';
import type { Scene } from './scene.ts';
import { Visit } from './visit.ts';

const SCOPES = ['openid', 'profile', 'email'];

const FILES = join(import.meta.dirname, 'single_page_application');
const LIBRARY = join(import.meta.dirname, '..', '..', '..', 'node_modules', 'oidc-client-ts');

/**
 * An application without a server, on two hosts: one is the same site as the authorization server, the other is not.
 */
interface SinglePageApplication {
  readonly sameSite: string;
  readonly otherSite: string;
  /** A user who has opened it. Without refresh tokens it renews in a frame. */
  open(url: string, has?: 'refresh tokens' | 'no refresh tokens'): Promise<Opened>;
}

/** The application in a user's browser. */
class Opened {
  readonly visit: Visit;
  readonly page: Page;

  constructor(visit: Visit) {
    this.visit = visit;
    this.page = visit.page;
  }

  /** From the application through the pages and back. */
  async signIn(): Promise<void> {
    const { origin } = new URL(this.page.url());
    await this.page.click('#sign-in');
    await this.visit.signIn();
    await this.page.click('#consent-allow');
    await this.page.waitForURL(`${origin}/`);
    assert.equal(await this.outcome(), '');
  }

  /**
   * Presses a button of the application.
   * @returns its error message after the action, possibly empty
   */
  async press(id: string): Promise<string> {
    await this.page.click(`#${id}`);
    return this.outcome();
  }

  /** @returns its error message, possibly empty */
  async outcome(): Promise<string> {
    await this.page.waitForFunction(() =>
      /^signed (in|out)$/.test(document.getElementById('state')?.textContent ?? ''),
    );
    return this.page.innerText('#problem');
  }

  state(): Promise<string> {
    return this.page.innerText('#state');
  }

  /** What the library stores about the signed-in user. */
  async user(): Promise<User> {
    const kept = await this.page.evaluate(() =>
      Object.entries(sessionStorage).find(([name]) => name.startsWith('oidc.user:')),
    );
    assert.ok(kept, 'nobody is signed in');
    return JSON.parse(kept[1]);
  }
}

export interface User {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly id_token: string;
  readonly scope: string;
  readonly profile: Readonly<Record<string, unknown>>;
}

export function singlePageApplication(set: () => Scene): () => SinglePageApplication {
  let site: Application | undefined;
  before(async () => {
    site = await startApplication();
    const { server } = set();
    const page = readFileSync(join(FILES, 'index.html'), 'utf8');
    for (const path of ['/', '/callback', '/silent']) site.put(path, page);
    site.put('/application.js', readFileSync(join(FILES, 'application.js'), 'utf8'), 'text/javascript');
    site.put(
      '/oidc-client-ts.js',
      readFileSync(join(LIBRARY, 'dist', 'browser', 'oidc-client-ts.js'), 'utf8'),
      'text/javascript',
    );
    const origins = [site.origin, otherSiteOf(site.origin)];
    const registered = {
      name: 'The single-page application',
      scopes: SCOPES,
      redirectUris: origins.flatMap((origin) => [`${origin}/callback`, `${origin}/silent`]),
      metadata: {
        application_type: 'web' as const,
        post_logout_redirect_uris: origins.map((origin) => `${origin}/`),
      },
    };
    await addClient(server, {
      ...registered,
      id: 'spa',
      grantTypes: ['authorization_code', 'refresh_token'],
    });
    await addClient(server, { ...registered, id: 'spa-in-frames', grantTypes: ['authorization_code'] });
  });
  after(() => site?.close());
  return () => {
    const { server, chromium } = set();
    const running = site;
    if (running === undefined) throw new Error('the application is started before the tests');
    return {
      sameSite: running.origin,
      otherSite: otherSiteOf(running.origin),
      async open(url, has = 'refresh tokens') {
        const clientId = has === 'refresh tokens' ? 'spa' : 'spa-in-frames';
        // Asks for consent each time, because earlier tests may have given it.
        const settings = {
          authority: server.url,
          client_id: clientId,
          scope: SCOPES.join(' '),
          prompt: 'consent',
        };
        running.put('/settings.json', JSON.stringify(settings), 'application/json');
        const opened = new Opened(new Visit(await chromium.page(), server.url));
        await opened.page.goto(url);
        await opened.outcome();
        return opened;
      },
    };
  };
}

function otherSiteOf(origin: string): string {
  return origin.replace('localhost', '127.0.0.1');
}
