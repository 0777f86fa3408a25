import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { introspect } from '../harness/protocol.ts';
import { scene } from './scene.ts';
import { singlePageApplication } from './single_page_application.ts';

describe('silent renewal by oidc-client-ts in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();
  const application = singlePageApplication(set);

  test('an application on the server’s site renews in a frame, as long as the session stands', async () => {
    const opened = await application().open(application().sameSite, 'no refresh tokens');
    await opened.signIn();
    const user = await opened.user();
    assert.equal(user.refresh_token, undefined);

    assert.equal(await opened.press('renew'), '');
    const renewed = await opened.user();
    assert.notEqual(renewed.access_token, user.access_token);
    assert.equal(renewed.profile.sid, user.profile.sid);
    assert.equal(renewed.profile.auth_time, user.profile.auth_time);
    const { active } = await introspect(set().server.url, renewed.access_token);
    assert.equal(active, true);

    await opened.visit.person.clearCookies({ name: 'grantd_session' });
    assert.equal(await opened.press('renew'), 'login_required');
  });

  test('an application on another site cannot: cookies do not go along into its frame', async () => {
    const opened = await application().open(application().otherSite, 'no refresh tokens');
    await opened.signIn();
    assert.equal(await opened.press('renew'), 'login_required');
  });
});
