import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { OpenDatabase } from '../src/data/database.ts';
import { nameKey, nameProblem, searchTerms, searchTextOf } from '../src/data/names.ts';
import type { Person } from '../src/data/people.ts';
import { type PeopleFilter, placeOfPerson } from '../src/data/people_list.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { PersonRemoval } from '../src/people/removal.ts';
import { SessionEnding } from '../src/people/sessions.ts';
import { DATABASES } from './harness/databases.ts';
import { addPerson, giveConsent, ISSUER, openDatabase, openDatabases } from './harness/program_data.ts';

test('names that differ only by case, width or look-alike letters have one key', () => {
  for (const [name, ...others] of [
    ['kate', 'Kate', 'KATE', '\u212Aate', '\uFF4B\uFF41\uFF54\uFF45'],
    ['caf\u00e9', 'cafe\u0301', 'CAF\u00c9'],
    ['pecox', '\u0440\u0435\u0441\u043e\u0445', '\u0420\u0415\u0421\u041E\u0425'],
    ['\u03bf\u03b4\u03bf\u03c2', '\u039f\u0394\u039f\u03a3'],
  ] as const)
    for (const other of others) assert.equal(nameKey(other), nameKey(name), other);
  const different = ['kate', 'cate', 'kate1', 'k ate', '\u043a\u0430\u0442\u044f'];
  assert.equal(new Set(different.map(nameKey)).size, different.length);
});

test('names with invisible characters, mixed scripts or compatibility characters are refused', () => {
  for (const name of ['kate', 'Zo\u00eb 2', '\u041a\u0430\u0442\u044f', '\u5c71\u7530 kate', '\uFF4Bate'])
    assert.equal(nameProblem(name), undefined, name);
  for (const [name, problem] of [
    ['al\u0456ce', /letters of one script/],
    ['ali\u3164ce', /invisible/],
    ['\u2800', /visible/],
    ['ali\u200bce', /visible/],
    ['\u{1D41A}lice', /ordinary form/],
    [' ', /visible/],
    ['', /visible/],
    ['a'.repeat(129), /at most 128/],
  ] as const)
    assert.match(nameProblem(name) ?? '', problem, name);
});

test('a search finds the beginnings of words, in every spelling that readers confuse', () => {
  const wordsOf = (name: string, claims = {}) => searchTextOf({ name, claims }).slice(1).split('\n');
  const ada = { email: 'Ada.Byron@Example.com', name: 'Ada  "Byron" O\\Neil', phone_number: '+49 170-12' };
  assert.deepEqual(wordsOf('ada_b', ada), [
    ...['12', '170-12', '49', 'ada.byron@example.com', 'ada_b', 'byron@example.com', 'com'],
    ...['example.com', 'neil', 'o'],
  ]);
  assert.deepEqual(wordsOf('\u5c71\u7530'), ['\u5c71\u7530', '\u7530']);
  assert.deepEqual(wordsOf('\u{1F98A}'), ['\u{1F98A}']);
  assert.deepEqual(wordsOf('-'), ['']);
  const many = Array.from({ length: 400 }, (_, index) => `w${index}`).join('.');
  assert.ok(wordsOf(many).length <= 50 && wordsOf(many).every(({ length }) => length <= 64));

  for (const [search, ...terms] of [
    ['Byron ada', 'byron', 'ada'],
    [' @EXAMPLE.com ', 'example.com'],
    ['+49170', '49170'],
    ['@xn--mnchen-3ya.de', 'm\u00fcnchen.de'],
    ['K\u0430te', 'kate'],
    ['ka\u200bte kate', 'kate'],
    ['y'.repeat(70), 'y'.repeat(64)],
    ['a b c d e f g h i j k l', ...'abcdefghij'],
    ['Smith & Co.', 'smith', 'co'],
    ['(Byron), Ada -', 'byron', 'ada'],
    ['@', '\n'],
    ['"\u200b', '\n'],
  ] as const)
    assert.deepEqual(searchTerms(search), terms, search);
  for (const name of [
    'Smith & Co',
    'Ada - Byron',
    "(Jack) O'Neil +",
    '"Tom" / Jerry',
    '\u5c71\u7530 \u30fb \u592a\u90ce',
  ])
    assert.ok(
      searchTerms(name).every((term) => wordsOf(name).some((word) => word.startsWith(term))),
      name,
    );
  assert.deepEqual(wordsOf('a@xn--mnchen-3ya.de'), ['a@m\u00fcnchen.de', 'de', 'm\u00fcnchen.de']);
});

