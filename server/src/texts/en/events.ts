// What each event of the audit trail says, in English.
import type { EventType } from '@grantd/core';
import { html } from 'hono/html';
import type { EndingReason } from '../../people/sessions.ts';
import type { Html } from '../formats/html.ts';
import { FORMATS as formats } from './formats.ts';

/**
 * A sentence about an event.
 * @param actor who acted, at the beginning of the sentence
 * @param it what the event is about
 * @param from where the request came from, with a space before it; or nothing
 * @param other a second thing that the event names: a group, a provider, how it was done; or nothing
 */
export type EventSentence = (actor: Html, it: Html, from: Html, other: Html) => Html;

/** The codes that say why something ended. */
type EndReason =
  | EndingReason
  | 'refresh_token_reused'
  | 'code_reused'
  | 'consent_withdrawn'
  | 'groups_changed'
  | 'beyond_policy';

/** What is counted in an act: types of events, and memberships of the group of administrators. */
export type CountedKind = EventType | 'administrator_made' | 'administrator_removed';

/** Sentences about users who change something of their own. */
type OwnType = Extract<
  EventType,
  `person${string}` | `session_${string}` | `client_${string}` | `consent_${string}`
>;

const SENTENCES: Readonly<Record<CountedKind, EventSentence>> = {
  client_added: (actor, client, from) => html`${actor} added the client ${client}${from}`,
  client_changed: (actor, client, from) => html`${actor} changed the client ${client}${from}`,
  client_secret_rotated: (actor, client, from) =>
    html`${actor} changed the secrets of the client ${client}${from}`,
  client_removed: (actor, client, from) => html`${actor} removed the client ${client}${from}`,
  client_disabled: (actor, client, from) => html`${actor} disabled the client ${client}${from}`,
  client_enabled: (actor, client, from) => html`${actor} enabled the client ${client}${from}`,
  client_revoked: (actor, client, from) => html`${actor} revoked all tokens of the client ${client}${from}`,
  server_secret_rotated: (actor, secret, from) =>
    html`${actor} made ${secret} the new secret of the server${from}`,
  server_secret_dropped: (actor, secret, from) => html`${actor} dropped the server secret ${secret}${from}`,
  key_rotated: (actor, key, from) => html`${actor} rotated the signing key ${key}${from}`,
  person_added: (actor, user, from) => html`${actor} added the user ${user}${from}`,
  person_changed: (actor, user, from) => html`${actor} changed the data of ${user}${from}`,
  person_password_set: (actor, user, from) => html`${actor} set the password of ${user}${from}`,
  person_removed: (actor, user, from) => html`${actor} removed the user ${user}${from}`,
  person_linked: (actor, user, from, provider) =>
    html`${actor} connected ${user} with an account at ${provider}${from}`,
  person_unlinked: (actor, user, from, provider) =>
    html`${actor} disconnected ${user} from an account at ${provider}${from}`,
  person_factor_added: (actor, user, from, factor) => html`${actor} added ${factor} of ${user}${from}`,
  person_factor_removed: (actor, user, from, factor) => html`${actor} removed ${factor} of ${user}${from}`,
  person_factors_reset: (actor, user, from) =>
    html`${actor} removed all factors and recovery codes of ${user}${from}`,
  person_factors_confirmed: (actor, user, from) => html`${actor} confirmed the new factors of ${user}${from}`,
  person_unlocked: (actor, user, from) => html`${actor} unlocked ${user}${from}`,
  person_recovery_codes_made: (actor, user, from) =>
    html`${actor} made new recovery codes for ${user}${from}`,
  person_recovery_code_used: (actor, user, from) => html`${actor} used a recovery code of ${user}${from}`,
  personal_token_made: (actor, user, from) => html`${actor} made a personal access token for ${user}${from}`,
  people_imported: (actor, user, from) => html`${actor} imported the user ${user}${from}`,
  group_added: (actor, group, from) => html`${actor} added the group ${group}${from}`,
  group_changed: (actor, group, from) => html`${actor} changed the group ${group}${from}`,
  group_removed: (actor, group, from) => html`${actor} removed the group ${group}${from}`,
  group_member_added: (actor, user, from, group) => html`${actor} added ${user} to the group ${group}${from}`,
  group_member_removed: (actor, user, from, group) =>
    html`${actor} removed ${user} from the group ${group}${from}`,
  administrator_made: (actor, user, from, group) =>
    html`${actor} made ${user} an administrator (group ${group})${from}`,
  administrator_removed: (actor, user, from, group) =>
    html`${actor} removed ${user} from the administrators (group ${group})${from}`,
  scope_texts_changed: (actor, scope, from) => html`${actor} changed the texts of the scope ${scope}${from}`,
  documents_denied: (actor, rule, from) => html`${actor} denied the client documents of ${rule}${from}`,
  documents_allowed: (actor, rule, from) =>
    html`${actor} allowed the client documents of ${rule} again${from}`,
  signed_in: (_, user, from, ways) => html`${user} signed in${from}${ways}`,
  sign_in_failed: (_, user, from, client) => html`A sign-in of ${user}${client}${from} failed`,
  session_ended: (actor, whose, from, why) => html`${actor} ended a session${whose}${from}${why}`,
  session_revoked: (actor, whose, from, why) =>
    html`${actor} revoked the tokens of a session${whose}${from}${why}`,
  consent_given: (_, user, from, client) => html`${user} gave the client ${client} access${from}`,
  consent_withdrawn: (actor, user, from, client) =>
    html`${actor} withdrew the consent of ${user} for the client ${client}${from}`,
  password_link_requested: (actor, user, from) =>
    html`${actor} had a link emailed to ${user} to choose a new password${from}`,
  mailed_link_made: (actor, whose, from, purpose) =>
    html`${actor} had a link emailed${whose}${from}${purpose}`,
  mailed_link_used: (actor, whose, from, purpose) =>
    html`${actor} used a link from an email${whose}${from}${purpose}`,
  mail_retried: (actor, mail, from) => html`${actor} tried again to send the email ${mail}${from}`,
  pairwise_secret_made: (actor, _, from) => html`${actor} made the secret for pairwise subjects${from}`,
  configuration_loaded: (actor, _, from, when) => html`${actor} loaded its configuration${from}${when}`,
  audit_restarted: (actor, _, from) => html`${actor} began a new chain of hashes over the audit trail${from}`,
  subject_disabled: (actor, user, from) => html`${actor} disabled the user ${user}${from}`,
  subject_enabled: (actor, user, from) => html`${actor} enabled the user ${user}${from}`,
  subject_revoked: (actor, user, from, why) =>
    html`${actor} revoked all tokens of the user ${user}${from}${why}`,
  grant_revoked: (actor, whose, from, why) => html`${actor} ended ${whose}${from}${why}`,
  token_revoked: (actor, whose, from) => html`${actor} revoked a token${whose}${from}`,
  family_revoked: (actor, whose, from, why) =>
    html`${actor} revoked a refresh token${whose} and its successors${from}${why}`,
  exchanges_revoked: (actor, whose, from) => html`${actor} revoked exchanged tokens${whose}${from}`,
  code_revoked: (actor, whose, from, why) =>
    html`${actor} revoked an authorization code${whose} and its tokens${from}${why}`,
  issued_before_revoked: (actor, when, from) =>
    html`${actor} revoked all tokens that were issued before ${when}${from}`,
  token_issued: (actor, whose, from, how) => html`${actor} got tokens${whose}${from}${how}`,
  identity_assertion_issued: (actor, whose, from, server) =>
    html`${actor} got an identity assertion${whose} for the server ${server}${from}`,
  code_issued: (actor, whose, from) => html`${actor} got an authorization code${whose}${from}`,
};

