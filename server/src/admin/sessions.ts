// Sessions and access of users: browser sessions, grants that outlive them, and consents.

import type { UsableGrant } from '@grantd/core';
import type { Consent } from '../data/consents.ts';
import type { Person } from '../data/people.ts';
import type { StoredSession } from '../data/sessions.ts';
import { askStorage } from '../data/tables.ts';
import { type ActingClient, actingFor } from '../people/acting.ts';
import { ConsentWithdrawal } from '../people/consents.ts';
import { validSessions } from '../people/session_validity.ts';
import { requireSubject } from './groups.ts';
import { change, operation } from './operation.ts';
import { OperationRefused } from './operation_refused.ts';
import {
  count,
  flag,
  list,
  named,
  object,
  text,
  texts,
  time,
  timeOf,
  type ValueOf,
  whole,
} from './schema.ts';
import { asPermitted, consentsOf, endAccess, endSession, endSessions } from './user_rules.ts';

const session = {
  id: text('The ID of the session. DELETE /users/{sub}/sessions/{session} takes it.'),
  user_agent: text('The browser, as its header User-Agent names it.'),
  signed_in_at: time('When the user signed in.'),
  last_seen_at: time('When the browser last used the session.'),
};
const SESSION = object(session);
export type SessionView = ValueOf<typeof SESSION>;
const SESSIONS = whole('Sessions', SESSION, 'The user’s sessions in browsers.');

export const endedSessions = count('Number of sessions that the request ended.');
export const ENDED_SESSIONS = named('EndedSessions', object({ sessions_ended: endedSessions }));
const SESSIONS_END = named(
  'SessionsEnd',
  object({
    sessions_ended: endedSessions,
    remaining_grants: list(
      object({
        id: text('The ID of the grant. POST /tokens/revoke-all takes it.'),
        client_id: text('The client that has the grant.'),
      }),
      'Grants that no session ends, such as those with offline_access. Their tokens stay active.',
    ),
  }),
);

const ENDED_SESSION = named('EndedSession', object(session));

const GRANT = object({
  id: text('The ID of the grant. POST /tokens/revoke-all takes it.'),
  client_id: text('The client that has the grant.'),
  scopes: texts('The scopes of the grant.'),
  resources: texts('URIs of the APIs that its live tokens are for.'),
  created_at: time('When the grant began.'),
});
export type GrantView = ValueOf<typeof GRANT>;
const GRANTS = whole('Grants', GRANT, 'The grants of the user with live tokens.');

const ACTING = object({
  client_id: text('The ID of the client that acts.'),
  applications: texts('The IDs of the clients through which it acts.'),
  scopes: texts('The scopes of its live tokens for the user.'),
  resources: texts('URIs of the APIs that these tokens are for.'),
  agent: flag('Whether the operator says that it is an agent.'),
  active: flag('Whether it has live tokens for the user.'),
  since: time('When it first acted.'),
  last_used_at: time('The beginning of the hour in which it last acted.'),
});
export type ActingView = ValueOf<typeof ACTING>;
const ACTING_CLIENTS = whole(
  'ActingClients',
  ACTING,
  'Clients that obtained tokens for the user by token exchange in the last 30 days, the latest first.',
);

const CONSENT = object({
  client_id: text('The ID of the client.'),
  entries: list(
    object({
      scopes: texts('The scopes that the user allowed.'),
      resources: texts('URIs of the APIs that the user allowed.'),
      claims: texts('The claims that the client requested by name, and that the user allowed.'),
      authorization_details: list<Readonly<Record<string, unknown>>>(
        { type: 'object' },
        'The authorization details that the user allowed.',
      ),
      given_at: time('When the user decided.'),
    }),
    'What the user has allowed this client, one object per decision.',
  ),
});
export type ConsentView = ValueOf<typeof CONSENT>;
const WITHDRAWN_CONSENT = named(
  'WithdrawnConsent',
  object({
    client_id: text('The ID of the client.'),
    grants_ended: count('Number of grants and exchanged tokens that ended with the consent.'),
  }),
);
const CONSENTS = whole('Consents', CONSENT, 'What the user has allowed clients, one object per client.');

function sessionView({ id, userAgent, signedInAtMs, lastSeenAtMs }: StoredSession): SessionView {
  return {
    ...{ id, user_agent: userAgent },
    ...{ signed_in_at: timeOf(signedInAtMs), last_seen_at: timeOf(lastSeenAtMs) },
  };
}

