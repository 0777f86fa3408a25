// What the console says about each event.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EVENT_TYPES, type EventType } from '@grantd/core';
import { INACTIVE_REASONS, REFUSAL_REASONS } from '../../core/src/http/errors.ts';
import type { AuditEventView } from '../src/admin/audit.ts';
import { identifiersIn, sentenceOf, TYPE_GROUPS } from '../src/console/sentences.ts';
import { PAGE_REASONS } from '../src/log/page_events.ts';
import { DE, EN, languages, reasonIn, textsIn } from '../src/texts/texts.ts';

const NAMES = {
  user: (subject: string) =>
    new Map([
      ['sub-alice', 'alice'],
      ['sub-root', 'root'],
    ]).get(subject),
  client: (id: string) => new Map([['web', 'Shop']]).get(id),
  keyAlgorithm: (kid: string) => (kid === 'kid-1' ? 'RS256' : undefined),
};

const AT = new Date(0).toISOString();

function event(type: EventType, facts: Partial<AuditEventView> = {}): AuditEventView {
  return { number: 1, at: AT, type, target: 'target', actor: 'cli', ...facts };
}

async function said(of: AuditEventView, language = 'en', names: typeof NAMES = NAMES): Promise<string> {
  const view = { base: '/console', names, nowMs: 0, adminGroup: 'admins' };
  return String(await sentenceOf(of, view, textsIn(language)));
}

const plain = (html: string) => html.replaceAll(/<[^>]*>/g, '');

const ACTORS = [
  ...['cli', 'server', 'anonymous', 'registration', 'user:sub-alice', 'console:sub-root', 'console:gone'],
  ...['client:web', 'api:we%62', 'api:web/sub-root', 'api:%', 'a name of an application'],
];
const FACTS: readonly Partial<AuditEventView>[] = [
  {},
  { subject: 'sub-alice' },
  { subject: 'gone' },
  { client_id: 'web' },
  { subject: 'sub-alice', client_id: 'web', address: '203.0.113.7', reason: 'pwd otp mfa' },
  { subject: 'sub-alice', client_id: 'gone', reason: 'token_exchange:web' },
  { reason: 'jwt_bearer:https://issuer.example', address: '2001:db8::1' },
];

