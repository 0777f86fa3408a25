// Imports users from a file: the same lines, operation and report as the command grantd user import (ADR 221).
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { html } from 'hono/html';
import type { AdministratorChanges } from '../admin/administrator_changes.ts';
import { inProcess } from '../admin/in_process.ts';
import { LeftOut, leftOutSentence } from '../admin/left_out.ts';
import { MAX_LINES } from '../admin/operation.ts';
import { optional } from '../admin/schema.ts';
import { usersIn } from '../admin/user_files.ts';
import { type AddedUser, AddedUsers, type ImportOrder, importLines } from '../admin/user_import.ts';
import { ImportCounts } from '../admin/user_lines.ts';
import { Refused } from '../config/refused.ts';
import { wholeSentenceIn } from '../config/said.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { ConvertOptions } from '../people/exports/conversion.ts';
import { readFirebaseHash } from '../people/exports/firebase.ts';
import { formatOf, IMPORT_FORMATS, type ImportFormat } from '../people/exports/formats.ts';
import type { LineReport, NumberedLine } from '../people/import.ts';
import { type ImportFaultSaid, ImportFileRefused } from '../people/import_faults.ts';
import type { ImportLine } from '../people/import_lines.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { FORM_STYLE } from './forms.ts';
import {
  type ConsoleView,
  consoleFrame,
  hiddenFields,
  problemLine,
  section,
  termList,
  urlOf,
} from './frame.ts';
import { dataTable } from './lists.ts';
import { KEPT_FILE_MS, MAX_FILE, MAX_STATE_FILE } from './uploads.ts';
import { administratorsShown, ago } from './values.ts';

/** Where the file of an administrator is kept between the plan and the import, and the report after it. */
const FILE_PLACE = 'import';
const REPORT_PLACE = 'report of an import';

/** What the form says about the file, as flags of the command. */
const CHOICES = [
  'update',
  'create_groups',
  'roles_as_groups',
  'emails_verified',
  'drop_unusable_hashes',
  'allow_administrators',
] as const;

type Choice = (typeof CHOICES)[number];

/** Headings of docs/import.md about formats that have one. */
export const SECTIONS: Readonly<Partial<Record<ImportFormat, string>>> = {
  ...{ grantd: 'Lines', csv: 'Tables', keycloak: 'Keycloak', kratos: 'Ory Kratos', firebase: 'Firebase' },
  ...{ aspnet: 'Databases', 'better-auth': 'Databases', gitea: 'Databases', nextcloud: 'Databases' },
};

/** How a file is read, and what its users change. */
interface ImportChoices {
  readonly format: ImportFormat;
  readonly choices: readonly Choice[];
}

interface KeptFile extends ImportChoices {
  readonly text: string;
  /** As the browser names it. */
  readonly name: string;
  /** The parameters of the hashes of a Firebase project, as its console shows them. */
  readonly firebaseHash: string;
}

interface KeptReport {
  /** When the import was, in ISO 8601. */
  readonly at: string;
  /** A JSON object per line. */
  readonly lines: string;
}

/** More than fit into a file with the hashes of their passwords. Each has an outcome in memory. */
const MAX_USERS = 50_000;

/** Characters of a file that are read in one turn. Thousands of lines that cannot be read take seconds. */
const PIECE = 2048;

/** From so many users on, an import takes long enough that a browser seems to hang. */
const MANY_USERS = 5_000;

/** Refused lines that a page shows. */
const MAX_SHOWN = 100;

/** What an import does, or has done. */
interface ImportShown {
  readonly counts: ImportCounts['byOutcome'];
  readonly administrators?: AdministratorChanges;
  /** The first users who are added. */
  readonly added: readonly AddedUser[];
  /** The first lines that were refused. */
  readonly refused: readonly LineReport[];
  /** Why all refused lines were refused. */
  readonly refusals: LeftOut['kinds'];
  readonly leftOut: LeftOut['kinds'];
  /** Why the file was not read to its end. */
  readonly stopped?: ImportFaultSaid;
}

type Run = ImportShown & {
  /** Of the file, what was chosen for it, and the outcomes of all lines. */
  readonly digest: string;
  /** The lines that were refused, or of which something was left out. */
  readonly report: readonly LineReport[];
};

// ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────

/** `GET /console/import`: the form. */
export async function showImport(visit: Visit): Promise<Response> {
  return showForm(visit);
}

