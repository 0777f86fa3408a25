import { counts } from '../consents/asked_consent.ts';
import type { Consent } from '../consents/consents.ts';
import { Refused } from '../instance/refused.ts';
import { claimsOf } from '../people/claims.ts';
import type { Person } from '../people/people.ts';
import { PersonRemoval } from '../people/removal.ts';
import { SessionEnding } from '../sessions/session_ending.ts';
import { labelled, printOne, timeOf } from './output.ts';
import { requirePerson } from './require_person.ts';
import type { CommandParts } from './with_instance.ts';

/** Ends all sessions of a person; a server that runs on the database tells the applications. @returns how many */
export async function endSessionsOf(
  { sessions, storage }: CommandParts,
  { subject }: Person,
): Promise<number> {
  return (await new SessionEnding({ sessions, storage }).end({ subject })).length;
}

export async function endSessions(parts: CommandParts, name: string): Promise<void> {
  const person = await requirePerson(parts, name);
  const ended = await endSessionsOf(parts, person);
  const lines = [
    ended === 0 ? `${name} was not signed in anywhere` : `ended ${sessionsInWords(ended)} of ${name}`,
  ];
  printOne(parts, { name, sub: person.subject, sessionsEnded: ended }, lines);
}

export async function setPassword(parts: CommandParts, name: string, passwordHash: string): Promise<void> {
  const person = await requirePerson(parts, name);
  if (!(await parts.people.setPasswordHash(person.subject, passwordHash)))
    throw new Refused(`there is no person ${name} any more.`);
  // After it: no session begins with the former one any more.
  const ended = await endSessionsOf(parts, person);
  // Whoever had the former one may have granted themselves what outlives every session.
  await parts.storage.revokeAll({ principal: 'subject', id: person.subject });
  printOne(parts, { name, sub: person.subject, sessionsEnded: ended }, [
    `${name} has another password; ${sessionsInWords(ended)} ended, and all their tokens are dead`,
  ]);
}

/** @throws {Refused} there is no such person */
export async function removePerson(parts: CommandParts, name: string): Promise<void> {
  const { name: kept, subject } = await requirePerson(parts, name);
  const { people, consents, storage } = parts;
  const ending = new SessionEnding(parts);
  const ended = await new PersonRemoval({ people, consents, ending, storage }).remove(subject);
  printOne(parts, { name: kept, sub: subject, removed: true, sessionsEnded: ended }, [
    `removed ${kept}; ${sessionsInWords(ended)} ended, and all their tokens are dead; sub ${subject} is never given again`,
  ]);
}

export async function showPerson(parts: CommandParts, name: string): Promise<void> {
  const person = await requirePerson(parts, name);
  const { subject } = person;
  const [state, sessions, consents] = await Promise.all([
    parts.storage.getPrincipalState('subject', subject),
    parts.sessions.ofSubject(subject),
    consentsOf(parts, subject),
  ]);
  const shown = {
    name: person.name,
    sub: subject,
    claims: claimsOf(person),
    createdAt: timeOf(person.createdAtMs),
    disabledAt: timeOf(state?.disabledAtMs),
    sessions: sessions.map(({ id, userAgent, signedInAtMs, lastSeenAtMs }) => ({
      id,
      userAgent,
      signedInAt: timeOf(signedInAtMs),
      lastSeenAt: timeOf(lastSeenAtMs),
    })),
    consents: consents.map(({ clientId, entries }) => ({
      clientId,
      entries: entries.map(({ scopes, resources, claims, givenAtMs }) => ({
        ...{ scopes, resources, claims },
        givenAt: timeOf(givenAtMs),
      })),
    })),
  };
  printOne(parts, shown, [
    ...labelled({
      name: shown.name,
      sub: subject,
      added: shown.createdAt,
      disabled: shown.disabledAt,
    }),
    ...Object.entries(shown.claims).map(([claim, value]) => `claim ${claim}: ${JSON.stringify(value)}`),
    ...shown.sessions.map(
      (one) =>
        `session ${one.id}: signed in ${one.signedInAt}, last seen ${one.lastSeenAt}, ${one.userAgent}`,
    ),
    ...shown.consents.flatMap(({ clientId, entries }) =>
      entries.map(({ scopes, resources, givenAt }) =>
        [`${clientId} since ${givenAt}: ${scopes.join(' ')}`, ...resources].join(', for '),
      ),
    ),
  ]);
}

/** Those that count. */
async function consentsOf({ consents, storage }: CommandParts, subject: string): Promise<readonly Consent[]> {
  const given = await consents.ofSubject(subject);
  const clients = await Promise.all(given.map(({ clientId }) => storage.clients.get(clientId)));
  return given.filter((consent, index) => counts(consent, clients[index]));
}

function sessionsInWords(count: number): string {
  return count === 1 ? '1 session' : `${count} sessions`;
}