function grantView({ id, clientId, scopes, resources = [], createdAtMs }: UsableGrant): GrantView {
  return { id, client_id: clientId, scopes, resources: [...resources], created_at: timeOf(createdAtMs) };
}

function actingView(
  { clientId, isActive, sinceMs, lastUsedMs, ...client }: ActingClient,
  agent: boolean,
): ActingView {
  return {
    ...{ client_id: clientId, ...client, agent, active: isActive },
    ...{ since: timeOf(sinceMs), last_used_at: timeOf(lastUsedMs) },
  };
}

function consentView({ clientId, entries }: Consent): ConsentView {
  return {
    client_id: clientId,
    entries: entries.map(({ scopes, resources, claims, details, givenAtMs }) => ({
      ...{ scopes, resources, claims },
      authorization_details: details.map((detail): ConsentDetail => JSON.parse(detail)),
      given_at: timeOf(givenAtMs),
    })),
  };
}

/** For what commands print. */
export function sessionsInWords(sessions: number): string {
  return sessions === 1 ? '1 session' : `${sessions} sessions`;
}

function noSession({ name }: Pick<Person, 'name'>, id: string): OperationRefused {
  return new OperationRefused(
    'not_found',
    ['no_session', name, id],
    `grantd user show ${name} shows all sessions`,
  );
}

type ConsentDetail = ConsentView['entries'][number]['authorization_details'][number];

