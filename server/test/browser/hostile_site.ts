import { after, before } from 'node:test';
import { type Application, startApplication } from '../harness/application.ts';
import { Browser, formAction, hiddenFields, type Page } from '../harness/browser.ts';
import { grantdPrints } from '../harness/commands.ts';
import { authorizationUrl, newPkce } from '../harness/protocol.ts';
import type { Scene } from './scene.ts';
import type { Visit } from './visit.ts';

/**
 * The address of the hostile site. The server is on `localhost`: another port would be the same site (RFC 6265bis
 * §5.2).
 */
export const NEIGHBOURHOODS = [
  { where: 'another port of the same site', host: 'localhost' },
  { where: 'another site', host: '127.0.0.1' },
] as const;

/** The attacker has an account too. */
export const MALLORY = { username: 'mallory', password: 'the attacker’s own' };

/** A hostile site, and an attacker with a browser and an account at the server of the scene. */
interface HostileSite {
  /** Shows a page of the hostile site to a user. */
  lure(visit: Visit, host: string, html: string): Promise<void>;
  /** The attacker's copy of the sign-in form. */
  ownLogin(): Promise<{ readonly attacker: Browser; readonly login: Page }>;
}

export function hostileSite(set: () => Scene): HostileSite {
  let site: Application | undefined;
  before(async () => {
    site = await startApplication();
    const { username, password } = MALLORY;
    await grantdPrints(set().server.folder, ['user', 'add', username, '--password-stdin'], password);
  });
  after(() => site?.close());
  return {
    async lure(visit, host, html) {
      if (site === undefined) throw new Error('the hostile site is not there yet');
      site.put('/', `<!doctype html><meta charset="utf-8"><title>You have won</title>${html}`);
      await visit.page.goto(site.origin.replace('localhost', host), { waitUntil: 'commit' });
    },
    async ownLogin() {
      const { server, redirectUri } = set();
      const attacker = new Browser(server.url);
      const shop = { client_id: 'shop', redirect_uri: redirectUri };
      return { attacker, login: await attacker.get(authorizationUrl(server.url, newPkce(), shop)) };
    },
  };
}

/** A form that submits itself when it is shown. */
export function forgedForm(action: string, fields: Readonly<Record<string, string>>): string {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`,
  );
  return `<form method="post" action="${escaped(action)}">${inputs.join('')}</form>
<script>document.forms[0].submit()</script>`;
}

/** The same with a page's form, made for another browser. */
export function stolenForm(page: Page, fields: Readonly<Record<string, string>>): string {
  return forgedForm(new URL(formAction(page), page.url).href, { ...hiddenFields(page), ...fields });
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
