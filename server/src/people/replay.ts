import type { AdministrableStorage, EventRecord, EventType, TokenRecord } from '@grantd/core';
import type { OpenDatabase } from '../data/database.ts';
import { ConsentWithdrawal } from './consents.ts';
import { setDisabled } from './enabling.ts';
import { PersonRemoval } from './removal.ts';
import { SessionEnding } from './sessions.ts';

type Replayed = Pick<
  OpenDatabase,
  'storage' | 'people' | 'sessions' | 'consents' | 'factors' | 'mailedLinks'
>;

/** What a replay did to a restored database, and what it could not do. */
export interface ReplayOutcome {
  /** Number of events that were applied again. */
  readonly applied: number;
  /** Number of revoked tokens and codes that the backup does not contain, because they were issued later. */
  readonly unknown: number;
  /** Other changes after the backup, the last one of each type, target and user. They are lost. */
  readonly lost: readonly EventRecord[];
}

/**
 * Applies revocations, disablings and removals that happened after a backup to the restored database, in their order. No
 * server uses it yet.
 * @param events in order, all later than the backup
 */
export async function replay(database: Replayed, events: readonly EventRecord[]): Promise<ReplayOutcome> {
  const steps = stepsOn(database);
  const lost = new Map<string, EventRecord>();
  let applied = 0;
  let unknown = 0;
  for (const event of events) {
    const step = steps[event.type];
    if (PASSING.has(event.type)) continue;
    const outcome = step === undefined ? 'lost' : await step(event.target, event);
    if (outcome === 'lost') lost.set(lostKey(event), event);
    else if (outcome === 'unknown') unknown += 1;
    else applied += 1;
  }
  return { applied, unknown, lost: [...lost.values()] };
}

/** Users of one import share its identifier, and users who consented to one client share the client’s. */
function lostKey({ type, target, subject = '' }: EventRecord): string {
  return type === 'people_imported' ? `${type} ${target}` : `${type} ${target} ${subject}`;
}

/** Events whose effect is over, or was a token, session or link that the backup does not contain. */
const PASSING: ReadonlySet<EventType> = new Set([
  ...['token_issued', 'identity_assertion_issued', 'code_issued', 'signed_in', 'sign_in_failed'],
  ...['mailed_link_made', 'mailed_link_used', 'mail_retried', 'configuration_loaded', 'audit_restarted'],
  ...['person_unlocked', 'password_link_requested'],
] as const satisfies readonly EventType[]);

/**
 * Applies an event to its target.
 * @returns `unknown` if the target was created after the backup, `lost` if the event does not say enough
 */
type Step = (target: string, event: EventRecord) => Promise<'unknown' | 'lost' | undefined>;

function stepsOn({
  storage,
  people,
  sessions,
  consents,
  factors,
  mailedLinks,
}: Replayed): Partial<Record<EventType, Step>> {
  const ending = new SessionEnding({ sessions, storage });
  const removal = new PersonRemoval({ people, consents, ending, storage });
  const withdrawal = new ConsentWithdrawal({ consents, storage });
  const revokeAll =
    (principal: 'client' | 'subject' | 'grant'): Step =>
    async (id, { reason }) => {
      await storage.revokeAll({ principal, id, reason });
      return undefined;
    };
  const clientDisabled =
    (disabled: boolean): Step =>
    async (id) => {
      await storage.setDisabled('client', id, disabled);
      return undefined;
    };
  const subjectDisabled =
    (disabled: boolean): Step =>
    async (id) => {
      await setDisabled({ storage, mailedLinks }, id, disabled);
      return undefined;
    };
  const endSession: Step = async (id) => {
    const session = await sessions.byId(id);
    if (session !== undefined) await ending.end({ id, subject: session.subject });
    return undefined;
  };

  return {
    client_revoked: revokeAll('client'),
    client_disabled: clientDisabled(true),
    client_enabled: clientDisabled(false),
    async client_removed(id) {
      return (await storage.clients.remove(id)) ? undefined : 'unknown';
    },
    subject_revoked: revokeAll('subject'),
    subject_disabled: subjectDisabled(true),
    subject_enabled: subjectDisabled(false),
    async person_removed(subject) {
      await removal.remove(subject);
      return undefined;
    },
    async person_factors_reset(subject) {
      await factors.reset(subject);
      return undefined;
    },
    async consent_withdrawn(clientId, { subject }) {
      // The admin API of earlier versions listed events without it.
      if (subject === undefined) return 'lost';
      await withdrawal.withdraw({ subject, clientId });
      return undefined;
    },
    grant_revoked: revokeAll('grant'),
    // The only event of a session without tokens and codes.
    session_ended: endSession,
    async session_revoked(id, event) {
      await endSession(id, event);
      // Its tokens can outlive its row.
      await storage.revokeAll({ principal: 'session', id });
      return undefined;
    },
    async token_revoked(id) {
      const record = await tokenOf(storage, id);
      if (!record) return 'unknown';
      await storage.tokens.revoke(record);
      return undefined;
    },
    async family_revoked(id, { reason }) {
      // A family without a row in the backup has no token in it that could be alive.
      await storage.tokens.revokeFamily({ ...NO_TOKEN, id, familyId: id }, reason);
      return undefined;
    },
    async exchanges_revoked(clientId, { subject }) {
      if (subject === undefined) return 'lost';
      await storage.revokeGrants(subject, clientId);
      return undefined;
    },
    async code_revoked(id, { reason }) {
      const record = await storage.authorizationCodes.get(id);
      if (!record) return 'unknown';
      await storage.authorizationCodes.revoke(record, reason);
      return undefined;
    },
    async issued_before_revoked(target) {
      await storage.revokeAll({ issuedBeforeMs: Number(target) });
      return undefined;
    },
  };
}

async function tokenOf({ tokens }: Pick<AdministrableStorage, 'tokens'>, id: string) {
  return (await tokens.getByAccessToken(id)) ?? (await tokens.getByRefreshToken(id));
}

/** A family is revoked by its identifier alone. */
const NO_TOKEN: Omit<TokenRecord, 'id'> = {
  kind: 'refresh_token',
  clientId: '',
  scopes: [],
  issuedAtMs: 0,
  expiresAt: 0,
};
