// Operations of the admin API on factors, links, emails, secrets of the server and tokens for registration.
import {
  DEFAULT_REGISTRATION_TOKEN_LIFETIME,
  listUnusedClients,
  newRegistrationToken,
  removeUnusedClients,
} from '../operations/clients.ts';
import { listFactors, listLinks } from '../operations/factors.ts';
import { locksOf, unlockPerson } from '../operations/locks.ts';
import { listMails, retryMail } from '../operations/mails.ts';
import { confirmFactors, requireSubject, resetFactors, unlinkPerson } from '../operations/people.ts';
import { dropSecrets, recordSecrets, rotateSecrets, secretStatus } from '../operations/secrets.ts';
import {
  type ApiOperation,
  requireAnother,
  requireEveryScope,
  requireIfAdministrator,
} from './api_operation.ts';
import { shownFactors, shownLink, shownLock, shownMail, shownSecret } from './representations.ts';
import * as schemas from './schemas.ts';

const FACTOR_OPERATIONS: readonly ApiOperation[] = [
  {
    id: 'getFactors',
    method: 'GET',
    path: '/users/{sub}/factors',
    scope: 'grantd:users:read',
    summary: 'Show the factors of a user: passkeys, authenticator app and recovery codes',
    status: 200,
    response: schemas.FACTORS,
    async perform({ parts, path: { sub = '' } }) {
      return { body: shownFactors(await listFactors(parts, await requireSubject(parts, sub))) };
    },
  },
  {
    id: 'resetFactors',
    method: 'DELETE',
    path: '/users/{sub}/factors',
    scope: 'grantd:users:write',
    summary:
      'Remove a user’s factors (passkeys, authenticator app and recovery codes), end their sessions and revoke all their tokens',
    status: 200,
    response: schemas.RESET_FACTORS,
    async perform(call) {
      const { parts, path } = call;
      const person = await requireSubject(parts, path.sub ?? '');
      requireIfAdministrator(call, person.groups);
      requireAnother(call, person);
      const { wereThere, ended } = await resetFactors(parts, person);
      return { body: { factors_removed: wereThere, sessions_ended: ended } };
    },
  },
  {
    id: 'confirmFactors',
    method: 'POST',
    path: '/users/{sub}/factors/confirm',
    scope: 'grantd:users:write',
    summary:
      'Let the factors of a user count at once that the user has added or removed with a recovery code',
    status: 200,
    response: schemas.CONFIRMED_FACTORS,
    async perform(call) {
      const { parts, path } = call;
      const person = await requireSubject(parts, path.sub ?? '');
      requireIfAdministrator(call, person.groups);
      requireAnother(call, person);
      return { body: { factors_confirmed: await confirmFactors(parts, person) } };
    },
  },
  {
    id: 'listLinks',
    method: 'GET',
    path: '/users/{sub}/links',
    scope: 'grantd:users:read',
    summary: 'List the links of a user: accounts at identity providers with which the user can sign in',
    status: 200,
    response: schemas.LINKS,
    async perform({ parts, path: { sub = '' } }) {
      const links = await listLinks(parts, await requireSubject(parts, sub));
      return { body: { items: links.map(shownLink) } };
    },
  },
  {
    id: 'removeLink',
    method: 'DELETE',
    path: '/users/{sub}/links/{link}',
    scope: 'grantd:users:write',
    summary:
      'Remove a user’s link to an account at an identity provider, and end the sessions in which the user signed in with this account',
    status: 200,
    response: schemas.REMOVED_LINK,
    async perform(call) {
      const { parts, path } = call;
      const person = await requireSubject(parts, path.sub ?? '');
      requireIfAdministrator(call, person.groups);
      requireAnother(call, person);
      const { provider, label, ended } = await unlinkPerson(parts, person, path.link ?? '');
      return { body: { provider, label, sessions_ended: ended } };
    },
  },
  {
    id: 'listLocks',
    method: 'GET',
    path: '/users/{sub}/locks',
    scope: 'grantd:users:read',
    summary:
      'Show which steps of a sign-in the server refuses to a user after too many attempts, and until when',
    status: 200,
    response: schemas.LOCKS,
    async perform({ parts, path: { sub = '' } }) {
      const locks = await locksOf(parts, await requireSubject(parts, sub));
      return { body: { items: locks.map(shownLock) } };
    },
  },
  {
    id: 'unlockUser',
    method: 'DELETE',
    path: '/users/{sub}/locks',
    scope: 'grantd:users:write',
    summary:
      'Let a user sign in again after too many attempts. The counts of wrong passwords and codes start again everywhere. The response has what was refused',
    status: 200,
    response: schemas.LOCKS,
    async perform(call) {
      const { parts, path } = call;
      const person = await requireSubject(parts, path.sub ?? '');
      requireIfAdministrator(call, person.groups);
      return { body: { items: (await unlockPerson(parts, person)).map(shownLock) } };
    },
  },
];

