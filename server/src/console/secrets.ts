import { html } from 'hono/html';
import type { SecretView } from '../admin/secrets.ts';
import type { Document } from '../admin/table.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type Act, type Acts, actLink } from './acts.ts';
import { type ConsoleView, consoleFrame, termList } from './frame.ts';
import type { ShownSecret } from './kept_secrets.ts';
import { clientLinks } from './lists.ts';
import { type Names, namesOf } from './names.ts';
import { secretSection, submitSaved } from './shown_once.ts';
import { TRY_STYLE } from './try_it.ts';
import { copied } from './values.ts';

const PLACE = 'server secret';

/** Where the server has its secret from. */
const placeOf: Act['warns'] = ({ file, source }: Document<'rotateSecrets' | 'dropSecrets'>) => {
  const place = file ?? source;
  return place === undefined ? [] : [['secret_place', place]];
};

export const SECRETS: Acts = {
  page: 'secrets',
  nameOf: async () => '',
  acts: {
    rotate: {
      operation: 'rotateSecrets',
      form: { first: ['generate'] },
      asks: () => true,
      async after({ console: { shownOnce }, session }, { secret }: Document<'rotateSecrets'>) {
        if (secret !== undefined) await shownOnce.add(session.id, PLACE, secret);
      },
      done: ({ file }: Document<'rotateSecrets'>) =>
        file === undefined ? 'server_secret_by_option' : 'server_secret_rotated',
      warns: placeOf,
    },
    drop: {
      operation: 'dropSecrets',
      form: { first: ['force'] },
      asks: () => true,
      mayEnd: true,
      done: ({ file }: Document<'dropSecrets'>) =>
        file === undefined ? 'server_secret_by_option' : 'server_secrets_dropped',
      warns: placeOf,
    },
  },
};

/** `GET /console/secrets`: the secrets of the server by their fingerprints; with `ask` a form. */
export async function showSecrets(visit: Visit): Promise<Response> {
  const { c, call, console: parts, session, setting, view } = visit;
  const { items: secrets } = await call('listSecrets', {});
  const made = await parts.shownOnce.secrets(session.id, PLACE);
  const clientIds = secrets.flatMap(({ clients }) => clients);
  const names = await namesOf(parts.partsOf(session.person.subject), { clientIds });
  return renderPage(c, secretsPage({ ...view, secrets, made, names }, setting));
}

export async function submitSecrets(visit: Visit): Promise<Response> {
  return submitSaved(visit, PLACE, {});
}

export interface SecretsView extends ConsoleView {
  readonly secrets: readonly SecretView[];
  /** Of their clients. */
  readonly names: Names;
  /** Secrets that were just made, for an option. */
  readonly made?: readonly ShownSecret[];
}

/** `/console/secrets`: links `ask-rotate` and `ask-drop`. */
export function secretsPage({ secrets, made = [], names, ...view }: SecretsView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words, formats } = texts;
  const act = (name: string) => actLink(SECRETS, name, view.base, {}, texts);
  const number = (count: number) => (count === 0 ? undefined : formats.number(count));
  return consoleFrame(view, setting, {
    title: words.pages.secrets,
    lead: words.secretsText,
    style: TRY_STYLE,
    body: html`${secretSection(view, setting.language, made, {})}<ul class="rows" role="list">
${secrets.map(
  (
    one,
  ) => html`<li>${copied(one.secret, texts, html`<code>${one.secret}</code>`)} <span class="badge${one.use === 'missing' ? ' bad' : ''}">${words.secretUses[one.use]}</span>
${termList([
  [words.pages.clients, clientLinks(view.base, one.clients, names)],
  [words.signingKeys, number(one.signing_keys.length)],
  [words.authenticatorApps, number(one.authenticator_apps)],
  [words.pairwiseSecret, one.pairwise_secret ? words.forms.yes : undefined],
  [words.auditSeal, one.audit_trail ? words.forms.yes : undefined],
])}</li>\n`,
)}</ul>
<p class="actions">${act('rotate')}${act('drop')}</p>`,
  });
}
