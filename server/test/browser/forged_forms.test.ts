import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { forgedForm, hostileSite, MALLORY, NEIGHBOURHOODS, stolenForm } from './hostile_site.ts';
import { scene } from './scene.ts';

describe('forged forms in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();
  const { lure, ownLogin } = hostileSite(set);

  for (const { where, host } of NEIGHBOURHOODS) {
    for (const who of ['a stranger', 'someone who has seen the form']) {
      test(`from ${where}, ${who} is not signed in as another user`, async () => {
        const { server, visitor } = set();
        const visit = await visitor();
        if (who !== 'a stranger') await visit.authorize();
        const { attacker, login } = await ownLogin();

        await lure(visit, host, stolenForm(login, MALLORY));
        await visit.page.waitForURL(`${server.url}/login**`);
        await visit.page.waitForSelector('#problem');
        assert.equal(await visit.session(), undefined);

        const accepted = await attacker.submit(login, MALLORY);
        assert.match(accepted.html, /consent-allow/, 'in the browser that it was made for the form is good');
      });
    }

    test(`from ${where}, no consent is given`, async () => {
      const { server, visitor, application, redirectUri } = set();
      const visit = await visitor();
      await visit.authorizeAndSignIn();
      const asked = visit.page.url();
      const { attacker, login } = await ownLogin();
      const question = await attacker.submit(login, MALLORY);

      const callsBefore = application.asked.length;
      const forged = [
        forgedForm(asked, { decision: 'allow' }),
        forgedForm(question.url, { decision: 'allow' }),
        stolenForm(question, { decision: 'allow' }),
        stolenForm(
          { ...question, html: question.html.replaceAll(/action="[^"]*"/g, `action="${asked}"`) },
          { decision: 'allow' },
        ),
      ];
      for (const html of forged) {
        await lure(visit, host, html);
        await visit.page.waitForURL((url) => url.origin === server.url);
        await visit.page.waitForLoadState();
        assert.equal(new URL(visit.page.url()).origin, server.url);
      }
      assert.equal(application.asked.length, callsBefore, 'no code has left');

      await visit.page.goto(asked);
      await visit.page.click('#consent-allow');
      assert.ok((await visit.arrivalAt(redirectUri)).has('code'), 'the person can still answer');
    });
  }
});
