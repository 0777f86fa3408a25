// § refers to RFC 6749.
import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import {
  addClient,
  asClient,
  currentKeyId,
  HEADERS,
  issued,
  refused,
  SCOPE_MALFORMED,
  SCOPE_NOT_ALLOWED,
  UNAUTHORIZED,
  verified,
} from './harness/token_endpoint.ts';
import { basic, CLIENTS, ISSUER, specification, VERIFIER } from './harness/world.ts';

specification('Token endpoint (RFC 6749 §3.2)', ON_MEMORY, (spec) => {
  spec('§5.2 a grant that the server does not have is unsupported_grant_type', async (world) => {
    const expected = refused('unsupported_grant_type', 'the grant_type is not supported');
    for (const grantType of [
      'password',
      'implicit',
      'Authorization_Code',
      'toString',
      '__proto__',
      'urn:x',
    ]) {
      assert.deepEqual(await world.post('/token', { grant_type: grantType }, 'web'), expected, grantType);
    }
    const spaced = refused('unsupported_grant_type', 'the grant_type has white space around it');
    for (const grantType of ['client_credentials\n', ' refresh_token', 'authorization_code\r\n'])
      assert.deepEqual(await world.post('/token', { grant_type: grantType }, 'web'), spaced, grantType);
    assert.equal(world.lastReason, 'grant_unknown');
  });

  spec.http('§5.2 a missing or empty parameter is invalid_request', async (world) => {
    const missing = (name: string) => refused('invalid_request', `the parameter ${name} is missing`);
    const ask = (form: Readonly<Record<string, string>>) => world.post('/token', form, 'web');
    assert.deepEqual(await ask({}), missing('grant_type'));
    assert.deepEqual(await ask({ grant_type: '' }), missing('grant_type'));
    assert.deepEqual(await ask({ grant_type: 'authorization_code' }), missing('code'));
    assert.deepEqual(await ask({ grant_type: 'authorization_code', code: '' }), missing('code'));
    assert.deepEqual(await ask({ grant_type: 'refresh_token' }), missing('refresh_token'));
    assert.equal(world.lastReason, 'parameter_missing');
  });

  spec.http('§3.2 a repeated parameter is invalid_request, an unknown one is ignored', async (world) => {
    const send = (body: string) =>
      world.send({
        method: 'POST',
        path: '/token',
        headers: { authorization: basic('machine'), 'content-type': 'application/x-www-form-urlencoded' },
        body,
      });
    const repeated = refused('invalid_request', 'a parameter is repeated');
    assert.deepEqual(await send('grant_type=client_credentials&grant_type=client_credentials'), repeated);
    assert.deepEqual(await send('grant_type=client_credentials&scope=&scope=read'), repeated);
    assert.deepEqual(await send('grant_type=client_credentials&%67rant_type=x'), repeated);
    issued(await send('grant_type=client_credentials&colour=red&audience='));
  });

  spec.http('§3.2 parameters in the query do not count', async (world) => {
    const response = await world.send({
      method: 'POST',
      path: '/token?grant_type=client_credentials',
      headers: { authorization: basic('machine'), 'content-type': 'application/x-www-form-urlencoded' },
      body: 'scope=read',
    });
    assert.deepEqual(response, refused('invalid_request', 'the parameter grant_type is missing'));
  });

  spec.http('§3.2 another method is 405 with Allow', async (world) => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const response = await world.send({
        method,
        path: '/token',
        headers: { authorization: basic('machine') },
      });
      const expected = refused('invalid_request', 'the method is not allowed', 405);
      assert.deepEqual(response, { ...expected, headers: { ...HEADERS, allow: 'POST' } });
    }
  });

  spec('§2.3 no token is issued before the client is known, whatever the request', async (world) => {
    const { refresh_token } = await world.grant();
    const attempts = [
      { grant_type: 'refresh_token', refresh_token },
      { grant_type: 'refresh_token', refresh_token, client_id: 'web' },
      {
        grant_type: 'authorization_code',
        code: await world.code(),
        code_verifier: VERIFIER,
        client_id: 'web',
      },
      { grant_type: 'nonsense' },
      {},
    ];
    for (const form of attempts) assert.equal((await world.post('/token', form)).status, 401);
    assert.deepEqual(await world.alive(refresh_token), [true]);
  });
});