async function showForm(visit: Visit, typed: Partial<ImportView> = {}): Promise<Response> {
  const { c, view, setting } = visit;
  const kept = await keptFile(visit);
  const before = kept === undefined ? {} : { format: kept.format, choices: kept.choices };
  const reportAt = (await reportOf(visit))?.at;
  const report = reportAt === undefined ? {} : { reportAt };
  return renderPage(c, importPage({ ...view, ...before, ...report, ...typed }, setting));
}

/**
 * `POST /console/import`: checks a file (`do=check`), checks the kept file with other choices (`do=replan`), or imports
 * the file that was checked (`do=run`).
 */
export async function submitImport(visit: Visit): Promise<Response> {
  return visit.form.get('do') === 'run' ? run(visit) : check(visit);
}

/** The file that was checked last, while it is kept. */
async function keptFile({ console: parts, session }: Visit): Promise<KeptFile | undefined> {
  const text = await parts.shownOnce.find(session.person.subject, FILE_PLACE);
  return text === undefined ? undefined : JSON.parse(text);
}

async function check(visit: Visit): Promise<Response> {
  const { c, console: parts, form, session, setting, view } = visit;
  const isAgain = form.get('do') === 'replan';
  const before = isAgain ? await keptFile(visit) : undefined;
  const none = { problem: isAgain ? 'expired' : 'no_file' } as const;
  const file = (isAgain ? before : c.get('file')) ?? none;
  const format = IMPORT_FORMATS.find((name) => name === form.get('format')) ?? 'grantd';
  const choices = CHOICES.filter((name) => form.get(name) === 'yes');
  const firebaseHash = form.get('firebase_hash') ?? '';
  const again = (problem: ImportProblem) => showForm(visit, { problem, format, choices });
  if ('problem' in file) return again(file.problem);
  // The parser of YAML reads it in one turn.
  if (formatOf(format).form === 'yaml' && file.text.length > MAX_STATE_FILE) return again('too_large');
  if (firebaseHash.trim() !== '' && readFirebaseHash(firebaseHash) === undefined) return again('firebase');
  // The parameters contain a key, so no page shows them again.
  const hash = firebaseHash.trim() === '' ? (before?.firebaseHash ?? '') : firebaseHash;
  const kept: KeptFile = { text: file.text, name: file.name, format, choices, firebaseHash: hash };
  const planned = await lines(visit, kept, true);
  const owner = session.person.subject;
  await parts.shownOnce.keep(owner, FILE_PLACE, JSON.stringify(kept), KEPT_FILE_MS);
  return renderPage(c, importPlanPage({ ...view, kept, planned }, setting));
}

async function run(visit: Visit): Promise<Response> {
  const { c, console: parts, form, session, setting, view } = visit;
  const owner = session.person.subject;
  const kept = await keptFile(visit);
  if (kept === undefined) return showForm(visit, { problem: 'expired' });
  const planned = await lines(visit, kept, true);
  // Another file, or users who have changed since.
  if (planned.digest !== form.get('plan'))
    return renderPage(c, importPlanPage({ ...view, kept, planned, isChanged: true }, setting));
  const done = await lines(visit, kept, false);
  await parts.shownOnce.forget(owner, FILE_PLACE);
  const report = done.report.map((line) => `${JSON.stringify(line)}\n`).join('');
  if (report !== '') {
    const keptReport: KeptReport = { at: new Date(parts.pages.clock()).toISOString(), lines: report };
    await parts.shownOnce.keep(owner, REPORT_PLACE, JSON.stringify(keptReport));
  }
  return renderPage(c, importedPage({ ...view, done, hasReport: report !== '' }, setting));
}

