// What a directory says about its users, and what it leaves to others.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { DirectoryUser } from '../src/directory/contract.ts';
import { DirectorySignIn } from '../src/people/directory.ts';
import { AccessEnding } from '../src/people/groups.ts';
import { ANY_DATABASE, type TestDatabase } from './harness/databases.ts';
import { openDatabase } from './harness/program_data.ts';

/** A directory with one user, whose claims a test sets. */
async function directoryOf(t: TestContext, decided: readonly string[] | 'all') {
  const { people, groups, storage } = await openDatabase(t, ANY_DATABASE[0] as TestDatabase);
  let claims: DirectoryUser['claims'] = {};
  const user = () => ({ id: '1', names: ['ada'] as const, claims, groups: [], isDisabled: false });
  const directory = {
    ...{ groups: [], claims: decided, areEmailsVerified: false, close() {} },
    authenticate: async () => ({ user: user() }),
    byId: async () => user(),
  };
  const access = new AccessEnding({ people, groups, storage });
  const signIn = new DirectorySignIn({ directory, people, groups, access, clients: storage.clients });
  return {
    people,
    /** @returns the user after a sign-in */
    async says(of: DirectoryUser['claims']) {
      claims = of;
      const outcome = await signIn.signIn('ada', 'secret', async () => true);
      return 'person' in outcome ? outcome.person : assert.fail(outcome.refused);
    },
  };
}

test('OpenID Connect Core §5.1 what a directory says has the types and forms that clients expect', async (t) => {
  const { says } = await directoryOf(t, 'all');
  const { claims } = await says({
    ...{ name: 'Ada', phone_number: '+441865000000', phone_number_verified: 'FALSE', zoneinfo: 'Oxford' },
    ...{ picture: 'javascript:alert(1)', address: '1 High Street', department: 'press', sub: 'admin' },
  });
  assert.deepEqual(claims, {
    ...{ name: 'Ada', phone_number: '+441865000000', phone_number_verified: false },
    ...{ address: { formatted: '1 High Street' }, department: 'press' },
  });
});

test('OpenID Connect Core §5.1 a phone number that changes in the directory is no longer verified', async (t) => {
  const { people, says } = await directoryOf(t, ['name', 'phone_number']);
  const first = await says({ phone_number: '+441865000000' });
  const claims = { ...first.claims, phone_number_verified: true, nickname: 'Countess' };
  assert.equal(await people.update({ ...first, claims }), 'updated');
  assert.deepEqual((await says({ phone_number: '+441865000000', name: 'Ada' })).claims, {
    ...claims,
    name: 'Ada',
  });
  const changed = await says({ phone_number: '+19005550199' });
  assert.deepEqual(changed.claims, { phone_number: '+19005550199', nickname: 'Countess' });
  assert.equal(
    await people.update({ ...changed, claims: { ...changed.claims, phone_number_verified: true } }),
    'updated',
  );
  assert.deepEqual((await says({})).claims, { nickname: 'Countess' });
});
