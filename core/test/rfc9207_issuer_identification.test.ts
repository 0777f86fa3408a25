// § refers to RFC 9207.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpResponse } from '@grantd/core';
import { accepted, CALLBACK, postedBy, refusalOf } from './harness/authorization_endpoint.ts';
import { ISSUER, openWorld } from './harness/world.ts';

/** The parameters of a response in one of the modes without a JWT, as the client reads them. */
const READERS: Readonly<
  Record<'query' | 'fragment' | 'form_post', (response: HttpResponse) => Readonly<Record<string, string>>>
> = {
  query: ({ headers }) => {
    const { origin, pathname, search, hash } = new URL(String(headers.location));
    assert.deepEqual([origin + pathname, hash], [CALLBACK, '']);
    return Object.fromEntries(new URLSearchParams(search));
  },
  fragment: ({ headers }) => {
    const { origin, pathname, search, hash } = new URL(String(headers.location));
    assert.deepEqual([origin + pathname, search], [CALLBACK, '']);
    return Object.fromEntries(new URLSearchParams(hash.slice(1)));
  },
  form_post: (response) => {
    assert.equal(postedBy(response).action, CALLBACK);
    return postedBy(response).fields;
  },
};

for (const response_mode of ['query', 'fragment', 'form_post'] as const) {
  const read = READERS[response_mode];

  test(`§2 iss is in every response by ${response_mode}: a code, a refusal by the user, an error`, async (t) => {
    const world = await openWorld(t);
    const request = await accepted(world, { response_mode });
    const { code, ...granted } = read(
      await world.server.authorization.complete(request, { subject: 'alice' }),
    );
    assert.match(code ?? '', /^grantd_ac_/);
    assert.deepEqual(granted, { state: 'xyz', iss: ISSUER });
    const another = await accepted(world, { response_mode });
    assert.deepEqual(
      read(await world.server.authorization.refuse(another, 'login_required', 'nobody is here')),
      {
        error: 'login_required',
        error_description: 'nobody is here',
        state: 'xyz',
        iss: ISSUER,
      },
    );
    assert.deepEqual(read(await refusalOf(world, { response_mode, response_type: 'token' })), {
      error: 'unsupported_response_type',
      error_description: 'only the response_type code is supported',
      state: 'xyz',
      iss: ISSUER,
    });
  });
}

test('§2.3 the issuer in responses is the issuer in the metadata, to the letter', async (t) => {
  const world = await openWorld(t, { issuer: 'https://as.example/tenant/' });
  const request = await accepted(world, { response_mode: 'fragment' });
  const { iss } = READERS.fragment(await world.server.authorization.refuse(request, 'access_denied', 'no'));
  const { issuer, authorization_response_iss_parameter_supported } = world.server.serverMetadata;
  assert.deepEqual([iss, issuer], ['https://as.example/tenant/', 'https://as.example/tenant/']);
  assert.equal(authorization_response_iss_parameter_supported, true);
});

test('§4 an iss in the request changes nothing: a mixed-up client sees whom it talked to', async (t) => {
  const world = await openWorld(t);
  const request = await accepted(world, { iss: 'https://evil.example', state: 'a&iss=https://evil.example' });
  const refusal = await world.server.authorization.refuse(request, 'access_denied', 'no');
  const { searchParams } = new URL(String(refusal.headers.location));
  assert.deepEqual(searchParams.getAll('iss'), [ISSUER]);
});