specification('Client credentials (RFC 6749 §4.4)', ON_EVERY_STORE, (spec) => {
  spec.http('§4.4.3 the response has an access token and no refresh token', async (world) => {
    const response = await world.post(
      '/token',
      { grant_type: 'client_credentials', scope: 'read' },
      'machine',
    );
    const tokens = issued(response);
    const { access_token } = tokens;
    assert.deepEqual(tokens, { access_token, token_type: 'Bearer', expires_in: 3600, scope: 'read' });
    assert.deepEqual(await world.alive(access_token), [true]);
  });

  spec(
    'RFC 9068 §2.2 an access token is a JWT that verifies against JWKS and says what it is for',
    async (world) => {
      const token = await world.machineToken('write read');
      const iat = world.clock.seconds;
      const { header, payload } = await verified(world, token);
      assert.deepEqual(header, { alg: 'RS256', typ: 'at+jwt', kid: await currentKeyId(world, 'RS256') });
      assert.deepEqual(payload, {
        iss: ISSUER,
        sub: 'machine',
        aud: ISSUER,
        client_id: 'machine',
        scope: 'write read',
        iat,
        exp: iat + 3600,
        jti: payload.jti,
      });
      assert.match(String(payload.jti), new RegExp(`^${world.clock.read().toString(36)}[\\w-]{22}$`));
      assert.notEqual(decodeJwt(await world.machineToken()).jti, payload.jti);
    },
  );

  spec('§3.3 without scope the client gets all of its scopes that need no user', async (world) => {
    await addClient(world, {
      ...CLIENTS.machine,
      id: 'both',
      scopes: ['openid', 'read', 'email', 'offline_access', 'write'],
    });
    const tokens = issued(await asClient(world, 'both', { grant_type: 'client_credentials' }));
    assert.equal(tokens.scope, 'read write');
    const narrowed = issued(await asClient(world, 'both', { grant_type: 'client_credentials', scope: '' }));
    assert.equal(narrowed.scope, 'read write');
  });

  spec('§3.3 a client without scopes gets a token without scope', async (world) => {
    await addClient(world, { ...CLIENTS.machine, id: 'scopeless', scopes: [] });
    const tokens = issued(await asClient(world, 'scopeless', { grant_type: 'client_credentials' }));
    assert.equal('scope' in tokens, false);
    assert.equal('scope' in decodeJwt(tokens.access_token), false);
  });

  spec('§3.3 a repeated scope counts once, in the order that was asked for', async (world) => {
    const form = { grant_type: 'client_credentials', scope: ' write  read write ' };
    assert.equal(issued(await world.post('/token', form, 'machine')).scope, 'write read');
  });

  spec('§3.3 a scope that is not registered, or not well-formed, is invalid_scope', async (world) => {
    const ask = (scope: string) =>
      world.post('/token', { grant_type: 'client_credentials', scope }, 'machine');
    assert.deepEqual(await ask('admin'), SCOPE_NOT_ALLOWED);
    assert.deepEqual(await ask('read admin'), SCOPE_NOT_ALLOWED);
    assert.deepEqual(await ask('READ'), SCOPE_NOT_ALLOWED);
    assert.deepEqual(await ask('__proto__'), SCOPE_NOT_ALLOWED);
    for (const malformed of ['  ', 'read\twrite', 're"ad', 're\\ad', 'lesen-ä', 'read\n']) {
      assert.deepEqual(await ask(malformed), SCOPE_MALFORMED, JSON.stringify(malformed));
    }
    assert.equal(world.lastReason, 'scope_not_allowed');
  });

  spec('§4.4.2 a scope of a user is refused, although the client is registered for it', async (world) => {
    const scopes = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];
    await addClient(world, { ...CLIENTS.machine, id: 'both', scopes: [...scopes, 'read'] });
    for (const scope of scopes) {
      const response = await asClient(world, 'both', {
        grant_type: 'client_credentials',
        scope: `read ${scope}`,
      });
      assert.deepEqual(response, refused('invalid_scope', 'a scope requires a user'), scope);
    }
  });

  spec('§4.4 a public client may not act for itself', async (world) => {
    await addClient(world, { ...CLIENTS.machine, id: 'public-machine' }, true);
    const response = await world.post('/token', {
      grant_type: 'client_credentials',
      client_id: 'public-machine',
    });
    assert.deepEqual(
      response,
      refused('unauthorized_client', 'only confidential clients may use this grant'),
    );
    assert.equal(world.lastReason, 'grant_not_allowed');
  });

  spec('§5.2 a client that is not registered for a grant gets unauthorized_client', async (world) => {
    const { refresh_token } = await world.grant();
    assert.deepEqual(await world.post('/token', { grant_type: 'client_credentials' }, 'web'), UNAUTHORIZED);
    assert.deepEqual(
      await world.post('/token', { grant_type: 'authorization_code' }, 'machine'),
      UNAUTHORIZED,
    );
    assert.deepEqual(
      await world.post('/token', { grant_type: 'refresh_token', refresh_token }, 'api'),
      UNAUTHORIZED,
    );
    assert.deepEqual(await world.alive(refresh_token), [true]);
  });

  spec(
    '§5.1 audience, lifetime and format come from the options',
    async (world) => {
      const form = { grant_type: 'client_credentials' };
      const { access_token, expires_in } = issued(await world.post('/token', form, 'machine'));
      assert.match(access_token, /^grantd_at_[A-Za-z0-9_-]{43}$/);
      assert.equal(expires_in, 90);
      world.clock.advance(89);
      assert.deepEqual(await world.alive(access_token), [true]);
      world.clock.advance(1);
      assert.deepEqual(await world.alive(access_token), [false]);
    },
    { accessTokenFormat: 'opaque', accessTokenLifetime: 90, defaultAudience: ['https://api.example'] },
  );
});