describe('sentences about events', () => {
  test('each type has one, with and without actor, subject, client and address, in each language', async () => {
    for (const type of EVENT_TYPES)
      for (const actor of ACTORS)
        for (const facts of FACTS) {
          const of = event(type, { actor, ...facts });
          const here = `${type} by ${actor}: ${JSON.stringify(facts)}`;
          const sentences = await Promise.all(languages().map((language) => said(of, language)));
          assert.equal(new Set(sentences.map(plain)).size, sentences.length, here);
          for (const html of sentences) {
            const sentence = plain(html);
            assert.doesNotMatch(
              sentence,
              /undefined|\[object|\{\d\}|_| {2}| $|^ |\( |^$/,
              `${here}: ${sentence}`,
            );
            assert.equal(sentence.includes(facts.address ?? ' '), true, `${here}: ${sentence}`);
            // Who acted, unless the sentence is about a sign-in, which is the user’s.
            if (actor === 'console:sub-root' && !/^(signed_in|sign_in_failed|consent_given)$/.test(type))
              assert.match(html, /^<a href="\/console\/users\?sub=sub-root"><bdi>root<\/bdi><\/a> /, here);
          }
        }
  });

  test('users have their names and clients theirs, with links', async () => {
    for (const [facts, expected] of [
      [
        event('signed_in', {
          actor: 'user:sub-root',
          subject: 'sub-root',
          address: '203.0.113.7',
          reason: 'pop user mfa',
        }),
        [
          'root signed in from 203.0.113.7 with a passkey',
          'root hat sich von 203.0.113.7 aus mit einem Passkey angemeldet',
        ],
      ],
      [
        event('client_disabled', { actor: 'console:sub-alice', target: 'web', client_id: 'web' }),
        ['alice disabled the client Shop (web)', 'alice hat die Anwendung Shop (web) deaktiviert'],
      ],
      [
        event('key_rotated', { actor: 'server', target: 'kid-1' }),
        [
          'The server rotated the signing key RS256 (kid-1)',
          'Der Server hat den Signaturschlüssel RS256 (kid-1) gewechselt',
        ],
      ],
      [
        event('sign_in_failed', {
          actor: 'anonymous',
          target: 'sub-alice',
          subject: 'sub-alice',
          client_id: 'web',
        }),
        [
          'A sign-in of alice for Shop (web) failed',
          'Eine Anmeldung von alice für Shop (web) ist fehlgeschlagen',
        ],
      ],
      [
        event('group_member_added', { target: 'a/b/sub-alice', subject: 'sub-alice' }),
        [
          'A command on the server added alice to the group a/b',
          'Ein Befehl auf dem Server hat alice in die Gruppe a/b aufgenommen',
        ],
      ],
      [
        event('group_member_added', {
          ...{ actor: 'console:sub-root', target: 'admins/sub-alice', subject: 'sub-alice' },
          address: '203.0.113.7',
        }),
        [
          'root made alice an administrator (group admins) from 203.0.113.7',
          'root hat von 203.0.113.7 aus alice zum Administrator ernannt (Gruppe admins)',
        ],
      ],
      [
        event('group_member_removed', { target: 'admins/sub-alice', subject: 'sub-alice' }),
        [
          'A command on the server removed alice from the administrators (group admins)',
          'Ein Befehl auf dem Server hat alice als Administrator abgesetzt (Gruppe admins)',
        ],
      ],
      [
        event('token_issued', {
          actor: 'client:web',
          subject: 'sub-alice',
          client_id: 'web',
          reason: 'refresh_token',
        }),
        [
          'The client Shop (web) got tokens for alice with a refresh token',
          'Die Anwendung Shop (web) hat Token für alice mit einem Erneuerungstoken erhalten',
        ],
      ],
      [
        event('identity_assertion_issued', {
          ...{ actor: 'client:web', subject: 'sub-alice', client_id: 'web' },
          reason: 'https://chat.example chat:read',
        }),
        [
          'The client Shop (web) got an identity assertion for alice for the server https://chat.example',
          'Die Anwendung Shop (web) hat einen Identitätsnachweis für alice zur Vorlage bei https://chat.example erhalten',
        ],
      ],
      [
        event('grant_revoked', { actor: 'user:sub-alice', subject: 'sub-alice', client_id: 'web' }),
        ['alice ended the access of Shop (web)', 'alice hat den Zugriff von Shop (web) beendet'],
      ],
      [
        event('grant_revoked', { actor: 'console:sub-root', target: 'g1' }),
        ['root ended the grant g1', 'root hat den Zugriff g1 beendet'],
      ],
      [
        event('family_revoked', {
          ...{ actor: 'client:web', subject: 'sub-alice', client_id: 'web', address: '203.0.113.7' },
        }),
        [
          'The server revoked a refresh token of Shop (web) for alice and its successors, because an old refresh token was used again from 203.0.113.7',
          'Der Server hat ein Erneuerungstoken von Shop (web) für alice und seine Nachfolger widerrufen wegen der erneuten Benutzung eines alten Erneuerungstokens von 203.0.113.7 aus',
        ],
      ],
      [
        event('session_revoked', { actor: 'user:sub-alice', subject: 'sub-alice', reason: 'password_set' }),
        [
          'alice revoked the tokens of a session, because the password changed',
          'alice hat die Token einer Sitzung widerrufen, weil sich das Passwort geändert hat',
        ],
      ],
      [
        event('person_changed', { actor: 'user:sub-alice', target: 'sub-alice', subject: 'sub-alice' }),
        ['alice changed their own data', 'alice hat die eigenen Daten geändert'],
      ],
      [
        event('client_added', { actor: 'registration', target: 'web', client_id: 'web' }),
        ['The client Shop (web) registered itself', 'Die Anwendung Shop (web) hat sich selbst registriert'],
      ],
      [
        event('person_removed', { actor: 'api:web/sub-root', target: 'gone', subject: 'gone' }),
        [
          'root, with Shop (web) removed the user gone',
          'root, mit Shop (web), hat den Benutzer gone entfernt',
        ],
      ],
    ] as const) {
      const sentences = await Promise.all(['en', 'de'].map((language) => said(facts, language)));
      assert.deepEqual(sentences.map(plain), expected);
    }
    assert.match(
      await said(event('client_changed', { target: 'web' })),
      /<a href="\/console\/clients\?id=web"><bdi>Shop<\/bdi> \(<bdi>web<\/bdi>\)<\/a>/,
    );
    // One who was removed keeps the subject, which leads nowhere.
    assert.match(
      await said(event('person_removed', { target: 'gone', subject: 'gone' })),
      /<span class="gone"><code class="identifier" title="gone">gone<\/code><\/span>/,
    );
  });

  test('everything that a sentence looks up is looked up for the page at once', async () => {
    for (const type of EVENT_TYPES)
      for (const actor of ACTORS)
        for (const facts of FACTS) {
          const of = event(type, { actor, ...facts });
          const { subjects, clientIds, kids } = identifiersIn([of]);
          const known = [new Set(subjects), new Set(clientIds), new Set(kids)] as const;
          const asked = (of: ReadonlySet<string>) => (id: string) => {
            assert.ok(of.has(id) || id === '', `${type} by ${actor}: ${id}`);
            return undefined;
          };
          await said(of, 'en', {
            ...{ user: asked(known[0]), client: asked(known[1]), keyAlgorithm: asked(known[2]) },
          });
        }
  });

  test('the filter has each type in one group', () => {
    assert.deepEqual([...TYPE_GROUPS.values()].flat().toSorted(), [...EVENT_TYPES].toSorted());
  });
});

const REASON_LISTS: readonly Readonly<Record<string, string>>[] = [
  REFUSAL_REASONS,
  INACTIVE_REASONS,
  PAGE_REASONS,
];

test('each reason code has a sentence of its own in each language', () => {
  const codes = REASON_LISTS.flatMap((list) => Object.keys(list));
  assert.ok(codes.length > 200);
  for (const code of codes) {
    const [german, english] = [reasonIn(DE, code), reasonIn(EN, code)];
    for (const sentence of [german, english]) assert.match(sentence ?? '', /^\p{L}.*\.$/u, code);
    assert.notEqual(german, english, code);
  }
  assert.equal(new Set(Object.values(DE.console.reasons)).size, Object.keys(DE.console.reasons).length);
  for (const text of ['no such code', 'constructor']) assert.equal(reasonIn(EN, text), undefined);
});

test('a reason code of several lists has the same sentence in each', () => {
  for (const list of REASON_LISTS)
    for (const [code, sentence] of Object.entries(list)) assert.equal(reasonIn(EN, code), sentence);
});
