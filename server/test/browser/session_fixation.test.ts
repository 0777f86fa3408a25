import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { hostileSite, MALLORY } from './hostile_site.ts';
import { scene } from './scene.ts';

describe('session fixation in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();
  hostileSite(set);

  test('each sign-in sets a new cookie, also for the same user in the same browser', async () => {
    const visit = await set().visitor();
    await visit.authorizeAndSignIn();
    const first = await visit.session();
    await visit.authorizeAndSignIn({ prompt: 'login consent' });
    assert.notEqual(await visit.session(), first);
  });

  test('cookies that were planted before a sign-in are worth nothing after it', async () => {
    const { visitor } = set();
    const mallory = await visitor();
    await mallory.authorizeAndSignIn({}, MALLORY);
    const planted = await mallory.person.cookies();

    const victim = await visitor();
    await victim.person.addCookies(planted);
    await victim.authorizeAndSignIn({ prompt: 'login consent' });
    assert.notEqual(await victim.session(), await mallory.session());

    // Whether that session is unchanged or ended with the sign-in. It never becomes another user's.
    await mallory.authorize({ prompt: 'consent' });
    await mallory.page.waitForSelector('#consent-allow, #login-submit');
    assert.doesNotMatch(await mallory.page.innerText('main'), /alice/i);
  });

  test('an identifier that the server did not create becomes no session', async () => {
    const { visitor, server } = set();
    const invented = 'invented-by-an-attacker';
    const victim = await visitor();
    await victim.person.addCookies([{ name: 'grantd_session', value: invented, url: server.url }]);
    await victim.authorizeAndSignIn();
    assert.notEqual(await victim.session(), invented);

    const attacker = await visitor();
    await attacker.person.addCookies([{ name: 'grantd_session', value: invented, url: server.url }]);
    await attacker.authorize();
    await attacker.page.waitForSelector('#login-submit');
  });
});
