// Metadata documents of clients that operators deny while the server runs.
import {
  clientsDeniedBy,
  type DocumentDenial,
  denialRule,
  finishDenials,
  REMOVED_AT_ONCE,
} from '../data/document_denials.ts';
import { change, operation, PAGING, pageOf } from './operation.ts';
import { InvalidInput, ifGiven, OperationRefused } from './operation_refused.ts';
import { count, flag, named, object, optional, page, text, time, timeOf, type ValueOf } from './schema.ts';

const MAX_RULE_LENGTH = 2000;
const MAX_NOTE_LENGTH = 500;

/** Clients whose tokens a dry run counts. */
const MAX_COUNTED = 200;

const rule = text(
  'What is denied: the URL of a document, a host such as a.example, or every name below a host, such as *.a.example. A host has no port: the rule is for all of them.',
  { minLength: 1, maxLength: MAX_RULE_LENGTH },
);
const note = text('A note for other operators, in one line.', { minLength: 1, maxLength: MAX_NOTE_LENGTH });

const denial = {
  rule,
  denied_at: time('When it was denied.'),
  denied_by: text('Who denied it, as in the audit trail.'),
  'note?': note,
} as const;

const DENIED_DOCUMENTS = named('DeniedDocuments', object(denial));
export type DenialView = ValueOf<typeof DENIED_DOCUMENTS>;
const ALL_DENIED_DOCUMENTS = page('AllDeniedDocuments', DENIED_DOCUMENTS);
const DENIAL = named(
  'Denial',
  object({
    rule,
    'note?': note,
    'dry_run?': flag('Whether to change nothing, and only count what would end. Default: false.'),
  }),
);
const DENIAL_MADE = named(
  'DenialMade',
  object({
    ...{ rule, is_new: flag('Whether it was not denied yet.') },
    clients: count('Clients that were removed, or with dry_run, that would be.'),
    'tokens?': count('Only with dry_run: active tokens of these clients.'),
    'has_more?': flag(
      `Only with dry_run: whether there can be more tokens. The server counts those of the first ${MAX_COUNTED} clients, and of each as for /tokens/revoke-all.`,
    ),
  }),
);

function viewOf({ rule: denied, deniedAtMs, deniedBy, note: about }: DocumentDenial): DenialView {
  return {
    ...{ rule: denied, denied_at: timeOf(deniedAtMs), denied_by: deniedBy },
    ...optional('note', about),
  };
}

/** @throws {InvalidInput} the text is no rule */
function requireRule(written: string): string {
  const read = denialRule(written);
  if (read === undefined) throw new InvalidInput('rule', ['document_rule']);
  return read;
}

// ADR 199
export const DENIED_DOCUMENT_OPERATIONS = {
  listDeniedDocuments: operation({
    method: 'GET',
    path: '/denied-documents',
    scope: 'grantd:clients:read',
    summary: 'List the denied metadata documents and hosts',
    query: PAGING,
    status: 200,
    output: ALL_DENIED_DOCUMENTS,
    command: {
      line: 'client denied-documents',
      about: 'list the metadata documents and hosts that were denied while the server ran',
      columns: {
        DENIED: ({ rule: denied }) => denied,
        SINCE: ({ denied_at: at }) => at,
        BY: ({ denied_by: by }) => by,
        NOTE: ({ note: about = '' }) => about,
      },
    },
    perform: async ({ deniedDocuments }, paging) =>
      pageOf(await deniedDocuments.list(), paging, ({ rule: denied }) => denied, viewOf),
  }),
  denyDocuments: change({
    method: 'POST',
    path: '/denied-documents',
    scope: 'grantd:clients:write',
    summary:
      'Deny a metadata document, or all documents of a host. Their clients are removed, and all their tokens end at once. With dry_run, the server changes nothing, and counts what would end',
    body: DENIAL,
    status: 200,
    output: DENIAL_MADE,
    command: {
      line: 'client deny-document <rule>',
      about:
        'deny a metadata document, or all documents of a host. Their clients are removed, with all tokens',
      flags: {
        note: { about: 'a note for other operators', placeholder: 'TEXT' },
        dry_run: { about: 'change nothing, and only count what would end' },
      },
      notes: `The rule is the URL of a document, a host, or *. and a host for every name below it.

  grantd client deny-document evil.example --note 'phishing, ticket 4711'
  grantd client deny-document 'https://a.example/client.json' --dry-run`,
      lines({ rule: denied, clients, tokens, has_more: hasMore = false }) {
        const counted = `${clients} ${clients === 1 ? 'client' : 'clients'}`;
        if (tokens === undefined) return `denied ${denied} and removed ${counted}`;
        const least = hasMore ? 'at least ' : '';
        return `would deny ${denied}, and end ${counted} with ${least}${tokens} active ${tokens === 1 ? 'token' : 'tokens'}`;
      },
    },
    checks: ({ rule: written, note: about = '' }) => [
      ifGiven(written, requireRule),
      () => {
        if (/\p{C}/u.test(about)) throw new InvalidInput('note', ['one_line']);
      },
    ],
    async prepare(parts, { rule: written }) {
      const denied = requireRule(written);
      const clients = await clientsDeniedBy([denied], parts.storage);
      for (const client of clients) parts.caller.requireClient(client);
      return { denied, clients, isNew: (await parts.deniedDocuments.find(denied)) === undefined };
    },
    async write(parts, { denied, clients, isNew }, { note: about, dry_run: isDryRun = false }) {
      const { storage, deniedDocuments, caller, issuer } = parts;
      const made = { rule: denied, is_new: isNew };
      if (isDryRun) {
        let tokens = 0;
        let hasMore = clients.length > MAX_COUNTED;
        for (const { id } of clients.slice(0, MAX_COUNTED)) {
          const alive = await storage.countAlive({ principal: 'client', id });
          tokens += alive.count;
          hasMore ||= alive.hasMore;
        }
        return { document: { ...made, clients: clients.length, tokens, has_more: hasMore } };
      }
      let removed = 0;
      const remove = async (): Promise<void> => {
        removed = await storage.clients.removeAll(clients.slice(0, REMOVED_AT_ONCE).map(({ id }) => id));
      };
      const facts = { rule: denied, deniedAtMs: parts.clock(), deniedBy: caller.actor, note: about };
      await deniedDocuments.deny(issuer, facts, clients.length > 0 ? remove : undefined);
      removed += await finishDenials(parts);
      return { document: { ...made, clients: removed } };
    },
  }),
  allowDocuments: change({
    method: 'DELETE',
    path: '/denied-documents/{rule}',
    scope: 'grantd:clients:write',
    summary: 'Allow a denied metadata document or host again. What the denial has ended stays ended',
    status: 204,
    command: {
      line: 'client allow-document <rule>',
      about: 'take back a denial. Users have to allow the clients again',
      lines: (_, { rule: written }) => `allowed ${denialRule(written) ?? written} again`,
    },
    prepare: async (_, { rule: written }) => denialRule(written) ?? written,
    async write({ deniedDocuments }, denied) {
      if (!(await deniedDocuments.allow(denied)))
        throw new OperationRefused(
          'not_found',
          ['not_denied', denied],
          'grantd client denied-documents shows what is. The options of the server can deny hosts too.',
        );
      return { document: undefined };
    },
  }),
};
