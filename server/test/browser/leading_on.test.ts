import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Application, startApplication } from '../harness/application.ts';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { addClient } from '../harness/clients.ts';
import { scene } from './scene.ts';

describe('applications that lead on, in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();
  let gate: Application;
  let welcome: string;
  before(async () => {
    gate = await startApplication();
    welcome = `${set().application.origin.replace('localhost', '127.0.0.1')}/welcome`;
    set().application.put('/welcome', '<!doctype html><title>Welcome</title>');
    gate.redirect('/callback', welcome);
    await addClient(set().server, {
      id: 'gate',
      name: 'An application with a gate',
      grantTypes: ['authorization_code'],
      scopes: ['openid'],
      redirectUris: [`${gate.origin}/callback`],
      metadata: { application_type: 'web' },
    });
  });
  after(() => gate?.close());
  const comesFrom = () => ({
    client_id: 'gate',
    redirect_uri: `${gate.origin}/callback`,
    scope: 'openid',
  });

  for (const responseMode of ['query', 'form_post']) {
    for (const [decision, id] of [
      ['consented', 'consent-allow'],
      ['denied', 'consent-deny'],
    ]) {
      test(`${responseMode}: a user who has ${decision} arrives at the application’s next page on another site`, async () => {
        const visit = await set().visitor();
        await visit.authorizeAndSignIn({ ...comesFrom(), response_mode: responseMode });
        await visit.page.click(`#${id}`);
        await visit.page.waitForURL(welcome);
      });
    }
  }

  test('who has consented before arrives there from the sign-in form', async () => {
    const visit = await set().visitor();
    await visit.authorizeAndSignIn(comesFrom());
    await visit.page.click('#consent-allow');
    await visit.page.waitForURL(welcome);
    await visit.person.clearCookies();

    await visit.authorize(comesFrom());
    await visit.signIn();
    await visit.page.waitForURL(welcome);
    const callback = gate.asked.at(-1);
    assert.ok(callback?.url.searchParams.has('code'));
  });
});
