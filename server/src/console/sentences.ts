// Events of the audit trail in sentences.
import type { EventType } from '@grantd/core';
import { html } from 'hono/html';
import type { AuditEventView } from '../admin/audit.ts';
import { LEFT_GROUP } from '../people/groups.ts';
import type { EventSentence } from '../texts/en/events.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import { urlOf } from './frame.ts';
import type { namesOf } from './names.ts';
import { ago, clientLink, groupLink, identifier, type NamingView, userLink } from './values.ts';

/** What sentences need besides names. */
export interface SentenceView extends NamingView {
  readonly nowMs: number;
  /** Its members are the administrators. */
  readonly adminGroup: string;
}

/** Who acted, as the member `actor` of an event says. */
type Actor =
  | { readonly by: 'cli' | 'server' | 'anonymous' | 'registration' }
  | { readonly by: 'user'; readonly subject: string }
  | { readonly by: 'client'; readonly clientId: string }
  | { readonly by: 'api'; readonly clientId: string; readonly subject?: string }
  /** A name that an embedding application gives. */
  | { readonly by: 'other'; readonly name: string };

export function actorIn(actor: string): Actor {
  if (actor === 'cli' || actor === 'server' || actor === 'anonymous' || actor === 'registration')
    return { by: actor };
  const [, kind, rest = ''] = /^(user|console|client|api):(.+)$/s.exec(actor) ?? [];
  switch (kind) {
    case 'user':
    case 'console':
      return { by: 'user', subject: rest };
    case 'client':
      return { by: 'client', clientId: rest };
    case 'api': {
      const [, id = rest, subject] = /^([^/]*)\/(.+)$/s.exec(rest) ?? [];
      return { by: 'api', clientId: decoded(id), ...(subject !== undefined && { subject }) };
    }
    default:
      return { by: 'other', name: actor };
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Event = AuditEventView;

/** The parts of a sentence besides its actor and its place. */
interface Told {
  readonly it?: Html;
  readonly other?: Html;
}

interface Telling {
  readonly event: Event;
  readonly actor: Actor;
  readonly view: SentenceView;
  readonly texts: Texts;
}

const NOTHING = html``;

/** Whether a sentence need not name a user: there is none, or it is the actor. */
function isOf(actor: Actor, subject: string | undefined): subject is undefined | '' {
  return subject === undefined || subject === '' || (actor.by === 'user' && actor.subject === subject);
}

/** The target of a membership ends in the subject, and that of a link begins with the provider. Groups may have slashes. */
function withoutEnd(target: string, subject: string | undefined): string {
  const end = `/${subject}`;
  return target.endsWith(end) ? target.slice(0, -end.length) : target;
}

/** The user whom an event is about. */
function userOf({ type, target, subject }: Event): string | undefined {
  if (subject !== undefined && subject !== '') return subject;
  return type.startsWith('person_') || type.startsWith('subject_') ? target : undefined;
}

/** The user whom the event is about, whom an event of another program need not name. */
function userIn({ event, view, texts }: Telling): Html {
  const subject = userOf(event);
  return subject === undefined ? html`${texts.console.events.unknownUser}` : userLink(view, subject);
}

/** Why something ended, if the event has a reason. */
function whyIn({ event, view, texts }: Telling): Pick<Told, 'other'> | undefined {
  const { subject } = event;
  const reason = endingReasonOf(event) ?? '';
  const { because, leftGroup } = texts.console.events;
  const left = reason.startsWith(LEFT_GROUP) ? reason.slice(LEFT_GROUP.length) : undefined;
  if (left !== undefined && subject !== undefined)
    return { other: leftGroup(userLink(view, subject), groupLink(view, left)) };
  return Object.hasOwn(because, reason)
    ? { other: html`${because[reason as keyof typeof because]}` }
    : undefined;
}

/** The reason of an event that ends something. Earlier versions did not record that of the end of a family. */
export function endingReasonOf({ type, actor, reason }: Event): string | undefined {
  return (
    reason ?? (type === 'family_revoked' && actor.startsWith('client:') ? 'refresh_token_reused' : undefined)
  );
}

const ofTarget = {
  client: ({ event, view }: Telling): Told => ({ it: clientLink(view, event.target) }),
  user({ event, view, texts }: Telling): Told {
    const subject = userOf(event);
    return {
      it: subject === undefined ? html`${texts.console.events.unknownUser}` : userLink(view, subject),
    };
  },
  group: ({ event, view }: Telling): Told => ({ it: groupLink(view, event.target) }),
  code: ({ event }: Telling): Told => ({ it: identifier(event.target) }),
  key({ event: { target }, view }: Telling): Told {
    const algorithm = view.names.keyAlgorithm(target);
    const key = algorithm === undefined ? identifier(target) : html`${algorithm} (${identifier(target)})`;
    return { it: html`<a href="${urlOf(view.base, 'keys')}">${key}</a>` };
  },
  member(telling: Telling): Told {
    const {
      event: { target, subject },
      view,
    } = telling;
    return { it: userIn(telling), other: groupLink(view, withoutEnd(target, subject)) };
  },
  link(telling: Telling): Told {
    const { target, subject } = telling.event;
    return { it: userIn(telling), other: html`<bdi>${withoutEnd(target, subject)}</bdi>` };
  },
  factor(telling: Telling): Told {
    const { reason = '' } = telling.event;
    const { factors } = telling.texts.console.events;
    const name = Object.hasOwn(factors, reason) ? factors[reason as keyof typeof factors] : factors.other;
    return { it: userIn(telling), other: html`${name}` };
  },
  /** Tokens and codes: of a client, for a user. */
  access(telling: Telling): Told {
    const { event, actor, view, texts } = telling;
    const { client_id: clientId, subject } = event;
    const { ofClient, forUser } = texts.console.events;
    const namesClient = clientId !== undefined && !(actor.by === 'client' && actor.clientId === clientId);
    const client = namesClient ? ofClient(clientLink(view, clientId)) : '';
    const user = isOf(actor, subject) ? '' : forUser(userLink(view, subject));
    return { it: html`${client}${user}`, ...whyIn(telling) };
  },
  /** Events of earlier versions may not say whose grant it was. */
  grant(telling: Telling): Told {
    const { event, actor, view, texts } = telling;
    const { client_id: clientId, subject, target } = event;
    const { accessOf, grant, forUser } = texts.console.events;
    const what = clientId === undefined ? grant(identifier(target)) : accessOf(clientLink(view, clientId));
    const user = isOf(actor, subject) ? '' : forUser(userLink(view, subject));
    return { it: html`${what}${user}`, ...whyIn(telling) };
  },
  endedUser: (telling: Telling): Told => ({ ...ofTarget.user(telling), ...whyIn(telling) }),
  issuance({ event: { subject, reason = '' }, view, texts }: Telling): Told {
    const { forUser, bases } = texts.console.events;
    return {
      ...(subject !== undefined && { it: forUser(userLink(view, subject)) }),
      // Tokens of a user that its client got without one of these, for example from an operator.
      other:
        reason === '' || (reason === 'client' && subject !== undefined)
          ? NOTHING
          : html` ${basisOf(reason, view, bases)}`,
    };
  },
  /** The reason begins with the issuer of the other server, which has no spaces. */
  assertion({ event: { subject, reason = '' }, view, texts }: Telling): Told {
    const [server = ''] = reason.split(' ');
    return {
      ...(subject !== undefined && { it: texts.console.events.forUser(userLink(view, subject)) }),
      other: html`<bdi>${URL.canParse(server) ? server : '?'}</bdi>`,
    };
  },
  session(telling: Telling): Told {
    const { event, actor, view, texts } = telling;
    const { subject } = event;
    const why = whyIn(telling);
    const isNamed = why === undefined ? subject !== undefined : !isOf(actor, subject);
    return {
      ...(isNamed && { it: texts.console.events.ofUser(userLink(view, subject ?? '')) }),
      ...why,
    };
  },
  signIn(telling: Telling): Told {
    const { event, texts } = telling;
    const { signedInWith } = texts.console.events;
    const ways = waysIn(event.reason ?? '', texts);
    return {
      it: userIn(telling),
      ...(ways !== undefined && { other: signedInWith(html`${ways}`) }),
    };
  },
  failure(telling: Telling): Told {
    const { event, view, texts } = telling;
    const { client_id: clientId } = event;
    const { atClient } = texts.console.events;
    return {
      it: userIn(telling),
      ...(clientId !== undefined && { other: atClient(clientLink(view, clientId)) }),
    };
  },
  consent(telling: Telling): Told {
    const { event, view } = telling;
    return { it: userIn(telling), other: clientLink(view, event.target) };
  },
  mailedLink({ event: { subject, reason = '' }, actor, view, texts }: Telling): Told {
    const { forUser, purposes } = texts.console.events;
    const isKnown = Object.hasOwn(purposes, reason);
    return {
      ...(!isOf(actor, subject) && { it: forUser(userLink(view, subject)) }),
      ...(isKnown && { other: html` (${purposes[reason as keyof typeof purposes]})` }),
    };
  },
  configuration({ event: { reason = '' }, texts }: Telling): Told {
    const { configuration } = texts.console.events;
    const isKnown = Object.hasOwn(configuration, reason);
    return isKnown ? { other: html` ${configuration[reason as keyof typeof configuration]}` } : {};
  },
  time({ event: { target }, view, texts }: Telling): Told {
    const atMs = Number(target);
    const isTime = target !== '' && Math.abs(atMs) <= 8.64e15;
    return { it: isTime ? ago(atMs, view.nowMs, texts) : html`<bdi>${target}</bdi>` };
  },
  nothing: (): Told => ({}),
};

type TypeGroup = keyof Texts['console']['events']['typeGroups'];

/** Each type of event, in the order of the filter: its group there, and what its sentence names. */
const EVENTS: Readonly<Record<EventType, readonly [group: TypeGroup, told: (telling: Telling) => Told]>> = {
  signed_in: ['signIns', ofTarget.signIn],
  sign_in_failed: ['signIns', ofTarget.failure],
  session_ended: ['signIns', ofTarget.session],
  session_revoked: ['signIns', ofTarget.session],
  person_added: ['users', ofTarget.user],
  people_imported: ['users', ofTarget.user],
  person_changed: ['users', ofTarget.user],
  person_password_set: ['users', ofTarget.user],
  person_linked: ['users', ofTarget.link],
  person_unlinked: ['users', ofTarget.link],
  person_unlocked: ['users', ofTarget.user],
  subject_disabled: ['users', ofTarget.user],
  subject_enabled: ['users', ofTarget.user],
  subject_revoked: ['users', ofTarget.endedUser],
  person_removed: ['users', ofTarget.user],
  person_factor_added: ['factors', ofTarget.factor],
  person_factor_removed: ['factors', ofTarget.factor],
  person_factors_reset: ['factors', ofTarget.user],
  person_factors_confirmed: ['factors', ofTarget.user],
  person_recovery_codes_made: ['factors', ofTarget.user],
  person_recovery_code_used: ['factors', ofTarget.user],
  password_link_requested: ['mails', ofTarget.user],
  mailed_link_made: ['mails', ofTarget.mailedLink],
  mailed_link_used: ['mails', ofTarget.mailedLink],
  mail_retried: ['mails', ofTarget.code],
  group_added: ['groups', ofTarget.group],
  group_changed: ['groups', ofTarget.group],
  group_removed: ['groups', ofTarget.group],
  group_member_added: ['groups', ofTarget.member],
  group_member_removed: ['groups', ofTarget.member],
  client_added: ['clients', ofTarget.client],
  client_changed: ['clients', ofTarget.client],
  client_secret_rotated: ['clients', ofTarget.client],
  client_disabled: ['clients', ofTarget.client],
  client_enabled: ['clients', ofTarget.client],
  client_revoked: ['clients', ofTarget.client],
  client_removed: ['clients', ofTarget.client],
  scope_texts_changed: ['clients', ofTarget.code],
  documents_denied: ['clients', ofTarget.code],
  documents_allowed: ['clients', ofTarget.code],
  consent_given: ['tokens', ofTarget.consent],
  consent_withdrawn: ['tokens', ofTarget.consent],
  code_issued: ['tokens', ofTarget.issuance],
  token_issued: ['tokens', ofTarget.issuance],
  personal_token_made: ['tokens', ofTarget.user],
  identity_assertion_issued: ['tokens', ofTarget.assertion],
  token_revoked: ['tokens', ofTarget.access],
  family_revoked: ['tokens', ofTarget.access],
  grant_revoked: ['tokens', ofTarget.grant],
  exchanges_revoked: ['tokens', ofTarget.access],
  code_revoked: ['tokens', ofTarget.access],
  issued_before_revoked: ['tokens', ofTarget.time],
  configuration_loaded: ['server', ofTarget.configuration],
  key_rotated: ['server', ofTarget.key],
  server_secret_rotated: ['server', ofTarget.code],
  server_secret_dropped: ['server', ofTarget.code],
  pairwise_secret_made: ['server', ofTarget.nothing],
  audit_restarted: ['server', ofTarget.nothing],
};

/** The types of events in groups, as the filter shows them. */
export const TYPE_GROUPS: ReadonlyMap<TypeGroup, readonly EventType[]> = Map.groupBy(
  Object.keys(EVENTS) as EventType[],
  (type) => EVENTS[type][0],
);

function basisOf(reason: string, view: SentenceView, bases: Texts['console']['events']['bases']): Html {
  const [, kind, rest = ''] = /^(token_exchange|jwt_bearer):(.+)$/s.exec(reason) ?? [];
  if (kind === 'token_exchange') return bases.exchangeThrough(clientLink(view, rest));
  if (kind === 'jwt_bearer') return bases.jwtOf(html`<bdi>${rest}</bdi>`);
  const { exchangeThrough: _, jwtOf: __, ...names } = bases;
  return html`${Object.hasOwn(names, reason) ? names[reason as keyof typeof names] : reason}`;
}

/** How a user has signed in, in words. @param amr separated by spaces @returns `undefined` if no method has words */
export function waysIn(amr: string, { console: { events }, formats }: Texts): string | undefined {
  const methods = amr.split(' ');
  const known = (Object.keys(events.ways) as (keyof typeof events.ways)[]).filter((way) =>
    methods.includes(way),
  );
  return known.length === 0 ? undefined : formats.list(known.map((way) => events.ways[way]));
}

function actorShown(actor: Actor, view: SentenceView, texts: Texts): Html {
  const { actors } = texts.console.events;
  switch (actor.by) {
    case 'user':
      return userLink(view, actor.subject);
    case 'client':
      return actors.client(clientLink(view, actor.clientId));
    case 'api': {
      const client = clientLink(view, actor.clientId);
      return actor.subject === undefined
        ? actors.api(client)
        : actors.userOfApi(userLink(view, actor.subject), client);
    }
    case 'other':
      return html`<bdi>${actor.name}</bdi>`;
    default:
      return html`${actors[actor.by]}`;
  }
}

/** Whether the actor is what the event is about. */
function isOwn(actor: Actor, { type, subject, target }: Event): boolean {
  if (type.startsWith('client_')) return actor.by === 'registration';
  return actor.by === 'user' && actor.subject === (subject ?? target);
}

/** Whether a refresh token or code was used again, perhaps by a thief. */
export function isReuse(event: Event): boolean {
  return endingReasonOf(event)?.endsWith('_reused') === true;
}

/** Whether an event makes a user an administrator, or ends that. */
function administratorKind(
  { type, target, subject }: Event,
  adminGroup: string,
): 'administrator_made' | 'administrator_removed' | undefined {
  if (subject === undefined || target !== `${adminGroup}/${subject}`) return undefined;
  if (type === 'group_member_added') return 'administrator_made';
  return type === 'group_member_removed' ? 'administrator_removed' : undefined;
}

/** An event as a sentence, with links to the user, client or group that it names. */
export function sentenceOf(event: Event, view: SentenceView, texts: Texts): Html {
  const { sentences, ownSentences, from } = texts.console.events;
  // The client did not end it: its token or code was used again, perhaps by a thief.
  const reused = isReuse(event);
  const actor = reused ? ({ by: 'server' } as const) : actorIn(event.actor);
  const [, told] = EVENTS[event.type];
  const { it = NOTHING, other = NOTHING } = told({ event, actor, view, texts });
  const place = event.address === undefined ? NOTHING : from(html`<bdi>${event.address}</bdi>`);
  // The place is that of the reuse.
  const [begin, end] = reused ? [NOTHING, html`${other}${place}`] : [place, other];
  const own: Partial<Record<string, EventSentence>> = ownSentences;
  const followsChange = event.type.startsWith('session_') && other !== NOTHING;
  const ownSentence = isOwn(actor, event) && !followsChange ? own[event.type] : undefined;
  return ownSentence === undefined
    ? sentences[administratorKind(event, view.adminGroup) ?? event.type](
        actorShown(actor, view, texts),
        it,
        begin,
        end,
      )
    : ownSentence(actor.by === 'registration' ? it : actorShown(actor, view, texts), it, begin, end);
}

/** What an act did, as a sentence. @param event any of the act @param what in counts */
export function sentenceOfAct(event: Event, what: string, view: SentenceView, texts: Texts): Html {
  const { acted, from } = texts.console.events;
  const actor = actorShown(isReuse(event) ? { by: 'server' } : actorIn(event.actor), view, texts);
  return acted(actor, what, event.address === undefined ? NOTHING : from(html`<bdi>${event.address}</bdi>`));
}

/** The users and clients that sentences about events name. */
export function identifiersIn(events: readonly Event[]): Required<Parameters<typeof namesOf>[1]> {
  const subjects = new Set<string>();
  const clientIds = new Set<string>();
  const kids = new Set<string>();
  for (const event of events) {
    const { type, target, actor, client_id: clientId, reason = '' } = event;
    const by = actorIn(actor);
    const user = userOf(event);
    if ('subject' in by && by.subject !== undefined) subjects.add(by.subject);
    if ('clientId' in by) clientIds.add(by.clientId);
    if (user !== undefined) subjects.add(user);
    if (clientId !== undefined) clientIds.add(clientId);
    if (type.startsWith('client_') || type.startsWith('consent_')) clientIds.add(target);
    if (type === 'key_rotated') kids.add(target);
    if (reason.startsWith('token_exchange:')) clientIds.add(reason.slice('token_exchange:'.length));
  }
  return { subjects, clientIds, kids };
}