const MAIL_OPERATIONS: readonly ApiOperation[] = [
  {
    id: 'listMails',
    method: 'GET',
    path: '/mails',
    scope: 'grantd:mail:read',
    summary: 'List the emails that wait to be sent or have failed, newest first, at most 1000',
    query: {
      failed: {
        schema: { enum: ['true', 'false'] },
        about: 'Whether to list only emails that the server no longer tries to send.',
      },
    },
    status: 200,
    response: schemas.MAILS,
    async perform({ parts, query }) {
      return { body: { items: (await listMails(parts, query.failed === 'true')).map(shownMail) } };
    },
  },
  {
    id: 'retryMail',
    method: 'POST',
    path: '/mails/{mail}/retry',
    scope: 'grantd:mail:write',
    summary: 'Try again to send an email that has failed',
    status: 204,
    async perform({ parts, path }) {
      await retryMail(parts, path.mail ?? '');
      return {};
    },
  },
  {
    id: 'testMail',
    method: 'POST',
    path: '/mails/test',
    scope: 'grantd:mail:write',
    summary:
      'Send a test email at once, without the queue of emails. The response shows what the SMTP server answered',
    body: schemas.TEST_MAIL,
    status: 200,
    response: schemas.SENT_TEST,
    async perform({ parts, body }) {
      const { address } = body as { readonly address: string };
      return { body: await parts.testMail(address.trim()) };
    },
  },
];

const SECRET_OPERATIONS: readonly ApiOperation[] = [
  {
    id: 'listSecrets',
    method: 'GET',
    path: '/secrets',
    scope: 'grantd:secrets:read',
    summary:
      'List the server’s secrets by their fingerprints, with the clients, keys and other data that depend on each. The secrets themselves are not shown',
    status: 200,
    response: schemas.SECRETS,
    perform: async ({ parts }) => ({ body: { items: (await secretStatus(parts)).map(shownSecret) } }),
  },
  {
    id: 'rotateSecrets',
    method: 'POST',
    path: '/secrets/rotate',
    scope: 'grantd:secrets:write',
    summary:
      'Add a new secret to the start of the file with the server’s secrets. Until you restart or reload the server, it uses only the old ones',
    body: schemas.SECRETS_ROTATION,
    isBodyOptional: true,
    status: 200,
    response: schemas.ROTATED_SECRETS,
    async perform(call) {
      const { parts, body } = call;
      const { generate = false } = (body ?? {}) as { readonly generate?: boolean };
      // Whoever knows the secret can make every token.
      if (generate) requireEveryScope(call);
      const rotation = await rotateSecrets(parts, generate);
      if ('file' in rotation)
        await recordSecrets(parts, 'server_secret_rotated', [rotation.fingerprint], parts.actor);
      return { body: rotation };
    },
  },
  {
    id: 'dropSecrets',
    method: 'POST',
    path: '/secrets/drop',
    scope: 'grantd:secrets:write',
    summary:
      'Remove all secrets except the first from the file with the server’s secrets. Until you restart or reload the server, it still accepts the removed ones',
    body: schemas.SECRETS_DROP,
    isBodyOptional: true,
    status: 200,
    response: schemas.DROPPED_SECRETS,
    async perform({ parts, body }) {
      const { force = false } = (body ?? {}) as { readonly force?: boolean };
      const outcome = await dropSecrets(parts, force);
      if ('source' in outcome) {
        const { canBeDropped, ...others } = outcome;
        return { body: { ...others, can_be_dropped: canBeDropped } };
      }
      await recordSecrets(parts, 'server_secret_dropped', outcome.dropped, parts.actor);
      return { body: outcome };
    },
  },
];

export const UPKEEP_OPERATIONS: readonly ApiOperation[] = [
  ...FACTOR_OPERATIONS,
  ...MAIL_OPERATIONS,
  ...SECRET_OPERATIONS,
  {
    id: 'listUnusedClients',
    method: 'GET',
    path: '/unused-clients',
    scope: 'grantd:clients:read',
    summary: 'List clients that registered themselves and that nobody has used since a time',
    query: {
      unused_since: {
        schema: schemas.TIME,
        about: 'Only clients that were not in use after this time. Default: the time of the request.',
      },
    },
    status: 200,
    response: schemas.UNUSED_CLIENTS,
    async perform({ parts, query }) {
      const unused = await listUnusedClients(parts, secondsAt(query.unused_since));
      const items = unused.map(({ id, name, usedUntil }) => ({
        client_id: id,
        ...(name !== undefined && { client_name: name }),
        unused_since: new Date(usedUntil * 1000).toISOString(),
      }));
      return { body: { items } };
    },
  },
  {
    id: 'removeUnusedClients',
    method: 'POST',
    path: '/unused-clients/remove',
    scope: 'grantd:clients:write',
    summary: 'Remove those of these clients that registered themselves and that nobody has used since a time',
    body: schemas.UNUSED_CLIENTS_ORDER,
    status: 200,
    response: schemas.REMOVED_CLIENTS,
    async perform({ parts, body }) {
      const { client_ids: ids, unused_since: time } = body as {
        readonly client_ids: readonly string[];
        readonly unused_since: string;
      };
      return { body: { removed: await removeUnusedClients(parts, ids, secondsAt(time)) } };
    },
  },
  {
    id: 'newRegistrationToken',
    method: 'POST',
    path: '/registration-tokens',
    scope: 'grantd:clients:write',
    summary: 'Make an initial access token, with which clients can register themselves',
    body: schemas.REGISTRATION_TOKEN_ORDER,
    isBodyOptional: true,
    status: 200,
    response: schemas.REGISTRATION_TOKEN,
    async perform({ parts, body }) {
      const { lifetime = DEFAULT_REGISTRATION_TOKEN_LIFETIME, once = false } = (body ?? {}) as {
        readonly lifetime?: number;
        readonly once?: boolean;
      };
      const { token, expiresAtMs, warnings } = await newRegistrationToken(parts, lifetime, once);
      return { body: { token, expires_at: new Date(expiresAtMs).toISOString(), once, warnings } };
    },
  },
];

function secondsAt(time: string | undefined, clock: () => number = Date.now): number {
  return Math.floor((time === undefined ? clock() : Date.parse(time)) / 1000);
}
