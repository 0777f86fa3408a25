// The page of a token draws only tokens that exist, and names the one cause of its end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';

test('the page of a token names the one cause of its end, and draws only tokens that exist', async (t) => {
  const server = await startConsole();
  t.after(() => server.close());
  await server.addUser('ada', ['admins']);
  const cli = localCalls({ ...server.instance.actingAs('cli'), configuration: server.configuration });
  await call(cli, 'addGroup', { name: 'staff' });
  const { subject: sub } = await server.addUser('grace', ['staff']);
  const members = { redirect_uris: ['https://app.example/cb'], scope: 'openid offline_access' };
  await call(cli, 'addClient', { ...members, client_id: 'payroll', allowed_groups: ['staff'] });
  await call(cli, 'addClient', { ...members, client_id: 'shop' });
  const browser = await server.browserOf('ada');
  const explained = async (token: string) => {
    const form = await browser.get(`${server.url}/console/tokens`);
    const { html } = await browser.submit(form, { token, do: 'explain' });
    const main = unescaped(html.slice(html.indexOf('<main')));
    return { main, text: main.replaceAll(/<[^>]*>/g, '') };
  };

  const left = await server.tokensOf('payroll', sub);
  assert.match((await explained(left.access)).main, /<span>Refresh token<\/span><small>issued with it/);
  await call(cli, 'removeMember', { group: 'staff', sub });
  assert.match((await explained(left.access)).text, /ended a grant.*, because grace left staff/);

  const revoked = await server.tokensOf('shop', sub);
  await call(cli, 'revokeToken', { token: revoked.access });
  const several = /alone, (?:or )?with its pair/;
  const [own, other] = [await explained(revoked.access), await explained(revoked.refresh)];
  assert.match(own.text, /This token was revoked\. revoked/);
  assert.match(other.text, /A token of the same grant was revoked, and this one with it\. revoked/);
  for (const { text } of [own, other]) assert.doesNotMatch(text, several);

  const [alone] = await server.server.operator.issueTokens({ clientId: 'shop', subject: sub });
  const { main } = await explained(alone?.accessToken ?? '');
  assert.match(main, /<svg class="family"/);
  assert.doesNotMatch(main, /Refresh token/);
});
