/** Lines of charts, in order: each has 3:1 with the surface of its scheme (WCAG 2.2 §1.4.11). */
const LINES = {
  light: ['#1f6feb', '#b35900', '#1a7f37', '#9a3fb5', '#c0392b', '#5c6670'],
  dark: ['#58a6ff', '#f0883e', '#56d364', '#d2a8ff', '#ff7b72', '#9aa4ae'],
};

function linesOf(colors: readonly string[]): string {
  return colors.map((color, index) => `--chart-${index + 1}: ${color};`).join(' ');
}

/** How lines are dashed, so that colour is not all that tells them apart. */
const DASHES = ['solid', 'dashed', 'dotted', 'double', 'dashed', 'dotted'];

/** Rules that make cards of the rows of a table. */
function cardsOf(table: string): string {
  return `
  ${table}, ${table} :is(tbody, tr, th, td) { display: block; }
  ${table} thead { display: block; }
  ${table} td:has(#pick-all) { display: flex; flex: 1 0 100%; align-items: center; gap: .75rem; width: auto; }
  ${table} #pick-all:not([hidden]) + label { position: static; width: auto; height: auto; margin: 0; clip-path: none; font-weight: 400; }
  ${table} thead tr { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem; }
  ${table} thead tr:not(:has(a, input)), ${table} thead th:not(:has(a)) { display: none; }
  ${table} thead th[class] { width: auto; }
  ${table} tbody tr { position: relative; padding: .75rem 0; border-bottom: 1px solid var(--line); }
  ${table} tbody tr:has(.pick) { padding-left: 2.5rem; }
  ${table} :is(th, td) { width: auto; min-width: 0; padding: .125rem 0; border: 0; }
  ${table} tbody tr { display: flex; flex-wrap: wrap; gap: 0 1rem; }
  ${table} tbody th { flex: 1 0 100%; }
  ${table} .pick { position: absolute; top: .75rem; left: 0; width: auto; }
  ${table} tbody th { font-weight: 600; }
  ${table} td:has(.codes) { flex: 1 0 100%; }
  ${table} td:empty { display: none; }
  ${table} td[data-title]::before { content: attr(data-title) ': '; font-size: .875rem; color: var(--muted); }`;
}

