// Who may use a client: the option `mayUseClient`. § refers to RFC 6749.
import assert from 'node:assert/strict';
import { OAuthError, OperatorIssueError } from '@grantd/core';
import { changeClient } from './harness/client_change.ts';
import { ON_EVERY_HOST } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import { codeFor, DEAD_REFRESH_TOKEN, issued, PKCE, refused } from './harness/token_endpoint.ts';
import { CLIENTS, specification } from './harness/world.ts';

const FOR_STAFF = { metadata: { allowed_groups: ['staff'] } };

const NOT_ALLOWED = refused('invalid_grant', 'the user may not use this client');

specification('The option mayUseClient', ON_EVERY_HOST, (spec) => {
  spec('§4.1.2.1 a user who may not use a client gets access_denied instead of a code', async (world) => {
    const asked: unknown[] = [];
    await changeClient(world, 'web', FOR_STAFF);
    const strict = await secondServer(world, {
      mayUseClient: (subject, client) => {
        asked.push([subject, client.id, 'secrets' in client]);
        return false;
      },
    });
    await assert.rejects(codeFor(strict, { client_id: 'web', scope: 'read', ...PKCE }), (error) => {
      assert.ok(error instanceof OAuthError);
      assert.deepEqual([error.code, error.reason], ['access_denied', 'person_not_allowed']);
      return true;
    });
    assert.deepEqual(asked, [['alice', 'web', false]], 'the host sees no secret');
  });

  spec('§4.1.3 a code of a user who has lost the client is refused, and works again later', async (world) => {
    const code = await world.code();
    await changeClient(world, 'web', FOR_STAFF);
    let mayUse = false;
    const strict = await secondServer(world, { mayUseClient: async () => mayUse });
    assert.deepEqual(await strict.redeem(code), NOT_ALLOWED);
    assert.equal(strict.lastReason, 'person_not_allowed');
    mayUse = true;
    issued(await strict.redeem(code));
  });

  spec('§6 a refresh token of a user who has lost the client is refused', async (world) => {
    let mayUse = true;
    const strict = await secondServer(world, { mayUseClient: () => mayUse });
    const { refresh_token } = await world.grant();
    await changeClient(world, 'web', FOR_STAFF);
    mayUse = false;
    assert.deepEqual(await strict.refresh(refresh_token), DEAD_REFRESH_TOKEN);
    assert.equal(strict.lastReason, 'person_not_allowed');
    mayUse = true;
    issued(await strict.refresh(refresh_token));
  });

  spec('§6 a sign-in that is no longer enough is asked about for every client, by its amr', async (world) => {
    const asked: unknown[] = [];
    let answer: boolean | 'acr_unmet' = true;
    const strict = await secondServer(world, {
      recheckedAmr: ['email'],
      mayUseClient: (_, client, amr) => {
        asked.push([client.id, amr]);
        return answer;
      },
    });
    const asking = { client_id: 'web', scope: 'read', redirect_uri: CLIENTS.web.redirectUris[0], ...PKCE };
    const grant = async (amr: readonly string[]) =>
      issued(await strict.redeem(await codeFor(strict, asking, 'alice', { amr }))).refresh_token;
    const [password, code] = [await grant(['pwd']), await grant(['email'])];
    assert.deepEqual(asked, Array(2).fill(['web', ['email']]), 'at approval and redemption');
    answer = 'acr_unmet';
    issued(await strict.refresh(password));
    assert.deepEqual(await strict.refresh(code), DEAD_REFRESH_TOKEN);
    assert.equal(strict.lastReason, 'acr_unmet');
    await assert.rejects(grant(['email']), (error) => {
      assert.ok(error instanceof OAuthError);
      assert.deepEqual([error.code, error.reason], ['login_required', 'acr_unmet']);
      return true;
    });
    answer = true;
    issued(await strict.refresh(code));
  });

  spec('grantd §8.5 a host that cannot tell is an outage, not a refusal', async (world) => {
    const code = await world.code();
    await changeClient(world, 'web', FOR_STAFF);
    const failing = await secondServer(world, {
      mayUseClient: () => {
        throw new Error('the directory is down');
      },
    });
    assert.equal((await failing.redeem(code)).status, 503);
    await changeClient(world, 'web', { metadata: {} });
    issued(await world.redeem(code));
  });

  spec(
    'without the option, a client for some groups is for no user, and for the operator neither',
    async (world) => {
      await changeClient(world, 'web', FOR_STAFF);
      await assert.rejects(codeFor(world, { client_id: 'web', scope: 'read', ...PKCE }), /may not use/);
      const { operator } = world.server;
      await assert.rejects(operator.issueTokens({ clientId: 'web', subject: 'alice' }), OperatorIssueError);
    },
  );
});
