// Acts on pages that mostly show something: tokens and the audit trail.

import { html } from 'hono/html';
import { object, text, time } from '../admin/schema.ts';
import type { Document } from '../admin/table.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import { type Act, type Acts, actLink } from './acts.ts';
import { actionForm, type ConsoleView, section } from './frame.ts';

/** How many active tokens the revocation ends. */
const counted: Act['facts'] = async ({ call }, _, { console: words, formats }, values) => {
  const { active = 0 } = await call('revokeAll', { ...values, dry_run: true });
  return [[words.activeTokens, formats.number(active)]];
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
      ...{ asks: () => true, facts: counted },
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
      ...{ asks: () => true, facts: counted },
      done: ({ revoked }: Document<'revokeAll'>) => (revoked ? 'tokens_revoked' : 'nothing_changed'),
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
      warns: ({ problems, head }: Document<'verifyAudit'>) =>
        problems.length === 0
          ? head === undefined
            ? []
            : [`head: ${head}`]
          : problems.slice(0, 3).map((problem) => JSON.stringify(problem)),
    },
    restart: {
      ...{ operation: 'restartAudit', form: { first: ['reason'] }, asks: () => true },
      done: 'audit_restarted',
    },
  },
};

/** Links `ask-revoke_before` and `ask-revoke_trusted`. */
export function tokenActs({ base }: ConsoleView, texts: Texts): Html {
  const links = Object.keys(TOKENS.acts).map((name) => actLink(TOKENS, name, base, {}, texts));
  return section('many', texts.console.massRevocation, html`<p class="actions">${links}</p>`);
}

/** Button `verify`, link `ask-restart`. */
export function auditActs(view: ConsoleView, texts: Texts): Html {
  const acts = Object.keys(AUDIT.acts).map((name) => actLink(AUDIT, name, view.base, {}, texts));
  return section('trail', texts.console.auditActs, actionForm(view, {}, acts));
}