/** Bar, navigation and headline. The navigation is a popover on narrow screens, and always there on others. */
const FRAME = `
.console { padding: 0; background: var(--surface); }
.console::before, .console::after { content: none; }
.console main { flex: 1; max-width: 84rem; margin: 0; padding: 1.25rem 1.5rem 3rem; background: var(--surface); border: 0; border-radius: 0; box-shadow: none; }
.console footer { justify-content: start; padding-top: 0; background: var(--surface); }
.asking main { max-width: 36rem; }
.skip { position: absolute; top: -6rem; left: .5rem; z-index: 4; padding: .75rem 1rem; background: var(--surface); border-radius: var(--radius, .625rem); }
.skip:focus { top: .5rem; }

.bar { display: grid; grid-template-columns: minmax(0, 1fr) auto; align-items: center; gap: .5rem 1.25rem; margin: 0; padding: .75rem 1.5rem; background: var(--ground); border-bottom: 1px solid var(--line); }
#home { display: flex; align-items: center; gap: .625rem; min-width: 0; min-height: 2.75rem; font-weight: 600; color: inherit; text-decoration: none; }
#home bdi { overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
#home .mark { width: 2rem; height: 2rem; margin: 0; }
#menu-close { margin-left: auto; }
#menu, #menu-close { width: auto; min-height: 2.75rem; padding: .5rem .875rem; }
#menu { display: flex; align-items: center; gap: .5rem; }
#server-health, .who { font-size: .875rem; }
#server-health { display: inline-flex; align-items: center; gap: .5rem; min-height: 2.75rem; color: inherit; text-decoration: none; }
#server-health:hover { text-decoration: underline; }
#server-health::before { content: ''; flex: none; width: .625rem; height: .625rem; border: 2px solid var(--danger); border-radius: 50%; background: var(--danger); }
#server-health.ready::before { border-color: var(--success); background: var(--success); }
#server-health.clock_wrong::before { background: none; }
.find { position: relative; grid-column: 1 / -1; }
.find input:not([type=hidden]) { min-height: 2.75rem; margin: 0; padding-right: 3rem; text-overflow: ellipsis; }
.find input::placeholder { color: var(--muted); opacity: 1; }
#find { position: absolute; inset: 1px 1px 1px auto; display: grid; place-items: center; width: 2.75rem; min-height: 0; padding: 0; background: none; border: 0; }
.who { display: flex; flex-wrap: wrap; align-items: center; gap: 0 .75rem; margin-left: auto; }
.who a { padding: .625rem 0; }
@media (max-width: 47.99rem) {
  .bar:has(.find) { grid-template-columns: minmax(0, 1fr) auto auto; padding-inline: 1rem; }
  .bar:has(.find) #menu { grid-column: 2 / -1; }
  .find { grid-column: 1; }
  #server-health > span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  #server-health { justify-content: center; min-width: 1.5rem; }
  .find ~ .who bdi { display: none; }
}

#navigation { grid-column: 1 / -1; margin: 0; padding: 1rem; color: inherit; background: var(--ground); border: 0; }
#navigation p { margin: .625rem 0 .125rem; padding: 0 .75rem; font-size: .8125rem; color: var(--muted); }
#navigation a { display: block; padding: .3125rem .75rem; color: inherit; text-decoration: none; border: 1px solid transparent; border-radius: var(--radius, .625rem); }
#navigation a:hover { background: var(--surface); }
#navigation a[aria-current] { font-weight: 600; background: var(--surface); border-color: var(--edge); }
#shortcut { display: flex; align-items: center; gap: .5rem; margin: .5rem 0 0; padding: .25rem .75rem; font-size: .8125rem; font-weight: 400; color: var(--muted); }
#shortcut[hidden] { display: none; }
@media (max-width: 47.99rem) { #shortcut { display: none; } }
#shortcut input { flex: none; width: 1.5rem; height: 1.5rem; min-height: 0; margin: 0; accent-color: var(--brand); }
.console #try-again { display: inline-block; width: auto; }
@media (max-width: 59.99rem) {
  @supports selector(:popover-open) {
    #navigation { position: fixed; inset: 0; grid-column: 1 / -1; width: 100%; height: auto; max-height: none; overflow-y: auto; }
    .bar:has(#navigation:popover-open) > :not(#navigation), .bar:has(#navigation:popover-open) ~ * { visibility: hidden; }
  }
}
@media (min-width: 60rem) {
  html { scroll-padding-top: 5rem; }
  .console { background: linear-gradient(to right, var(--ground) calc(15rem - 1px), var(--line) calc(15rem - 1px) 15rem, var(--surface) 15rem); }
  .bar { position: sticky; top: 0; z-index: 3; display: flex; height: 4rem; padding-block: 0; }
  #menu, #menu-close { display: none; }
  .find { flex: 0 1 30rem; min-width: 14rem; }
  #navigation { display: block; position: fixed; inset: 4rem auto 0 0; z-index: 2; width: 15rem; height: auto; max-height: none; overflow-y: auto; border-right: 1px solid var(--line); }
  #navigation p:first-of-type { margin-top: 0; }
  .console main, .console footer { margin-left: 15rem; }
  .console main { width: calc(100% - 15rem); padding: 1.5rem 2.5rem 3rem; }
  .console footer { padding-inline: 2.5rem; }
}

.heading { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem; margin-bottom: 1.75rem; }
.crumbs, .heading .lead { flex: 1 0 100%; }
.crumbs ol { display: flex; flex-wrap: wrap; align-items: baseline; padding: 0; list-style: none; font-size: .875rem; color: var(--muted); }
.crumbs li + li::before { content: '›' / ''; padding: 0 .5rem; }
@media (max-width: 47.99rem) { .crumbs li[aria-current]:not(:only-child) { display: none; } }
.crumbs a { display: inline-block; padding: .25rem 0; color: inherit; }
.title { display: flex; flex-wrap: wrap; flex: 1 1 16rem; align-items: center; gap: .25rem .75rem; min-width: 0; min-height: 2.75rem; }
.act { flex: none; }
.act .actions { gap: .5rem; margin-top: 0; }
.act form { margin: 0; }
@media (max-width: 47.99rem) {
  .act { flex: 1 0 100%; margin-top: 1rem; }
  .act .actions { position: relative; }
  .act .menu { position: static; }
  .act .menu > div { right: 0; width: auto; max-width: none; }
}
@media (min-width: 48rem) { .act .menu > div { right: 0; left: auto; } }
#notice:focus-visible { outline: none; }
.act :is(button, .button) { width: auto; min-height: 2.75rem; padding: .5rem 1.125rem; }

.answers { display: flex; flex-wrap: wrap; align-items: center; gap: .75rem 1.5rem; }
.answers button { width: auto; }
#console-no { padding: .75rem .5rem; }
.final { color: var(--surface); background: var(--danger); border-color: var(--danger); }
.final:hover { background: var(--danger); text-decoration: underline; text-underline-offset: .2em; }
`;