test('every statement that changes what a search finds also changes the search text', () => {
  const folder = join(import.meta.dirname, '..', 'src', 'data');
  const source = readdirSync(folder)
    .filter((name) => name !== 'program_migrations.ts')
    .map((name) => readFileSync(join(folder, name), 'utf8'));
  const updates = source.flatMap((text) => text.match(/UPDATE grantd\.people\s+SET[^`']+?\sWHERE/g) ?? []);
  const changing = updates.filter((sql) => /\b(name = :name|claims = )/.test(sql));
  assert.ok(changing.length >= 2 && updates.length > changing.length);
  for (const sql of changing) assert.match(sql, /search_text = :searchText/);
  // All rows are inserted by one text, with all columns.
  assert.equal(source.join('').match(/INSERT INTO grantd\.people /g), null);
});

test('a file keeps nothing of a removed user once its log has been overwritten', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-removed-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const database = sqliteDatabase(join(folder, 'grantd.db'));
  const opened = await database.open(ISSUER);
  // More than one page, so that pages become free.
  const people = [];
  for (let number = 0; number < 60; number += 1)
    people.push(await addPerson(opened, `quixote${number}`, `hash of quixote ${'h'.repeat(90)}`));
  for (const person of people) {
    const claims = { email: `${person.name}@example.com` };
    assert.equal(await opened.people.update({ ...person, claims }), 'updated');
    const { subject } = person;
    const times = { signedInAtMs: 1, lastSeenAtMs: 1 };
    const session = { id: `sid-${subject}`, subject, amr: ['pwd'], userAgent: 'quixote browser', ...times };
    await opened.sessions.add(session, `digest-${subject}`, 9000, person);
  }
  const removal = new PersonRemoval({ ...opened, ending: new SessionEnding(opened) });
  for (const { subject } of people) await removal.remove(subject);
  // Closing checkpoints the log and deletes it.
  await database.close();
  const left = readdirSync(folder).filter((name) =>
    readFileSync(join(folder, name), 'latin1').includes('quixote'),
  );
  assert.deepEqual(left, []);
});

for (const database of DATABASES) {
  describe(`users on ${database.name}`, { skip: database.absence }, () => {
    test('a name is taken for every spelling of it, and found by every spelling', async (t) => {
      const opened = await openDatabase(t, database);
      const { people } = opened;
      const kate = await addPerson(opened, 'Kate');
      assert.equal(kate.name, 'Kate');
      for (const other of ['kate', 'KATE', '\uFF4Bate', '\u212Aate']) {
        assert.equal(await people.add({ name: other, passwordHash: '', claims: {} }), undefined, other);
        assert.equal((await people.byName(other))?.subject, kate.subject, other);
      }
      assert.equal(await people.byName('cate'), undefined);
      const bob = await addPerson(opened, 'bob');
      assert.equal(await people.update({ ...bob, name: 'kate' }), 'name_taken');
      assert.equal(await people.update({ ...kate, name: 'KATE' }), 'updated', 'her own');
    });

    test('of several concurrent changes from the same state of a user, one succeeds', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const alice = await addPerson(one, 'alice');
      const outcomes = await Promise.all([
        one.people.update({ ...alice, claims: { a: 1 } }),
        other.people.update({ ...alice, claims: { b: 1 } }),
      ]);
      assert.deepEqual(outcomes.sort(), ['changed', 'updated']);
      const now = await one.people.bySubject(alice.subject);
      assert.equal(now?.revision, 1);
      assert.equal(await one.people.setPasswordHash(alice.subject, 'another'), true);
      assert.equal(await other.people.update({ ...now, name: 'Alice B', claims: { c: 1 } }), 'updated');
      const { revision, ...changed } = (await one.people.byName('alice b')) ?? assert.fail();
      assert.deepEqual(
        [revision, changed],
        [
          2,
          {
            subject: alice.subject,
            name: 'Alice B',
            passwordHash: 'another',
            claims: { c: 1 },
            createdAtMs: alice.createdAtMs,
          },
        ],
      );
      assert.equal(await one.people.byName('alice'), undefined);
    });

    test('of several users who ask for one name at once, one gets it', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const alice = await addPerson(one, 'alice');
      const bob = await addPerson(one, 'bob');
      const rename = async ({ people }: typeof one, { subject }: typeof alice, name: string) =>
        people.update({ ...((await people.bySubject(subject)) ?? assert.fail()), name });
      for (const name of ['carol', 'Dave', 'eve', 'Frank', 'grace', 'Heidi']) {
        const outcomes: string[] = await Promise.all([
          rename(one, alice, name),
          rename(other, bob, name.toUpperCase()),
        ]);
        assert.deepEqual(outcomes.sort(), ['name_taken', 'updated'], name);
      }
    });

    test('of several users who show at once that an address is theirs, one gets it, in every spelling', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const spellings = ['kim@пример.рф', 'KIM@xn--e1afmkfd.xn--p1ai', 'kim@ПРИМЕР.рф.', ' kim@пример。рф'];
      const claims = (email = '') => ({ email, email_verified: true });
      for (let round = 1; round <= 5; round++) {
        const own = spellings.map((spelling) => spelling.replace('@', `${round}@`));
        const signUp = ({ people }: OpenDatabase, email: string, at: number): Promise<Person | undefined> =>
          people.add({
            name: `new ${round} ${at}`,
            passwordHash: 'x',
            claims: claims(email),
            claimsEmail: true,
          });
        const added: readonly (Person | undefined)[] = await Promise.all(
          own.map((email, at) => signUp(at % 2 ? one : other, email, at)),
        );
        assert.equal(added.filter((person) => person !== undefined).length, 1, `sign-up ${round}`);
        const owner = added.find((person) => person !== undefined) ?? assert.fail();

        const [ann, ben]: readonly [Person, Person] = [
          await addPerson(one, `ann ${round}`),
          await addPerson(one, `ben ${round}`),
        ];
        assert.equal(await one.people.updateEmail({ ...ann, claims: claims(own[1]) }), 'taken');
        const free = own.map((email) => email.replace('kim', 'lea'));
        const outcomes: string[] = await Promise.all([
          one.people.updateEmail({ ...ann, claims: claims(free[0]) }),
          other.people.updateEmail({ ...ben, claims: claims(free[1]) }),
        ]);
        assert.deepEqual(outcomes.sort(), ['taken', 'updated'], `new address ${round}`);
        // An address that its user no longer has is free.
        assert.equal(await one.people.update({ ...owner, claims: {} }), 'updated');
        assert.ok(await signUp(other, own[2] ?? '', 9));
      }
      // An operator can give an address to several users.
      for (const name of ['mia', 'max'])
        assert.ok(await one.people.add({ name, passwordHash: 'x', claims: claims('family@example.com') }));
    });

    test('are listed in each order and direction, by second factor, and with their activity', async (t) => {
      const opened = await openDatabase(t, database);
      const { people, factors, sessions } = opened;
      const added: Person[] = [];
      for (const name of ['cleo', 'abel', 'dora', 'bert']) added.push(await addPerson(opened, name));
      const [cleo, abel] = added;
      assert.ok(cleo && abel);
      const namesOf = async (filter: PeopleFilter) => (await people.list(filter)).map(({ name }) => name);
      // Users who were added in the same millisecond are sorted by subject.
      const byTime = added.toSorted(
        (one, other) => one.createdAtMs - other.createdAtMs || (one.subject < other.subject ? -1 : 1),
      );
      for (const [sort, sorted] of [
        ['username', added.toSorted((one, other) => (one.name < other.name ? -1 : 1))],
        ['created_at', byTime],
      ] as const)
        for (const descending of [false, true]) {
          const names = (descending ? sorted.toReversed() : sorted).map(({ name }) => name);
          assert.deepEqual(await namesOf({ sort, descending }), names);
          const second = added.find(({ name }) => name === names[1]) ?? assert.fail();
          const after = placeOfPerson(second, sort);
          assert.deepEqual(await namesOf({ sort, descending, after, limit: 1 }), [names[2]]);
        }

      const times = { createdAtMs: 1, countsFromMs: 0 };
      const passkey = {
        publicKey: '',
        counter: 0,
        transports: [],
        isBackedUp: true,
        isSecurityKey: false,
        name: '',
        ...times,
      };
      await factors.addPasskey({ ...passkey, id: 'k1', subject: cleo.subject });
      await factors.addTotp(abel.subject, { sealed: '', ...times }, 0);
      const dora = added[2] ?? assert.fail();
      await factors.addPasskey({ ...passkey, id: 'k2', subject: dora.subject, isSecurityKey: true });
      const session = {
        id: 's1',
        subject: cleo.subject,
        amr: [],
        userAgent: '',
        signedInAtMs: 5,
        lastSeenAtMs: 5,
      };
      await sessions.add(session, 'digest-1', 9000, cleo);
      assert.deepEqual(await namesOf({ factor: 'passkey' }), ['cleo']);
      assert.deepEqual(await namesOf({ factor: 'totp' }), ['abel']);
      assert.deepEqual(await namesOf({ factor: 'security_key' }), ['dora']);
      assert.deepEqual(await namesOf({ factor: 'none' }), ['bert']);
      const activities = (await people.list({ activityAtMs: 1000 })).map(({ activity }) => activity);
      const none = { passkeys: 0, securityKeys: 0, hasTotp: false };
      assert.deepEqual(activities, [
        { ...none, hasTotp: true },
        none,
        { ...none, passkeys: 1, lastSignInAtMs: 5 },
        { ...none, securityKeys: 1 },
      ]);
    });

    test('a page finds the few users of each filter, and searches many of them until its time is over', async (t) => {
      const opened = await openDatabase(t, database);
      const { people, groups, storage, attempts } = opened;
      const at = (index: number) => `user${String(index).padStart(4, '0')}`;
      const subjectOf = (index: number) => at(index).replace('user', 's');
      for (let begin = 0; begin < 2100; begin += 500) {
        const some = Array.from({ length: Math.min(500, 2100 - begin) }, (_, index) => ({
          ...{ subject: subjectOf(begin + index), name: at(begin + index), passwordHash: '', claims: {} },
          ...{ groups: [], links: [], mayLookAlike: false, importDigest: 'd' },
        }));
        await opened.importedPeople.add(some, `${begin}`);
        // The next ones are added later.
        for (const beganMs = Date.now(); Date.now() === beganMs; );
      }
      await groups.add({ name: 'few', description: '' }, 1);
      await groups.add({ name: 'most', description: '' }, 1);
      for (const index of [1999, 3]) await groups.addMember({ subject: subjectOf(index), group: 'few' }, 1);
      for (let index = 1000; index < 2100; index += 1)
        await groups.addMember({ subject: subjectOf(index), group: 'most' }, 1);
      await storage.setDisabled('subject', subjectOf(2050), true);
      // Attempts that do not reach their limit lock no one, and neither do those for an unknown name.
      const count = (keyDigest: string, most: number, triedSubject?: string) =>
        attempts.count(
          [{ keyDigest, attempts: most, windowMs: 500, ...(triedSubject !== undefined && { triedSubject }) }],
          0,
        );
      for (const key of ['k.1', 'k.2']) await count(key, 1, subjectOf(7));
      await count('k.3', 2, subjectOf(8));
      await count('k.4', 1);
      const page = async (wish: PeopleFilter & { limit?: number; withinMs?: number }) => {
        const { people: found, stopped } = await people.page({ limit: 2, ...wish });
        return [found.map(({ name }) => name), stopped];
      };

      const later = async () => (await people.bySubject(subjectOf(1001))) ?? assert.fail();
      for (const [filter, ...names] of [
        [{ state: 'disabled' }, at(2050)],
        [{ lockedAtMs: 499 }, at(7)],
        [{ lockedAtMs: 499, state: 'active', descending: true }, at(7)],
        [{ lockedAtMs: 499, after: at(7) }],
        [{ lockedAtMs: 500 }],
        [{ group: 'few' }, at(3), at(1999)],
        [{ group: 'few', descending: true, sort: 'created_at' }, at(1999), at(3)],
        [{ group: 'few', after: at(3) }, at(1999)],
        [{ group: 'few', search: 'user1999' }, at(1999)],
        [{ group: 'few', state: 'disabled' }],
        [{ factor: 'passkey' }],
        [{ search: 'user2099' }, at(2099)],
        [{ search: 'r2099' }],
        [{ search: subjectOf(7) }, at(7)],
        [{ search: 'S0007' }],
        [{ search: 'nothing' }],
        [{}, at(0), at(1)],
        // Many users fulfil these.
        [{ state: 'active', after: at(2049) }, at(2051), at(2052)],
        [{ group: 'most' }, at(1000), at(1001)],
        [{ group: 'most', descending: true }, at(2099), at(2098)],
        [
          {
            group: 'most',
            descending: true,
            sort: 'created_at',
            after: placeOfPerson(await later(), 'created_at'),
          },
          at(1000),
        ],
        [{ search: 'user', factor: 'none' }, at(0), at(1)],
        [{ search: 'user use USER1', group: 'most' }, at(1000), at(1001)],
      ] as const)
        assert.deepEqual(await page(filter), [names, undefined], JSON.stringify(filter));
      const activitiesAt = async (activityAtMs: number) =>
        (await people.list({ activityAtMs, search: 'user000' })).flatMap(({ name, activity }) =>
          activity?.lockedUntilMs === undefined ? [] : [[name, activity.lockedUntilMs]],
        );
      assert.deepEqual(await activitiesAt(499), [[at(7), 500]]);
      assert.deepEqual(await activitiesAt(500), []);

      const stopped = { lookedAt: 1000, place: at(999) };
      assert.deepEqual(await page({ group: 'most', withinMs: 0 }), [[], stopped]);
      const further = { group: 'most', withinMs: 0, after: at(999) };
      assert.deepEqual(await page(further), [[at(1000), at(1001)], undefined]);
      const turned = { group: 'most', withinMs: 0, descending: true, after: at(1001) };
      assert.deepEqual(await page(turned), [[at(1000)], { lookedAt: 1000, place: at(1) }]);
    });

    test('a search finds users by what they are called now, whichever way they are written', async (t) => {
      const opened = await openDatabase(t, database);
      const { people } = opened;
      const found = async (search: string) => (await people.list({ search })).map(({ name }) => name);
      const current = async (subject: string) => (await people.bySubject(subject)) ?? assert.fail();
      const claims = { email: 'ann@old.example', email_verified: true };
      const new_ = { name: 'ann', passwordHash: '', claims };
      const { subject } = (await people.add({ ...new_, claimsEmail: true })) ?? assert.fail();
      const imported = {
        ...{ subject: 'i', name: 'ian', passwordHash: '', claims: { name: 'Ian [100%]' } },
        ...{ groups: [], links: [], mayLookAlike: false, importDigest: 'd' },
      };
      await opened.importedPeople.add([imported], 'import');
      assert.deepEqual(await found('ANN@old'), ['ann']);
      assert.deepEqual(await found('old.ex'), ['ann']);
      assert.deepEqual(await found('[100%'), ['ian']);
      assert.deepEqual(await found('a'), ['ann']);
      assert.deepEqual(await found('n@old.example'), []);
      assert.deepEqual(await found('ann ian'), []);
      assert.deepEqual(await found('old ann'), ['ann']);

      const moved = { ...claims, email: 'ann@new.example' };
      assert.equal(await people.updateEmail({ ...(await current(subject)), claims: moved }), 'updated');
      assert.deepEqual([await found('old.ex'), await found('new.ex')], [[], ['ann']]);
      assert.equal(await people.update({ ...(await current(subject)), name: 'beth' }), 'updated');
      assert.deepEqual([await found('beth'), await found('ann')], [['beth'], ['beth']]);
      assert.equal(await people.update({ ...(await current(subject)), claims: {} }), 'updated');
      assert.deepEqual([await found('ann'), await found('new.example')], [[], []]);
      // What a refused change would have written is not found.
      assert.equal(
        await people.update({ ...(await current(subject)), revision: 9, name: 'cleo' }),
        'changed',
      );
      assert.deepEqual(await found('cleo'), []);
      await new PersonRemoval({ ...opened, ending: new SessionEnding(opened) }).remove(subject);
      const again = await people.add({ ...new_, name: 'dora', claims: {} });
      assert.ok(again !== undefined);
      assert.deepEqual([await found('beth'), await found('dora')], [[], ['dora']]);
    });

    test('a removed user leaves only the subject identifier, which is never reused', async (t) => {
      const opened = await openDatabase(t, database);
      const { people, sessions, consents, storage } = opened;
      const alice = await addPerson(opened, 'alice');
      const { subject } = alice;
      const session = { id: 'sid-1', subject, amr: ['pwd'], userAgent: '', signedInAtMs: 1, lastSeenAtMs: 1 };
      await sessions.add(session, 'digest-1', 9000, alice);
      const asked = {
        scopes: ['openid'],
        resources: [],
        claims: [],
        details: [],
        clientGeneration: 0,
        clientRevision: 0,
      };
      await giveConsent(opened, { subject, clientId: 'web' }, asked, 1);

      const removal = new PersonRemoval({ ...opened, ending: new SessionEnding(opened) });
      assert.equal(await removal.remove(subject), 1);
      assert.equal(await people.bySubject(subject), undefined);
      assert.deepEqual(await people.list(), []);
      assert.equal(await sessions.bySecret('digest-1'), undefined);
      assert.deepEqual(await consents.ofSubject(subject), []);
      assert.equal(
        await sessions.addFailedSignIn({ subject, reason: 'password_wrong', userAgent: '' }, 2),
        false,
      );
      assert.deepEqual(await sessions.signInsOf(subject, 2), []);
      assert.ok((await storage.getPrincipalState('subject', subject))?.disabledAtMs !== undefined);
      assert.equal(await sessions.add({ ...session, id: 'sid-2' }, 'digest-2', 9000, alice), false);
      // Even if the random generator repeats itself.
      const repeating = t.mock.method(crypto, 'randomBytes', () => Buffer.from(subject, 'base64url'));
      syncBuiltinESMExports();
      const repeated = await people.add({ name: 'alice', passwordHash: '', claims: {} });
      repeating.mock.restore();
      syncBuiltinESMExports();
      assert.equal(repeating.mock.callCount(), 1);
      assert.equal(repeated, undefined);
      assert.notEqual((await addPerson(opened, 'alice')).subject, subject);
    });

    test('a removal that a dead process left half-done is finished, once its time is over', async (t) => {
      const opened = await openDatabase(t, database);
      const { people, storage } = opened;
      const { subject } = await addPerson(opened, 'alice');
      const begunAtMs = Date.now();
      await people.beginRemoval(subject, begunAtMs);
      assert.equal((await people.byName('alice'))?.subject, subject, 'the command can be repeated');
      const removalAt = (nowMs: number) =>
        new PersonRemoval({ ...opened, ending: new SessionEnding(opened), clock: () => nowMs });
      assert.deepEqual(await removalAt(begunAtMs + 30_000).finishHalfRemoved(), []);
      assert.deepEqual(await removalAt(begunAtMs + 30_001).finishHalfRemoved(), [subject]);
      assert.equal(await people.byName('alice'), undefined);
      assert.ok((await storage.getPrincipalState('subject', subject))?.disabledAtMs !== undefined);
      assert.deepEqual(await removalAt(begunAtMs + 60_001).finishHalfRemoved(), [], 'once');
    });
  });
}