export const SESSION_OPERATIONS = {
  listSessions: operation({
    method: 'GET',
    path: '/users/{sub}/sessions',
    scope: 'grantd:users:read',
    summary: 'List the browser sessions of a user, the most recently used first',
    status: 200,
    output: SESSIONS,
    async perform(parts, { sub }) {
      const { subject } = await requireSubject(parts, sub);
      return { document: { items: (await validSessions(parts, subject, parts.clock())).map(sessionView) } };
    },
  }),
  endSessions: change({
    method: 'DELETE',
    path: '/users/{sub}/sessions',
    scope: 'grantd:users:write',
    summary:
      'End all browser sessions of a user, and revoke the tokens that depend on them at once. Grants that no session ends stay, such as those with offline_access: the response lists them, and POST /users/{sub}/end-access ends them too',
    status: 200,
    output: SESSIONS_END,
    command: {
      line: 'user end-sessions <sub>',
      about:
        'end all browser sessions of a user, and revoke the tokens that depend on them at once. Access with offline_access stays: grantd user end-access ends it too',
      lines({ sessions_ended: ended, remaining_grants: remaining }, { username }) {
        const clients = [...new Set(remaining.map(({ client_id: id }) => id))].sort();
        const done =
          ended === 0
            ? `${username} was not signed in anywhere`
            : `ended ${sessionsInWords(ended)} of ${username}`;
        if (clients.length === 0) return done;
        return [
          done,
          `${clients.join(', ')} still ${clients.length === 1 ? 'has' : 'have'} tokens that do not depend on a session (offline_access): grantd user end-access ${username} ends them too`,
        ];
      },
    },
    async prepare(parts, { sub }) {
      const person = await requireSubject(parts, sub);
      parts.caller.requirePerson(person);
      return person;
    },
    async write(parts, person) {
      const { ended, remaining } = await endSessions(parts, person);
      const grants = remaining.map(({ id, clientId }) => ({ id, client_id: clientId }));
      return { document: { sessions_ended: ended, remaining_grants: grants } };
    },
  }),
  endSession: change({
    method: 'DELETE',
    path: '/users/{sub}/sessions/{session}',
    scope: 'grantd:users:write',
    summary:
      'End one browser session of a user, and revoke the tokens that depend on it at once. The response shows the session',
    status: 200,
    output: ENDED_SESSION,
    command: {
      line: 'user end-session <sub> <session>',
      about: 'end one browser session of a user, and revoke the tokens that depend on it at once',
      notes: `SESSION is the identifier of the session, which grantd user show prints.

  grantd user end-session alice xT2kq0…`,
      lines: ({ user_agent: browser, signed_in_at: since }, { username }) =>
        `ended the session of ${username} since ${since} in ${browser === '' ? 'an unknown browser' : browser}`,
    },
    async prepare(parts, { sub, session: id }) {
      const person = await requireSubject(parts, sub);
      parts.caller.requirePerson(person);
      const sessions = await validSessions(parts, person.subject, parts.clock());
      const session = sessions.find((one) => one.id === id);
      if (session === undefined) throw noSession(person, id);
      return { person, session };
    },
    async write(parts, { person, session }) {
      if (!(await endSession(parts, person, session.id))) throw noSession(person, session.id);
      return { document: sessionView(session) };
    },
  }),
  endAccess: change({
    method: 'POST',
    path: '/users/{sub}/end-access',
    scope: 'grantd:users:write',
    summary:
      'End all access of a user at once: all sessions, and all tokens and codes, including those with offline_access. The user can sign in again',
    status: 200,
    output: ENDED_SESSIONS,
    command: {
      line: 'user end-access <sub>',
      about:
        'end all access of a user at once: all sessions, and all tokens, including those with offline_access. The user can sign in again',
      lines: ({ sessions_ended: ended }, { username }) =>
        `ended ${sessionsInWords(ended)} of ${username} and revoked all their tokens`,
    },
    async prepare(parts, { sub }) {
      const person = await requireSubject(parts, sub);
      parts.caller.requirePerson(person);
      return person;
    },
    write: async (parts, person) => ({
      document: {
        sessions_ended: (
          await endAccess(parts, person, undefined, (work) => asPermitted(parts, person, work))
        ).ended,
      },
    }),
  }),
  listGrants: operation({
    method: 'GET',
    path: '/users/{sub}/grants',
    scope: 'grantd:users:read',
    summary:
      'List the grants of a user with live tokens or a code that was not redeemed yet, the newest first: the access that clients have now',
    status: 200,
    output: GRANTS,
    async perform(parts, { sub }) {
      const { subject } = await requireSubject(parts, sub);
      const grants = await askStorage(() => parts.storage.grantsOf(subject));
      const newestFirst = grants.toSorted((one, other) => other.createdAtMs - one.createdAtMs);
      return { document: { items: newestFirst.map(grantView) } };
    },
  }),
  listActing: operation({
    method: 'GET',
    path: '/users/{sub}/acting',
    scope: 'grantd:users:read',
    summary: 'List the services and agents that act for a user, or have done so in the last 30 days',
    status: 200,
    output: ACTING_CLIENTS,
    async perform(parts, { sub }) {
      const { subject } = await requireSubject(parts, sub);
      const clients = await askStorage(() => actingFor(parts.storage, parts.actingUses, subject));
      const items = clients.map(async (client) => {
        const record = await parts.storage.clients.get(client.clientId);
        return actingView(client, record?.metadata?.kind === 'agent');
      });
      return { document: { items: await Promise.all(items) } };
    },
  }),
  listConsents: operation({
    method: 'GET',
    path: '/users/{sub}/consents',
    scope: 'grantd:users:read',
    summary:
      'List the consents of a user, as far as they are still valid: what clients get without asking the user again. A client with a consent but no grant has no access now',
    status: 200,
    output: CONSENTS,
    async perform(parts, { sub }) {
      const { subject } = await requireSubject(parts, sub);
      return { document: { items: (await consentsOf(parts, subject)).map(consentView) } };
    },
  }),
  withdrawConsent: change({
    method: 'DELETE',
    path: '/users/{sub}/consents/{client}',
    scope: 'grantd:users:write',
    summary:
      'Withdraw a user’s consent to a client, and revoke what the client has for the user. The client then asks the user again',
    status: 200,
    output: WITHDRAWN_CONSENT,
    command: {
      line: 'user withdraw-consent <sub> <client>',
      about:
        'withdraw the consent of a user to a client, and revoke what the client has for the user. The client then asks the user again',
      notes: `CLIENT is the ID of a client, which grantd user show prints.

  grantd user withdraw-consent alice web-shop`,
      lines: ({ client_id: clientId, grants_ended: ended }, { username }) =>
        `withdrew the consent of ${username} to ${clientId}, and ended ${ended === 1 ? '1 grant' : `${ended} grants`}`,
    },
    async prepare(parts, { sub, client: clientId }) {
      const person = await requireSubject(parts, sub);
      parts.caller.requirePerson(person);
      const given = await parts.consents.get({ subject: person.subject, clientId });
      if (given !== undefined) return { person, clientId };
      throw new OperationRefused(
        'not_found',
        ['no_consent', person.name, clientId],
        `grantd user show ${person.name} shows all consents`,
      );
    },
    async write(parts, { person, clientId }) {
      const parties = { subject: person.subject, clientId };
      const withdraw = () => new ConsentWithdrawal(parts).withdraw(parties);
      const ended = await asPermitted(parts, person, withdraw);
      return { document: { client_id: clientId, grants_ended: ended } };
    },
  }),
};