/** `GET /console/import.jsonl`: the lines that were refused, or of which something was left out, for a day. */
export async function downloadReport(visit: Visit): Promise<Response> {
  const { c, view } = visit;
  const report = await reportOf(visit);
  if (report === undefined) return c.redirect(urlOf(view.base, 'import'), 303);
  return c.body(report.lines, 200, {
    'content-type': 'application/jsonl',
    'content-disposition': 'attachment; filename="import_report.jsonl"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
}

/** The report of the last import that had one, while it is kept. */
async function reportOf({ console: parts, session }: Visit): Promise<KeptReport | undefined> {
  const text = await parts.shownOnce.find(session.person.subject, REPORT_PLACE);
  return text === undefined ? undefined : JSON.parse(text);
}

async function lines(
  { console: parts, session, requireCaller }: Visit,
  kept: KeptFile,
  isDryRun: boolean,
): Promise<Run> {
  const { text, format, choices, firebaseHash } = kept;
  const has = (name: Choice) => choices.includes(name);
  const order: ImportOrder = {
    isDryRun,
    updates: has('update'),
    createsGroups: has('create_groups'),
    allowsAdministrators: has('allow_administrators'),
  };
  const options: ConvertOptions = {
    rolesAreGroups: has('roles_as_groups'),
    emailsAreVerified: has('emails_verified'),
    dropsUnusableHashes: has('drop_unusable_hashes'),
    firebaseHash: readFirebaseHash(firebaseHash),
  };
  const calls = inProcess({ ...parts.partsOf(session.person.subject), requireCaller });
  const [counts, digest] = [new ImportCounts(), createHash('sha256')];
  const [refusals, leftOut] = [new LeftOut(), new LeftOut()];
  const added = new AddedUsers();
  const all: LineReport[] = [];
  /** Whom the lines change: a username can belong to another user by then. */
  const subjects: (readonly [line: number, subject: string])[] = [];
  const onLine = ({ subject, ...line }: LineReport, read?: ImportLine) => {
    if (subject !== undefined) subjects.push([line.line, subject]);
    counts.count(line);
    added.count(line, read);
    refusals.count(line.reasons);
    leftOut.count(line.warnings);
    all.push(line);
  };
  let stopped: ImportFaultSaid | undefined;
  try {
    const users = few(usersIn(() => pieces(text), format, options));
    await importLines({ ...calls, maxLines: MAX_LINES }, order, users, onLine);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    stopped = error instanceof ImportFileRefused ? error.said : ['not_changed', error.message];
  }
  // Lines that the server never gets are reported before the others.
  const sorted = all.toSorted((one, other) => one.line - other.line);
  // Another file can have the same outcomes.
  digest.update(JSON.stringify(kept));
  digest.update(JSON.stringify(subjects));
  for (const line of sorted) digest.update(JSON.stringify(line));
  const report = sorted.filter(({ reasons, warnings }) => (reasons ?? warnings) !== undefined);
  return {
    counts: counts.byOutcome,
    ...optional('administrators', counts.administrators),
    added: added.first,
    refused: report.filter(({ reasons }) => reasons !== undefined).slice(0, MAX_SHOWN),
    refusals: refusals.kinds,
    leftOut: leftOut.kinds,
    ...(stopped !== undefined && { stopped }),
    ...{ digest: digest.update(String(stopped)).digest('base64url'), report },
  };
}

/** A file in pieces, between which other requests get their turn. */
async function* pieces(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += PIECE) {
    await nextTurn();
    yield text.slice(at, at + PIECE);
  }
}

/** @throws {ImportFileRefused} there are more users than the console imports */
async function* few(users: AsyncIterable<NumberedLine>): AsyncGenerator<NumberedLine> {
  let count = 0;
  for await (const user of users) {
    count += 1;
    if (count > MAX_USERS) throw new ImportFileRefused('file_most', String(MAX_USERS));
    yield user;
  }
}

// ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────

type ImportProblem = keyof Texts['console']['files']['problems'];

export interface ImportView extends ConsoleView {
  readonly problem?: ImportProblem;
  readonly format?: ImportFormat;
  readonly choices?: readonly Choice[];
  /** When the import was whose report is kept, in ISO 8601. */
  readonly reportAt?: string;
}

/** `/console/import`: fields `file` and `format`, button `import-check`, link `import-report`. */
export function importPage(
  { problem, format: chosen = 'grantd', choices = [], reportAt, ...view }: ImportView,
  setting: PageSetting,
): Page {
  const texts = textsIn(setting.language);
  const { files: words, pages } = texts.console;
  return consoleFrame(view, setting, {
    title: pages.import,
    lead: words.import.lead,
    style: FORM_STYLE,
    ...(problem !== undefined && { isProblem: true, status: 400 }),
    body: html`${problem === undefined ? '' : problemLine(words.problems[problem])}${
      reportAt === undefined
        ? ''
        : html`<p class="note">${words.import.lastImport} ${ago(reportAt, view.nowMs, texts)}. <a id="import-report" href="${view.base}/import.jsonl" download="import_report.jsonl">${words.import.report}</a></p>`
    }
<form method="post" action="${urlOf(view.base, 'import')}" enctype="multipart/form-data" class="form">
${hiddenFields(view, {})}${choiceFields({ format: chosen, choices }, texts)}${fileField(texts)}<div class="actions">
<button id="import-check" type="submit" class="primary" name="do" value="check">${words.import.check}</button>
</div>
</form>`,
  });
}

function choiceFields({ format: chosen, choices }: ImportChoices, texts: Texts): Html {
  const { files: words } = texts.console;
  return html`<label for="format">${words.import.format} <code class="raw">--format</code></label>
<select id="format" name="format">
${IMPORT_FORMATS.map((name) => html`<option value="${name}"${name === chosen ? html` selected` : ''}>${words.import.formats[name]}</option>\n`)}</select>
${CHOICES.map(
  (
    name,
  ) => html`<div class="check"><input id="${name}" name="${name}" type="checkbox" value="yes"${choices.includes(name) ? html` checked` : ''}>
<label for="${name}">${words.import.choices[name]} <code class="raw">--${name.replaceAll('_', '-')}</code></label></div>\n`,
)}<details><summary>${words.import.firebase}</summary>
<label for="firebase_hash">${words.import.firebaseHash}</label>
<textarea id="firebase_hash" name="firebase_hash" rows="6" autocomplete="off" autocapitalize="none" spellcheck="false"></textarea>
</details>
`;
}

/** Whether nothing of the file was read, as in a file of another format. */
function mayBeOther({ counts, refused, stopped }: ImportShown): boolean {
  const { failed, ...others } = counts;
  const isUnread = Object.values(others).every((count) => count === 0) && failed > 0;
  return stopped !== undefined || (isUnread && refused.every(({ username }) => username === undefined));
}

/**
 * The last field of a form, because what follows a file that is too large is not read.
 * @param most bytes
 */
export function fileField({ console: { files: words }, formats }: Texts, most = MAX_FILE): Html {
  return html`<label for="file">${words.file}</label>
<input id="file" name="file" type="file" required>
<p class="note hint">${words.limit(formats.number(most / 1024 / 1024))}</p>
`;
}

interface PlanView extends ConsoleView {
  readonly planned: ImportShown & Pick<Run, 'digest'>;
  readonly kept: Pick<KeptFile, 'name' | 'format' | 'choices'>;
  /** Whether another plan was confirmed. */
  readonly isChanged?: boolean;
}

/** What an import would do: buttons `import-run`, red if administrators change, and `import-replan`. */
export function importPlanPage({ planned, kept, isChanged, ...view }: PlanView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { files: words } = texts.console;
  const { imported, updated } = planned.counts;
  const canRun = imported + updated > 0 && planned.stopped === undefined;
  return consoleFrame(view, setting, {
    title: words.import.plan,
    trail: [],
    style: FORM_STYLE,
    body: html`${imported + updated >= MANY_USERS ? html`<p class="caution">${icon('alert')}<span>${words.import.long}</span></p>\n` : ''}${isChanged ? html`<p class="caution">${icon('alert')}<span>${words.changed}</span></p>\n` : ''}${
      canRun ? html`<p>${words.import.planText}</p>\n` : problemLine(words.import.nothing)
    }${mayBeOther(planned) ? html`<p>${words.import.otherFormat}</p>\n` : ''}<p class="note">${words.file}: <bdi>${kept.name}</bdi>. ${words.import.format}: ${words.import.formats[kept.format]}. ${words.import.howTo(html`<code>grantd help import</code>`, html`<cite lang="en">${SECTIONS[kept.format] ?? 'Exports'}</cite>`)}</p>
${outcomes(planned, texts)}${administratorsShown(planned.administrators, texts)}
<form method="post" action="${urlOf(view.base, 'import')}">
${hiddenFields(view, { plan: planned.digest })}<div class="actions">
${canRun ? html`<button id="import-run" type="submit" class="${planned.administrators === undefined ? 'primary' : 'final'}" name="do" value="run">${words.import.run}</button>\n` : ''}<a id="import-again" class="button" href="${urlOf(view.base, 'import')}">${words.again}</a>
</div>
</form>
${section(
  'choices',
  words.import.otherChoices,
  html`<form method="post" action="${urlOf(view.base, 'import')}" class="form">
${hiddenFields(view, {})}${choiceFields(kept, texts)}<div class="actions">
<button id="import-replan" type="submit" name="do" value="replan">${words.import.replan}</button>
</div>
</form>`,
)}`,
  });
}

interface ImportedView extends ConsoleView {
  readonly done: ImportShown;
  readonly hasReport: boolean;
}

/** What an import has done: link `import-report`. */
export function importedPage({ done, hasReport, ...view }: ImportedView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { files: words } = texts.console;
  return consoleFrame(view, setting, {
    title: words.import.done,
    body: html`<p>${hasReport ? words.import.doneText : words.import.doneWhole}</p>
${administratorsShown(done.administrators, texts)}${outcomes(done, texts)}
<p class="actions">${hasReport ? html`<a id="import-report" class="button" href="${view.base}/import.jsonl">${words.import.report}</a>` : ''}<a id="import-again" class="button" href="${urlOf(view.base, 'import')}">${words.again}</a></p>`,
  });
}

/** The first users whom the import would add. */
function addedShown({ added, counts }: ImportShown, texts: Texts): Html {
  const { labels, console: of } = texts;
  const { files: words } = of;
  if (added.length === 0) return html``;
  const more = counts.imported - added.length;
  const table = dataTable(
    {
      name: words.import.added,
      heads: [of.username, labels.email, labels.groups].map((title) => ({ title })),
      rows: added.map(({ username, email, groups }) => ({
        cells: [
          html`<bdi>${username}</bdi>`,
          email && html`<bdi>${email}</bdi>`,
          html`<bdi>${texts.formats.list(groups)}</bdi>`,
        ],
      })),
    },
    texts,
  );
  return section(
    'added',
    words.import.added,
    html`${table}${more > 0 ? html`<p class="note">${words.more(texts.formats.number(more))}</p>` : ''}`,
  );
}

function outcomes(shown: ImportShown, texts: Texts): Html {
  const { counts, leftOut, stopped } = shown;
  const { files: words } = texts.console;
  const count = (name: keyof typeof counts) =>
    [words.import.outcomes[name], texts.formats.number(counts[name])] as const;
  return html`${stopped === undefined ? '' : html`<p class="problem">${icon('alert')}<span><bdi>${wholeSentenceIn(words.faults, stopped)}</bdi></span></p>\n`}${termList(
    (['imported', 'updated', 'unchanged', 'skipped', 'exists', 'failed'] as const).map(count),
  )}${addedShown(shown, texts)}${
    leftOut.first.length === 0
      ? ''
      : section(
          'left-out',
          words.import.leftOut,
          kindsShown(
            leftOut,
            (users) => `${texts.console.countOf.users(users, texts.formats.number(users))}:`,
            texts,
          ),
        )
  }${refusedShown(shown, texts)}`;
}

/** The refused lines. If they have reasons in common, these come first. */
function refusedShown({ counts, refused, refusals }: ImportShown, texts: Texts): Html {
  const { files: words } = texts.console;
  const { formats } = texts;
  if (refused.length === 0) return html``;
  const more = counts.failed + counts.exists - refused.length;
  const lines = html`<ul class="rows" role="list">
${refused.map(
  ({ line, username, reasons = [] }) =>
    html`<li><p>${words.line(formats.number(line))}${username === undefined ? '' : html` <bdi>${username}</bdi>`}</p>${reasons.map(({ said }) => html`<p class="detail"><bdi>${wholeSentenceIn(words.faults, said)}</bdi></p>`)}</li>\n`,
)}</ul>${more > 0 ? html`<p class="note">${words.more(formats.number(more))}</p>` : ''}`;
  const isRepeated = refusals.first.some(({ users }) => users > 1);
  return section(
    'refused',
    words.import.refused,
    isRepeated
      ? html`${kindsShown(refusals, (count) => `${formats.number(count)} ×`, texts)}
<details><summary>${words.import.eachLine}</summary>
${lines}
</details>`
      : lines,
  );
}

function kindsShown(kinds: LeftOut['kinds'], counted: (count: number) => string, texts: Texts): Html {
  const { files: words } = texts.console;
  return html`<ul class="bullets">
${kinds.first.map((kind) => html`<li>${counted(kind.users)} <bdi>${leftOutSentence(kind, words.faults)}</bdi></li>\n`)}</ul>${kinds.more > 0 ? html`<p class="note">${words.more(texts.formats.number(kinds.more))}</p>` : ''}`;
}
