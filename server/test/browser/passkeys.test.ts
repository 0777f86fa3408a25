import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import type { CDPSession } from 'playwright-core';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { grantdPrints } from '../harness/commands.ts';
import { accessibilityProblems } from './accessibility.ts';
import { scene } from './scene.ts';
import type { Visit } from './visit.ts';

const PASSWORD = 'correct horse battery';

describe('passkeys in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();

  /** Adds an authenticator with a screen lock, which holds passkeys, to the tab. Its user is always willing. */
  async function authenticatorOf(
    { page, person }: Visit,
    isSecurityKey = false,
  ): Promise<[CDPSession, string]> {
    const devtools = await person.newCDPSession(page);
    await devtools.send('WebAuthn.enable', { enableUI: false });
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...(isSecurityKey
          ? ({ protocol: 'u2f', transport: 'usb' } as const)
          : ({ protocol: 'ctap2', ctap2Version: 'ctap2_1', transport: 'internal' } as const)),
        ...{ hasResidentKey: !isSecurityKey, hasUserVerification: !isSecurityKey },
        ...{ isUserVerified: !isSecurityKey, automaticPresenceSimulation: true },
      },
    });
    return [devtools, authenticatorId];
  }

  async function newUser(name: string): Promise<{ username: string; password: string }> {
    await grantdPrints(set().server.folder, ['user', 'add', name, '--password-stdin'], PASSWORD);
    return { username: name, password: PASSWORD };
  }

  /** Signs in with the password, and adds a passkey at the account. */
  async function addPasskey(visit: Visit, who: { username: string; password: string }): Promise<void> {
    await visit.open('/account/security');
    await visit.signIn(who);
    await visit.page.fill('#passkey-name', 'My phone');
    await visit.page.click('#add-passkey');
    await visit.page.waitForSelector('#recovery-code-list');
    assert.equal(await visit.page.locator('#recovery-code-list li').count(), 10);
    assert.deepEqual(await accessibilityProblems(visit.page), []);
    await visit.page.click('#codes-saved');
    await visit.page.waitForSelector('text=My phone');
    assert.deepEqual(await accessibilityProblems(visit.page), []);
  }

  test('WebAuthn §7 a user adds a passkey, and signs in with it alone, by the button and by autofill', async () => {
    const visit = await set().visitor();
    const [devtools, authenticatorId] = await authenticatorOf(visit);
    await addPasskey(visit, await newUser('ada'));
    const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId });
    const [{ rpId, isResidentCredential } = assert.fail()] = credentials;
    assert.deepEqual({ rpId, isResidentCredential }, { rpId: 'localhost', isResidentCredential: true });

    await visit.person.clearCookies();
    await devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false });
    await visit.authorize({ prompt: 'consent' });
    const button = visit.page.locator('#passkey-submit');
    await button.waitFor();
    assert.equal(await visit.page.getAttribute('#username', 'autocomplete'), 'username webauthn');
    await devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: true });
    await button.click();
    await visit.page.waitForSelector('#consent-allow');

    await visit.person.clearCookies();
    // The authenticator chooses its passkey as soon as the page offers autofill.
    await visit.authorize({ prompt: 'consent' });
    await visit.page.waitForSelector('#consent-allow');
  });

  test('a security key without PIN is no passkey, the page says so, and it is a second step', async () => {
    const visit = await set().visitor();
    await authenticatorOf(visit, true);
    const who = await newUser('karl');
    await visit.open('/account/security');
    await visit.signIn(who);
    await visit.page.click('#add-passkey');
    const alert = visit.page.locator('form:has(#add-passkey) [role=alert]');
    await alert.waitFor();
    assert.match(
      await alert.innerText(),
      /or it is a security key without PIN\. Add it as a security key instead/,
    );
    assert.deepEqual(await accessibilityProblems(visit.page), []);
    await alert.locator('a').click();
    await visit.page.fill('#security-key-name', 'Blue key');
    await visit.page.click('#add-security-key');
    await visit.page.waitForSelector('#recovery-code-list');
    await visit.page.click('#codes-saved');
    await visit.page.waitForSelector('h3:has-text("Blue key")');

    await visit.person.clearCookies();
    await visit.authorize({ prompt: 'consent', acr_values: 'phr' });
    await visit.signIn(who);
    await visit.page.click('#passkey-submit:has-text("Use your security key")');
    await visit.page.waitForSelector('#consent-allow');
  });

  test('a user who refuses the browser’s question stays on the page, and can still enter the password', async () => {
    const visit = await set().visitor();
    const [devtools, authenticatorId] = await authenticatorOf(visit);
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await visit.authorize({ prompt: 'consent' });
    await visit.page.click('#passkey-submit');
    await visit.page.waitForSelector('form[data-passkey] [role=alert]:not([hidden])');
    await visit.signIn();
    await visit.page.waitForSelector('#consent-allow');
  });

  test('an authenticator app by its QR code: code after the password, then a recovery code', async () => {
    const visit = await set().visitor();
    const who = await newUser('bea');
    await visit.open('/account/security');
    await visit.signIn(who);
    await visit.page.click('#add-totp');
    assert.ok(await visit.page.locator('svg#qr-code').isVisible());
    const secret = (await visit.page.innerText('#totp-secret')).replaceAll(' ', '');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    await visit.page.fill('#code', totp.generate());
    await visit.page.click('#confirm-totp');
    const codes = await visit.page.locator('#recovery-code-list code').allInnerTexts();
    const [recoveryCode = ''] = codes;
    await visit.person.grantPermissions(['clipboard-read', 'clipboard-write']);
    await visit.page.click('#copy-codes');
    await visit.page.waitForSelector('#copy-codes:has-text("Copied")');
    assert.equal(await visit.page.evaluate('navigator.clipboard.readText()'), codes.join('\n'));
    await visit.page.emulateMedia({ media: 'print' });
    const printed = (await visit.page.innerText('body')).split('\n').filter((line) => line !== '');
    assert.match(printed.shift() ?? '', /^Recovery codes for localhost/);
    assert.deepEqual(printed, codes);
    await visit.page.emulateMedia({ media: 'screen' });

    await visit.person.clearCookies();
    await visit.authorize({ prompt: 'consent' });
    await visit.signIn(who);
    await visit.page.fill('#code', totp.generate({ timestamp: Date.now() + 30_000 }));
    await visit.page.click('#second-submit');
    await visit.page.waitForSelector('#consent-allow');

    await visit.person.clearCookies();
    await visit.authorize({ prompt: 'consent' });
    await visit.signIn(who);
    await visit.page.click('#use-recovery-code');
    await visit.page.fill('#recovery-code', recoveryCode);
    await visit.page.click('#recovery-submit');
    await visit.page.waitForSelector('#consent-allow');
  });

  test('without scripts, the pages ask for the password, and hide what they cannot do', async () => {
    const visit = await set().visitor({ javaScriptEnabled: false });
    await visit.authorize({ prompt: 'consent' });
    assert.equal(await visit.page.locator('#passkey-submit').isVisible(), false);
    await visit.signIn();
    await visit.page.waitForSelector('#consent-allow');
  });
});