export const EVENTS = {
  sentences: SENTENCES,
  /** If the actor is what the event is about. */
  ownSentences: {
    client_added: (client, _, from) => html`The client ${client} registered itself${from}`,
    client_changed: (client, _, from) => html`The client ${client} changed its registration${from}`,
    client_removed: (client, _, from) => html`The client ${client} removed its registration${from}`,
    person_added: (user, _, from) => html`${user} signed up${from}`,
    person_changed: (user, _, from) => html`${user} changed their own data${from}`,
    person_password_set: (user, _, from) => html`${user} set a new password${from}`,
    person_removed: (user, _, from) => html`${user} removed their own account${from}`,
    person_linked: (user, _, from, provider) => html`${user} connected an account at ${provider}${from}`,
    person_unlinked: (user, _, from, provider) => html`${user} disconnected an account at ${provider}${from}`,
    person_factor_added: (user, _, from, factor) => html`${user} added ${factor}${from}`,
    person_factor_removed: (user, _, from, factor) => html`${user} removed ${factor}${from}`,
    person_recovery_codes_made: (user, _, from) => html`${user} made new recovery codes${from}`,
    person_recovery_code_used: (user, _, from) => html`${user} used a recovery code${from}`,
    personal_token_made: (user, _, from) => html`${user} made a personal access token${from}`,
    consent_withdrawn: (user, _, from, client) =>
      html`${user} withdrew their consent for the client ${client}${from}`,
    session_ended: (user, _, from) => html`${user} signed out${from}`,
    session_revoked: (user, _, from) => html`${user} revoked the tokens of a session by signing out${from}`,
  } satisfies Partial<Record<OwnType, EventSentence>>,
  /** What an act did, after its actor: several of `counts`. */
  acted: (actor: Html, what: string, from: Html) => html`${actor} ${what}${from}`,
  /** After a sentence about the most important event of an act. */
  also: (what: string) => `Also: ${what}.`,
  /** How many events of a kind an act has. */
  counts: {
    administrator_made: formats.counted('made 1 administrator', 'made # administrators'),
    administrator_removed: formats.counted(
      'removed 1 user from the administrators',
      'removed # users from the administrators',
    ),
    signed_in: formats.counted('signed in once', 'signed in # times'),
    sign_in_failed: formats.counted('failed once to sign in', 'failed # times to sign in'),
    session_ended: formats.counted('ended 1 session', 'ended # sessions'),
    session_revoked: formats.counted('revoked the tokens of 1 session', 'revoked the tokens of # sessions'),
    person_added: formats.counted('added 1 user', 'added # users'),
    people_imported: formats.counted('imported 1 user', 'imported # users'),
    person_changed: formats.counted('changed 1 user', 'changed # users'),
    person_password_set: formats.counted('set 1 password', 'set # passwords'),
    person_linked: formats.counted('connected 1 account at a provider', 'connected # accounts at providers'),
    person_unlinked: formats.counted(
      'disconnected 1 account at a provider',
      'disconnected # accounts at providers',
    ),
    person_unlocked: formats.counted('unlocked 1 user', 'unlocked # users'),
    subject_disabled: formats.counted('disabled 1 user', 'disabled # users'),
    subject_enabled: formats.counted('enabled 1 user', 'enabled # users'),
    subject_revoked: formats.counted('revoked all tokens of 1 user', 'revoked all tokens of # users'),
    person_removed: formats.counted('removed 1 user', 'removed # users'),
    person_factor_added: formats.counted('added 1 factor', 'added # factors'),
    person_factor_removed: formats.counted('removed 1 factor', 'removed # factors'),
    person_factors_reset: formats.counted('removed all factors of 1 user', 'removed all factors of # users'),
    person_factors_confirmed: formats.counted(
      'confirmed the new factors of 1 user',
      'confirmed the new factors of # users',
    ),
    person_recovery_codes_made: formats.counted(
      'made the recovery codes of 1 user',
      'made the recovery codes of # users',
    ),
    person_recovery_code_used: formats.counted('used 1 recovery code', 'used # recovery codes'),
    personal_token_made: formats.counted('made 1 personal access token', 'made # personal access tokens'),
    password_link_requested: formats.counted(
      'had 1 link for a password emailed',
      'had # links for passwords emailed',
    ),
    mailed_link_made: formats.counted('had 1 link emailed', 'had # links emailed'),
    mailed_link_used: formats.counted('used 1 link from an email', 'used # links from emails'),
    mail_retried: formats.counted('tried again to send 1 email', 'tried again to send # emails'),
    group_added: formats.counted('added 1 group', 'added # groups'),
    group_changed: formats.counted('changed 1 group', 'changed # groups'),
    group_removed: formats.counted('removed 1 group', 'removed # groups'),
    group_member_added: formats.counted('added 1 member to a group', 'added # members to groups'),
    group_member_removed: formats.counted('removed 1 member from a group', 'removed # members from groups'),
    client_added: formats.counted('added 1 client', 'added # clients'),
    client_changed: formats.counted('changed 1 client', 'changed # clients'),
    client_secret_rotated: formats.counted(
      'changed the secrets of 1 client',
      'changed the secrets of # clients',
    ),
    client_disabled: formats.counted('disabled 1 client', 'disabled # clients'),
    client_enabled: formats.counted('enabled 1 client', 'enabled # clients'),
    client_revoked: formats.counted('revoked all tokens of 1 client', 'revoked all tokens of # clients'),
    client_removed: formats.counted('removed 1 client', 'removed # clients'),
    scope_texts_changed: formats.counted('changed the texts of 1 scope', 'changed the texts of # scopes'),
    documents_denied: formats.counted(
      'denied the client documents of 1 address',
      'denied the client documents of # addresses',
    ),
    documents_allowed: formats.counted(
      'allowed the client documents of 1 address again',
      'allowed the client documents of # addresses again',
    ),
    consent_given: formats.counted('gave 1 client access', 'gave # clients access'),
    consent_withdrawn: formats.counted('withdrew 1 consent', 'withdrew # consents'),
    code_issued: formats.counted('got 1 authorization code', 'got # authorization codes'),
    token_issued: formats.counted('got tokens once', 'got tokens # times'),
    identity_assertion_issued: formats.counted('got 1 identity assertion', 'got # identity assertions'),
    token_revoked: formats.counted('revoked 1 token', 'revoked # tokens'),
    family_revoked: formats.counted(
      'revoked 1 refresh token and its successors',
      'revoked # refresh tokens and their successors',
    ),
    grant_revoked: formats.counted('ended 1 grant', 'ended # grants'),
    exchanges_revoked: formats.counted(
      'revoked the exchanged tokens of 1 token',
      'revoked the exchanged tokens of # tokens',
    ),
    code_revoked: formats.counted('revoked 1 authorization code', 'revoked # authorization codes'),
    issued_before_revoked: formats.counted(
      'revoked all tokens issued before a time',
      'revoked all tokens issued before # times',
    ),
    configuration_loaded: formats.counted('loaded the configuration', 'loaded the configuration # times'),
    key_rotated: formats.counted('rotated 1 signing key', 'rotated # signing keys'),
    server_secret_rotated: formats.counted(
      'changed the secret of the server',
      'changed the secret of the server # times',
    ),
    server_secret_dropped: formats.counted(
      'dropped 1 secret of the server',
      'dropped # secrets of the server',
    ),
    pairwise_secret_made: formats.counted(
      'made the secret for pairwise subjects',
      'made # secrets for pairwise subjects',
    ),
    audit_restarted: formats.counted('began a new chain of hashes', 'began # new chains of hashes'),
  } satisfies Record<CountedKind, (count: number) => string>,
  /** Names of the types, and of their groups. */
  types: {
    signed_in: 'Signed in',
    sign_in_failed: 'Sign-in failed',
    session_ended: 'Session ended',
    session_revoked: 'Tokens of a session revoked',
    person_added: 'User added',
    people_imported: 'User imported',
    person_changed: 'User changed',
    person_password_set: 'Password set',
    person_linked: 'Account at a provider connected',
    person_unlinked: 'Account at a provider disconnected',
    person_unlocked: 'User unlocked',
    subject_disabled: 'User disabled',
    subject_enabled: 'User enabled',
    subject_revoked: 'All tokens of a user revoked',
    person_removed: 'User removed',
    person_factor_added: 'Factor added',
    person_factor_removed: 'Factor removed',
    person_factors_reset: 'Factors reset',
    person_factors_confirmed: 'Factors confirmed',
    person_recovery_codes_made: 'Recovery codes made',
    person_recovery_code_used: 'Recovery code used',
    personal_token_made: 'Personal access token made',
    password_link_requested: 'Link for a password requested',
    mailed_link_made: 'Link emailed',
    mailed_link_used: 'Link from an email used',
    mail_retried: 'Email tried again',
    group_added: 'Group added',
    group_changed: 'Group changed',
    group_removed: 'Group removed',
    group_member_added: 'Member added',
    group_member_removed: 'Member removed',
    client_added: 'Client added',
    client_changed: 'Client changed',
    client_secret_rotated: 'Client secrets changed',
    client_disabled: 'Client disabled',
    client_enabled: 'Client enabled',
    client_revoked: 'All tokens of a client revoked',
    client_removed: 'Client removed',
    scope_texts_changed: 'Texts of a scope changed',
    documents_denied: 'Client documents denied',
    documents_allowed: 'Client documents allowed again',
    consent_given: 'Consent given',
    consent_withdrawn: 'Consent withdrawn',
    code_issued: 'Authorization code issued',
    token_issued: 'Tokens issued',
    identity_assertion_issued: 'Identity assertion issued',
    token_revoked: 'Token revoked',
    family_revoked: 'Refresh token and successors revoked',
    grant_revoked: 'Grant ended',
    exchanges_revoked: 'Exchanged tokens revoked',
    code_revoked: 'Authorization code revoked',
    issued_before_revoked: 'Tokens before a time revoked',
    configuration_loaded: 'Configuration loaded',
    key_rotated: 'Signing key rotated',
    server_secret_rotated: 'Server secret rotated',
    server_secret_dropped: 'Server secret dropped',
    pairwise_secret_made: 'Secret for pairwise subjects made',
    audit_restarted: 'Audit trail: new chain',
  } satisfies Record<EventType, string>,
  typeGroups: {
    signIns: 'Sign-ins and sessions',
    users: 'Users',
    factors: 'Factors',
    mails: 'Emails',
    groups: 'Groups',
    clients: 'Clients',
    tokens: 'Access and tokens',
    server: 'This server',
  },
  actors: {
    cli: 'A command on the server',
    server: 'The server',
    anonymous: 'A visitor',
    registration: 'A client registration',
    api: (client: Html) => html`The client ${client} of the admin API`,
    userOfApi: (user: Html, client: Html) => html`${user}, with ${client}`,
    client: (client: Html) => html`The client ${client}`,
  },
  /** A user whom the event does not name. */
  unknownUser: 'an unknown user',
  from: (address: Html) => html` from ${address}`,
  /** Of a token: its client and user. */
  ofClient: (client: Html) => html` of ${client}`,
  grant: (id: Html) => html`the grant ${id}`,
  accessOf: (client: Html) => html`the access of ${client}`,
  /** Why something ended, by the reason of the event. */
  because: {
    refresh_token_reused: ', because an old refresh token was used again',
    code_reused: ', because the code was used again',
    consent_withdrawn: ', because the consent was withdrawn',
    groups_changed: ', because the client is for other groups now',
    beyond_policy: ', because the options no longer allow the personal access token',
    password_set: ', because the password changed',
    factors_reset: ', because all factors were removed',
    factor_removed: ', because a factor was removed',
    provider_unlinked: ', because the account at a provider was disconnected',
    provider_logout: ', because the provider ended its session',
    person_disabled: ', because the user was disabled',
    person_removed: ', because the user was removed',
    person_imported: ', because an import changed the password or disabled the user',
    directory_linked: ', because the password is now that of the directory',
  } satisfies Record<EndReason, string>,
  leftGroup: (user: Html, group: Html) => html`, because ${user} left ${group}`,
  forUser: (user: Html) => html` for ${user}`,
  /** Of a session. */
  ofUser: (user: Html) => html` of ${user}`,
  atClient: (client: Html) => html` for ${client}`,
  signedInWith: (ways: Html) => html` with ${ways}`,
  /** How a user signs in, after “with”, by method (RFC 8176). */
  ways: {
    pwd: 'a password',
    email: 'a code by email',
    otp: 'a code',
    pop: 'a passkey',
    fed: 'a provider',
    recovery: 'a recovery code',
  },
  factors: {
    passkey: 'a passkey',
    security_key: 'a security key',
    authenticator_app: 'an authenticator app',
    recovery_codes: 'the recovery codes',
    other: 'a factor',
  },
  purposes: {
    reset: 'for a new password',
    password: 'for a new password, as an administrator asked',
    code: 'with a code to sign in',
    invite: 'an invitation',
    verify: 'to confirm an email address',
    sign_up: 'to finish a sign-up',
  },
  configuration: { start: 'at its start', reload: 'again' },
  /** What a client got tokens with. */
  bases: {
    client: 'with its own credentials',
    authorization_code: 'with an authorization code',
    refresh_token: 'with a refresh token',
    token_exchange: 'with a token of a caller',
    exchangeThrough: (client: Html) => html`with a token of a caller of ${client}`,
    jwtOf: (issuer: Html) => html`with a JWT of ${issuer}`,
  },
};