/** Rules of the console’s pages, after those of all pages. */
export const CONSOLE_STYLE = `${FRAME}
:root { ${linesOf(LINES.light)} --wait: #8a5300; }
@media (prefers-color-scheme: dark) { :root { ${linesOf(LINES.dark)} --wait: #f0b050; } }
.ending { color: var(--danger); }
.profile .codes { margin-top: 0; }
#stopped[hidden] { display: none; }
#stopped { margin-top: .75rem; }
.fields .problem { margin-bottom: 1rem; }
.problem + label { margin-top: 1rem; }
.console section > * + p:not(.empty, .actions) { margin-top: .5rem; }
.charts { display: grid; gap: 2rem 2.5rem; margin-top: 1.25rem; }
.wide .charts > section { min-width: 0; margin-top: 0; }
.plot { height: 160px; margin: .5rem 0; overflow: hidden; }
.charts table { width: 100%; border-collapse: collapse; font-size: .8125rem; }
.charts :is(th, td) { padding: .25rem 0 .25rem .75rem; text-align: right; font-weight: 400; font-variant-numeric: tabular-nums; border-bottom: 1px solid var(--line); }
.charts th:first-child { position: relative; padding-left: 1.5rem; text-align: left; }
.charts thead th { color: var(--muted); }
.charts td { white-space: nowrap; }
.charts .why { display: none; color: var(--muted); }
@media (max-width: 47.99rem) { .charts thead th:not(:first-child) { width: 1px; } }
@media (max-width: 24rem) { .charts :is(th, td):not(:first-child) { padding-left: .375rem; } }
@media (min-width: 64rem) { .charts .why { display: block; } }
.swatch { position: absolute; top: .75rem; left: 0; width: 1.125rem; border-top: 3px solid; }
${DASHES.map((dash, index) => `.swatch.s${index + 1} { border-top: 3px ${dash} var(--chart-${index + 1}); }`).join('\n')}
@media (min-width: 40rem) { .profile > div { align-items: baseline; } }
@media (min-width: 48rem) { .charts { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
.filter { display: grid; gap: .75rem 1rem; align-items: end; }
.filter > div { min-width: 0; }
.filter :is(input:not([type=hidden]), select) { min-height: 2.75rem; margin: 0; }
.filter button { min-height: 2.75rem; padding: .5rem 1.125rem; }
.unfolded summary { padding: .25rem 0; }
.unfolded > div { min-width: 0; margin-top: .75rem; }
@media (min-width: 48rem) {
  @supports selector(::details-content) {
    .unfolded { grid-column: span 2; }
    .unfolded::details-content { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; content-visibility: visible; }
    .unfolded > div { margin: 0; }
    .unfolded > summary { display: none; }
  }
}
.shortcuts ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; border-bottom: 1px solid var(--line); }
.shortcuts a { display: block; padding: .5rem 0; color: inherit; text-decoration: none; border-bottom: 2px solid transparent; }
.shortcuts a:hover { border-color: var(--edge); }
.shortcuts a[aria-current] { font-weight: 600; border-color: var(--accent); }
.turning { display: flex; flex-wrap: wrap; gap: .75rem; }
.turning > .button { width: auto; margin: 0; min-height: 2.75rem; padding: .5rem 1.125rem; }
.bulk { display: flex; flex-wrap: wrap; gap: .5rem .75rem; margin: 1rem 0 0; padding: 0; border: 0; }
html:has(input[name=picked]:checked) { scroll-padding-bottom: 7rem; }
:has(> table input[name=picked]:checked) > .bulk { position: sticky; bottom: 0; z-index: 2; margin-inline: -.5rem; padding: .625rem .5rem .75rem; background: var(--surface); border-top: 1px solid var(--edge); }
@media (max-width: 40rem) {
  :has(> table input[name=picked]:checked) > .bulk { flex-wrap: nowrap; overflow-x: auto; }
  :has(> table input[name=picked]:checked) > .bulk > legend { width: auto; white-space: nowrap; }
  :has(> table input[name=picked]:checked) > .bulk > button { flex: none; }
}
.bulk legend { float: left; width: 100%; margin-bottom: .5rem; padding: 0; font-size: .875rem; color: var(--muted); }
.bulk button { width: auto; min-height: 2.5rem; padding: .375rem .875rem; font-size: .9375rem; }
.data { width: 100%; border-collapse: collapse; table-layout: fixed; font-size: .9375rem; }
.data th.small { width: 7.5rem; }
.data th.large { width: 19%; }
.data bdi[title] { display: inline-block; max-width: 100%; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; vertical-align: bottom; }
.data .button { display: inline-block; width: auto; min-height: 2.25rem; padding: .25rem .75rem; font-size: .875rem; }
.data :is(th, td) { padding: .625rem .5rem; font-weight: 400; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
.data thead th { padding-block: .5rem; font-size: .8125rem; font-weight: 600; color: var(--muted); vertical-align: bottom; }
.data thead a { color: inherit; }
.data [aria-sort] a::after { content: ''; display: inline-block; margin-left: .375rem; vertical-align: middle; border: .25rem solid transparent; border-top-width: 0; border-bottom-color: currentColor; }
.data [aria-sort=descending] a::after { rotate: 180deg; }
.data .codes { margin: 0; }
.data :is(.detail, .reason) { font-weight: 400; }
.data input[type=checkbox] { display: block; width: 1.5rem; min-height: 1.5rem; margin: 0; accent-color: var(--brand); }
.data input[hidden], .data input[hidden] + label { display: none; }
.data :is(.pick, thead td) { width: 2.25rem; padding-left: 0; }
.data tbody tr:hover { background: var(--ground); }
@media (min-width: 48rem) {
  .filter { grid-template-columns: minmax(12rem, 1fr) repeat(2, minmax(8rem, 12rem)) auto; }
  .filter:not(:has(select)) { grid-template-columns: minmax(12rem, 27rem) auto; justify-content: start; }
  .filter:not(:has(select)):has(> div + div) { grid-template-columns: repeat(2, minmax(8rem, 20rem)) auto; justify-content: start; }
}
@media (max-width: 47.99rem) {${cardsOf('.data')}
}
@media (max-width: 59.99rem) {${cardsOf('.many')}
}
.rows > li { padding: .75rem 0; border-bottom: 1px solid var(--line); }
.rows > li:last-child { border-bottom: 0; }
.rows .detail > * { margin-right: .75rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .75rem; margin-top: .75rem; }
.figures > div { padding: .75rem .875rem; border: 1px solid var(--line); border-radius: var(--radius, .625rem); }
.figures dt { font-size: .875rem; color: var(--muted); }
.figures dd { font-size: 1.5rem; font-weight: 650; }
main .badge { white-space: normal; }
.badge.good { color: var(--success); }
.badge.bad { color: var(--danger); }
.badge.wait { color: var(--wait); border-color: currentColor; }
.filters { display: grid; gap: 0 1.25rem; }
.filters > details, .filters > .actions { grid-column: 1 / -1; }
.filters summary { margin-bottom: 1rem; cursor: pointer; }
.filters .actions { margin-top: 0; }
.filters .actions > * { width: auto; }
@media (min-width: 48rem) { .filters { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
.raw { font-weight: 400; color: var(--muted); font-size: .75rem; }
h2 + form { margin-top: .75rem; }
.row { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .75rem 1rem; }
.row > div { flex: 1 1 12rem; }
.row .button { flex: none; width: auto; min-height: 2.25rem; padding: .25rem .75rem; font-size: .875rem; }
.columns { display: grid; grid-template-columns: minmax(0, 1fr); gap: 2.5rem 3rem; }
.columns + section { margin-top: 2.5rem; }
@media (min-width: 75rem) { .columns { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
.menu { position: relative; }
.menu > summary { list-style: none; }
.menu > summary::-webkit-details-marker { display: none; }
.menu > summary::after { content: ''; display: inline-block; margin-left: .5rem; vertical-align: middle; border: .3rem solid transparent; border-bottom-width: 0; border-top-color: currentColor; }
.menu > div { position: absolute; top: calc(100% + .25rem); left: 0; z-index: 2; width: max-content; max-width: min(20rem, 80vw); padding: .375rem; background: var(--surface); border: 1px solid var(--edge); border-radius: var(--radius, .625rem); box-shadow: 0 8px 24px rgb(0 0 0 / 16%); }
.menu > div > :is(button, .button) { width: 100%; margin: 0; padding-inline: .75rem; font-weight: 400; text-align: left; border-color: transparent; }
.menu .note { padding: .5rem .75rem; }
.listed { display: flex; flex-wrap: wrap; gap: .25rem .875rem; }
.rows li > p + p { margin-top: .25rem; }
.copied { display: inline-flex; align-items: center; gap: .5rem; max-width: 100%; }
.copied > :first-child { min-width: 1.5rem; overflow: hidden; }
.copied > code { user-select: all; }
:is(td, .detail):has(> .moment) { position: relative; }
:is(tr, li):focus-within :is(td, .detail) > .moment::after { content: attr(title); position: absolute; top: calc(100% - .5rem); left: 0; z-index: 1; width: max-content; max-width: 100%; padding: .125rem .375rem; font-size: .75rem; color: var(--surface); background: var(--text); border-radius: .25rem; pointer-events: none; }
:is(tr, li):focus-within .detail > .moment ~ .moment::after { top: calc(100% + .875rem); }
.exact { color: var(--muted); }
.console table { overflow-wrap: break-word; }
.console table :is(code, bdi) { overflow-wrap: anywhere; }
.whole { white-space: nowrap; }
a > :is(.identifier, bdi) { text-decoration: inherit; }
.filter + .data, :is(.data, .rows, form) + .turning { margin-top: 1rem; }
.identifier { display: inline-block; max-width: min(12ch, 100%); overflow: hidden; white-space: nowrap; text-overflow: ellipsis; vertical-align: bottom; }
.copied > a > .identifier { max-width: 12ch; }
.reason { font-size: .875rem; }
.refusals { width: 100%; border-collapse: collapse; }
.refusals :is(th, td) { padding: .375rem 1rem .375rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
.refusals th { font-size: .8125rem; color: var(--muted); vertical-align: bottom; }
.refusals :is(th, td):last-child { padding-right: 0; }
.refusals td:first-child { font-variant-numeric: tabular-nums; }
@media (max-width: 47.99rem) {
  .refusals thead { display: none; }
  .refusals tr { display: grid; grid-template-columns: minmax(3.5rem, auto) minmax(0, 1fr); gap: 0 .75rem; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .refusals td { padding: 0; border: 0; }
  .refusals td:last-child { grid-column: 2; }
}
.troubles .detail .reason { display: inline; }
.troubles { margin-block: .75rem; border: 1px solid var(--line); border-left: 4px solid var(--danger); border-radius: var(--radius, .625rem); }
.troubles > li { padding-inline: 1rem; }
.sentence { font-size: 1.125rem; }
select, textarea {
  display: block; width: 100%; min-height: 3rem; margin-bottom: 1.25rem; padding: .5rem .875rem;
  font: inherit; color: inherit; background: var(--surface);
  border: 1px solid var(--edge); border-radius: var(--radius, .625rem);
}
textarea { min-height: 8rem; font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace; font-size: .875rem; resize: vertical; }
.family { display: block; width: 100%; max-width: 34rem; margin-top: .75rem; }
.family path { fill: none; stroke: var(--edge); stroke-width: 1.5; }
.family .box {
  display: grid; align-content: center; height: 100%; padding: 0 .25rem; text-align: center; line-height: 1.3;
  color: var(--text); background: var(--surface); border: 1px solid var(--edge); border-radius: 8px;
}
.family .box > * { overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.family span { font-size: 12px; }
.family small { font-size: 10px; }
.family .this { background: var(--ground); border: 2px solid var(--accent); font-weight: 650; }
.family .dead { border-style: dashed; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: .75rem; }
.actions > * { margin: 0; }
.actions .button + .button { margin-top: 0; }
`;
