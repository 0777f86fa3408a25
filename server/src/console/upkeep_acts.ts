// Acts on pages that mostly show something: tokens and the audit trail.

import { html } from 'hono/html';
import { problemSaid } from '../admin/audit.ts';
import { TOKEN_FILTERS } from '../admin/personal_tokens.ts';
import { object, text, time } from '../admin/schema.ts';
import type { Document } from '../admin/table.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import { type Act, type Acts, actLink } from './acts.ts';
import { actionForm, type ConsoleView, type Row, section } from './frame.ts';
import { namesOf } from './names.ts';
import { tokensCounted } from './values.ts';

/** How many active tokens the revocation ends. */
const counted: Act['facts'] = async ({ call }, _, texts, values) => [
  tokensCounted(await call('revokeAll', { ...values, dry_run: true }), texts),
];

/** Tokens that a question names. */
const MAX_NAMED = 10;

/** Which personal access tokens end, and whose they are. */
const namedTokens: Act['facts'] = async (visit, _, { console: words, formats }, values) => {
  const { tokens, users, items = [] } = await visit.call('endPersonalTokens', { ...values, dry_run: true });
  const shown = items.slice(0, MAX_NAMED);
  const parts = visit.console.partsOf(visit.session.person.subject);
  const names = await namesOf(parts, { subjects: shown.map(({ sub }) => sub) });
  const left = tokens - shown.length;
  return [
    [words.activeTokens, formats.number(tokens)],
    [words.pages.users, formats.number(users)],
    ...shown.map(
      ({ sub, name, resource }): Row => [
        html`<bdi>${names.user(sub) ?? sub}</bdi>`,
        html`<bdi>${name}</bdi> <code>${resource}</code>`,
      ],
    ),
    ...(left === 0 ? [] : [[words.andMore, formats.number(left)] as const]),
  ];
};

const LONG = { minLength: 1, maxLength: 2000 };

export const TOKENS: Acts = {
  page: 'tokens',
  nameOf: async () => '',
  acts: {
    revoke_before: {
      operation: 'revokeAll',
      form: async () => ({
        schema: object({ issued_before: time() }),
        spec: { first: ['issued_before'] },
      }),
      ...{ asks: () => true, mayEnd: true, facts: counted },
      done: 'tokens_revoked',
    },
    revoke_trusted: {
      operation: 'revokeAll',
      async form({ console: { trusted } }) {
        const issuers = (trusted.issuers ?? []).map(([, { issuer }]) => String(issuer));
        return {
          schema: object({ trusted_issuer: text(undefined, LONG), trusted_sub: text(undefined, LONG) }),
          spec: {
            first: ['trusted_issuer', 'trusted_sub'],
            ...(issuers.length > 0 && { choices: { trusted_issuer: issuers } }),
          },
        };
      },
      ...{ asks: () => true, mayEnd: true, facts: counted },
      done: ({ revoked }: Document<'revokeAll'>) => (revoked ? 'tokens_revoked' : 'nothing_changed'),
    },
    end_personal: {
      operation: 'endPersonalTokens',
      form: async () => ({
        schema: TOKEN_FILTERS,
        // The page of a user has the tokens of this user.
        spec: { first: ['resource', 'issued_before', 'unused_since', 'beyond_policy'], without: ['sub'] },
      }),
      ...{ asks: () => true, mayEnd: true, facts: namedTokens },
      done: ({ tokens }: Document<'endPersonalTokens'>) =>
        tokens > 0 ? 'personal_tokens_ended' : 'nothing_changed',
    },
  },
};

export const AUDIT: Acts = {
  page: 'audit',
  nameOf: async () => '',
  acts: {
    verify: {
      operation: 'verifyAudit',
      done: ({ problems }: Document<'verifyAudit'>) =>
        problems.length === 0 ? 'audit_verified' : 'audit_broken',
      warns({ problems, head }: Document<'verifyAudit'>) {
        if (problems.length > 0) return problems.slice(0, 3).map(problemSaid);
        return head === undefined ? [] : [['audit_head', head]];
      },
    },
    restart: {
      ...{ operation: 'restartAudit', form: { first: ['reason'] }, asks: () => true },
      done: 'audit_restarted',
    },
  },
};

/** A link `ask-ACT` for each act. */
export function tokenActs({ base }: ConsoleView, texts: Texts): Html {
  const links = Object.keys(TOKENS.acts).map((name) => actLink(TOKENS, name, base, {}, texts));
  return section('many', texts.console.massRevocation, html`<p class="actions">${links}</p>`);
}

/** Button `verify`, link `ask-restart`. */
export function auditActs(view: ConsoleView, texts: Texts): Html {
  const acts = Object.keys(AUDIT.acts).map((name) => actLink(AUDIT, name, view.base, {}, texts));
  return section('trail', texts.console.auditActs, actionForm(view, {}, acts));
}
