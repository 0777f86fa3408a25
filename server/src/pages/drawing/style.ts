/**
 * The style sheet of all pages. Colours come from the palette. Buttons have a transition only under the pointer, because
 * a change of the theme would fade otherwise, with too little contrast on its way.
 */
export const STYLE = `
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: none; text-size-adjust: none; }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh;
  display: flex; flex-direction: column;
  font: 1rem/1.5 var(--font, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif);
  color: var(--text); background: var(--surface);
  overflow-wrap: anywhere; hyphens: auto; hyphenate-limit-chars: 12 4 4;
}
code, bdi, .name, input { hyphens: manual; }
main { width: 100%; margin: 0 auto; padding: 2rem 1.5rem 1rem; flex: 1; }
footer {
  display: flex; flex-wrap: wrap; align-items: center; justify-content: center; gap: .25rem 1.5rem;
  padding: 1rem 1.5rem 1.5rem; font-size: .875rem; color: var(--muted);
}
footer .operator-line { display: flex; align-items: center; gap: .5rem; }
footer .links { justify-content: center; }
footer .links a { color: inherit; }
.narrow main { max-width: 27rem; }
.wide main { max-width: 46rem; }

h1, h2, h3, p, ul, ol, dl, dd, form { margin: 0; }
ul { padding: 0; list-style: none; }
h1 { font-size: clamp(1.25rem, .625rem + 3.75vw, 1.625rem); line-height: 1.25; font-weight: 650; letter-spacing: -.01em; text-wrap: balance; }
h1.long { font-size: 1.25rem; line-height: 1.35; }
h2 { font-size: 1rem; line-height: 1.4; font-weight: 650; }
h3 { font-size: 1rem; line-height: 1.4; font-weight: 600; }
code { font: .875em/1.4 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
a { color: var(--accent); text-underline-offset: .2em; text-decoration-thickness: from-font; }
a:hover { text-decoration-thickness: 2px; }
.name { font-weight: 600; }
h1 .name, h3 .name, .primary .name { font-weight: inherit; }
.lead, .detail, .note { color: var(--muted); }
.detail, .note { font-size: .875rem; }

header { display: grid; gap: .5rem; margin-bottom: 1.75rem; }
header .mark { margin-bottom: .75rem; }
.operator { display: flex; align-items: center; gap: .75rem; margin-bottom: .75rem; font-size: 1.125rem; font-weight: 600; }
header .operator .mark { margin-bottom: 0; }
.mark { display: block; flex: none; width: 3rem; height: 3rem; border: 1px solid var(--line); border-radius: var(--radius, .6875rem); }
.logo { padding: .25rem; object-fit: contain; background: #fff; }
footer .logo { width: 1.5rem; height: 1.5rem; padding: .125rem; border: 1px solid var(--line); border-radius: .375rem; }
.icon { flex: none; width: 1.25rem; height: 1.25rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }

main > * + *, section + section { margin-top: 1.5rem; }
section > * + :is(.caution, .problem, .button, form), .note + .caution { margin-top: .75rem; }
h2 + .note { margin-top: .25rem; }
header + * { margin-top: 0; }

label { display: block; margin-bottom: .375rem; font-size: .875rem; font-weight: 600; }
fieldset { min-width: 0; margin: 0; padding: 0; border: 0; }
legend { margin-bottom: .375rem; padding: 0; font-size: .875rem; font-weight: 600; }
input:not([type=hidden]) {
  display: block; width: 100%; min-height: 3rem; margin-bottom: 1.25rem; padding: .5rem .875rem;
  font: inherit; color: inherit; background: var(--surface);
  border: 1px solid var(--edge); border-radius: var(--radius, .625rem);
}
input[aria-invalid] { border-color: var(--danger); }
h2 + .problem, .lead + .problem { margin-top: .75rem; }
.secret { position: relative; }
.secret .reveal {
  position: absolute; top: .125rem; right: .125rem; width: auto; min-height: 2.75rem; padding: .25rem .75rem;
  font-size: .875rem; font-weight: 400; border-color: transparent;
}
.reveal[aria-pressed=true] { text-decoration: underline; text-underline-offset: .2em; }
.secret .reveal[hidden] { display: none; }
.secret input { padding-right: 6rem; }
.field { display: grid; grid-template-columns: 1fr auto; align-items: baseline; gap: 0 1rem; margin-bottom: 1.25rem; }
.field input:not([type=hidden]) { margin-bottom: 0; }
.field > * { grid-area: 2 / 1 / auto / -1; }
.field > label { grid-area: 1 / 1; }
.field > a { grid-area: 1 / 2; margin-bottom: .375rem; font-size: .875rem; }
.hint { margin: -.875rem 0 1.25rem; }
input.unseen:not([type=hidden]) { width: 1px; min-height: 0; height: 1px; margin: 0; padding: 0; border: 0; }
.check { display: flex; gap: .75rem; align-items: start; margin-bottom: 1.25rem; }
.check input:not([type=hidden]) { flex: none; width: 1.5rem; min-height: 1.5rem; margin: 0; accent-color: var(--brand); }
.check label { margin: 0; font-weight: 400; line-height: 1.5rem; }
.mail { padding: 1.25rem 0; border-top: 1px solid var(--line); }
.mail-text { margin-top: .75rem; white-space: pre-line; }

button, .button {
  display: block; width: 100%; min-height: 3rem; padding: .625rem 1.25rem;
  font: inherit; font-weight: 600; line-height: 1.5; text-align: center; align-content: center; text-decoration: none; overflow-wrap: break-word; cursor: pointer;
  color: var(--text); background: var(--surface);
  border: 1px solid var(--edge); border-radius: var(--radius, .625rem);
}
button:hover, .button:hover { background: var(--ground); }
[data-sent], [data-sent] button { cursor: progress; }
[data-sent] button { opacity: .6; }
.primary { padding: .5625rem 1.1875rem; color: var(--on-brand); background: var(--brand); border: 2px solid var(--brand-edge); }
.quiet { width: auto; margin-right: auto; margin-left: auto; font-weight: 400; color: var(--accent); background: none; border-color: transparent; text-decoration: underline; text-decoration-thickness: from-font; text-underline-offset: .2em; }
.primary .detail { display: block; font-weight: 400; color: inherit; }
.primary:hover { background: var(--brand-hover); }
.danger { color: var(--danger); border-color: var(--danger); }
.danger:hover { background: var(--danger-ground); }
.primary.danger { color: var(--surface); background: var(--danger); }
.primary.danger:hover { text-decoration: underline; }
.with-mark { display: flex; align-items: center; gap: .75rem; }
.with-mark > :last-child { flex: 1; margin-right: clamp(0rem, 100vw - 24rem, 2rem); }
.provider-mark { flex: none; width: 1.25rem; height: 1.25rem; }
.provider-mark.picture { object-fit: contain; padding: 1px; border-radius: .25rem; background: #fff; }
.provider-mark.initial { line-height: 1.25rem; border: 1px solid var(--edge); border-radius: .25rem; font-size: .8125rem; }
.or { display: flex; align-items: center; gap: 1rem; font-size: .875rem; color: var(--muted); }
.or::before, .or::after { content: ''; flex: 1; border-top: 1px solid var(--line); }
main > .or + * { margin-top: 1rem; }
.request-number { display: flex; flex-wrap: wrap; align-items: center; gap: 0 .75rem; font-size: .875rem; }
.request-number code { font-size: 1em; user-select: all; }
.copy { width: auto; min-height: 2.25rem; padding: .25rem .75rem; font-size: .875rem; font-weight: 400; }
.copy.small { flex: none; min-height: 1.5rem; padding: .125rem .25rem; line-height: 1; background: none; border-color: transparent; }
.copy[hidden], #print-codes[hidden] { display: none; }
.keeping { display: flex; flex-wrap: wrap; gap: .75rem; }
.keeping > * { flex: 1 1 8rem; }
.keeping > * + * { margin: 0; }
.keeping .copy { min-height: 3rem; padding: .625rem 1.25rem; font: inherit; font-weight: 600; }
.providers :is(.note, .problem, .question) + * { margin-top: 1rem; }
.question { display: grid; gap: .75rem; padding: 1rem; border: 1px solid var(--line); border-radius: var(--radius, .625rem); }
.choices { display: flex; flex-wrap: wrap; gap: .75rem; }
.choices > * { flex: 1 1 7rem; width: auto; white-space: nowrap; }
form + .button, form + form, .button + .button, .leaving > * + * { margin-top: .75rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
#problem p + p { margin-top: .75rem; }
#problem:focus-visible { outline: none; }

.problem, .notice { display: flex; gap: .625rem; padding: .75rem .875rem; border: 1px solid; border-radius: var(--radius, .625rem); }
.problem .icon, .notice .icon { margin-top: .125rem; }
input.code { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace; letter-spacing: .1em; text-transform: uppercase; }
.caution { display: flex; gap: .625rem; padding: .75rem .875rem; font-size: .875rem; background: var(--ground); border: 1px solid var(--edge); border-radius: var(--radius, .625rem); }
.caution .icon { margin-top: .05rem; }
.problem { color: var(--danger); background: var(--danger-ground); }
.notice { color: var(--success); background: var(--success-ground); }

.person {
  display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .25rem 1rem;
  padding: .625rem .875rem; border: 1px solid var(--line); border-radius: var(--radius, .625rem);
}
.person p > * { display: block; }
.person a { padding: .625rem 0; }
.person .label { font-size: .8125rem; color: var(--muted); }

.tabs ul { display: flex; flex-wrap: wrap; gap: .25rem; }
.tabs a { display: block; padding: .625rem .875rem; color: inherit; text-decoration: none; border: 1px solid transparent; border-radius: var(--radius, .625rem); }
.tabs a:hover { background: var(--ground); }
.tabs a[aria-current] { font-weight: 600; background: var(--ground); border-color: var(--edge); }
.profile { margin-top: .5rem; }
.profile > div { padding: .75rem 0; border-bottom: 1px solid var(--line); }
.profile > div:last-child { border-bottom: 0; }
.profile dt { font-size: .875rem; color: var(--muted); }

.scopes.full { display: grid; gap: .75rem; margin-top: .75rem; }
.scopes.brief { display: grid; gap: .125rem; }
.scopes li { display: grid; grid-template-columns: auto 1fr; gap: 0 .75rem; }
.scopes .icon { margin-top: .125rem; color: var(--accent); }
.scopes .detail { grid-column: 2; }
.scopes.brief li { gap: .5rem; font-size: .875rem; }
.scopes.brief .icon { width: 1rem; height: 1rem; margin-top: .15rem; }
.scopes.full .offline { margin-top: .25rem; padding: .75rem; background: var(--ground); border: 1px solid transparent; border-radius: var(--radius, .625rem); }
.bullets { display: grid; gap: .25rem; margin-top: .5rem; padding-left: 1.125rem; list-style: disc; }
.bullets .name { font-weight: inherit; }
.bullets + .note { margin-top: .5rem; }
.bullets ::marker { color: var(--muted); }
.codes { display: flex; flex-wrap: wrap; gap: .375rem; margin-top: .625rem; }
.codes code { display: block; padding: .125rem .5rem; border: 1px solid var(--line); border-radius: .375rem; }
.links { display: flex; flex-wrap: wrap; gap: 0 1.25rem; font-size: .875rem; }
.links a { display: block; padding: .75rem 0; }
main > .links { margin: .25rem 0 -.75rem; }

.entries > li {
  display: grid; grid-template-columns: 3rem minmax(0, 1fr); gap: .75rem 1rem; align-items: start;
  padding: 1.25rem 0; border-bottom: 1px solid var(--line);
}
.entries > li:last-child { border-bottom: 0; }
.entries :is(button, .button) { grid-column: 2; justify-self: start; width: auto; min-height: 2.75rem; padding: .5rem 1rem; font-size: .9375rem; }
.entries li > form { grid-column: 2; }
.entry { display: grid; gap: .5rem; }
.agreed { display: grid; gap: .5rem; }
.agreed + .agreed { padding-top: .5rem; border-top: 1px solid var(--line); }
.entry h3 + .detail { margin-top: -.5rem; }
.entry .bullets { padding-left: 1.5rem; }
.entry :is(.bullets, .codes) { margin-top: 0; font-size: .875rem; }
.entries .device { display: grid; place-items: center; color: var(--muted); }
.badge { display: inline-block; padding: 0 .5rem; font-size: .8125rem; font-weight: 600; color: var(--accent); border: 1px solid; border-radius: 1rem; white-space: nowrap; }
.empty { padding: 1.25rem 0; color: var(--muted); }
summary { padding: .75rem 0; font-size: .875rem; cursor: pointer; }
.wide h2 { font-size: 1.125rem; }
.wide section ~ section { margin-top: 2.5rem; }
.fields { max-width: 27rem; margin-top: 1rem; }
#end-other-sessions { margin-top: .5rem; }
.note + form, .lead + form, .note + .entries { margin-top: 1rem; }
form > .note + button, #login-submit + button { margin-top: .75rem; }
.entry > details { margin-top: -.25rem; }
.entries details button { grid-column: 1; }
.entry > details > form, section > details > form { display: grid; gap: .75rem; }
.qr { display: block; width: 100%; max-width: 16rem; margin-bottom: 1rem; border: 1px solid var(--line); border-radius: var(--radius, .625rem); }
#totp-secret { font-size: 1rem; }
.recovery-codes { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: .5rem 1.5rem; padding: 1rem; list-style: none; border: 1px solid var(--line); border-radius: var(--radius, .625rem); }
.recovery-codes code { font-size: 1rem; }

.developers { padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: .8125rem; color: var(--muted); }
.developers h2 { font-size: inherit; }
.developers summary { padding: 0; }
.badge.unchecked, .badge.ended { color: var(--muted); }
.notice .badge { color: inherit; }
.badge.failed { color: var(--danger); }
.developers p { margin-top: .25rem; }
.developers dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; margin-top: .5rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

@media (min-width: 34rem) {
  body { background: var(--ground); padding: 2rem 1.5rem 0; }
  body::before { content: ''; flex: 1; }
  body::after { content: ''; flex: 1.4; }
  main {
    flex: none; padding: 2.5rem; background: var(--surface);
    border: 1px solid var(--line); border-radius: calc(2 * var(--radius, .625rem));
    box-shadow: 0 1px 2px rgb(0 0 0 / 4%), 0 12px 32px -12px rgb(0 0 0 / 10%);
  }
}
@media (min-width: 40rem) {
  .entries > li { grid-template-columns: 3rem minmax(0, 1fr) auto; }
  .entries :is(button, .button) { grid-column: 3; justify-self: end; }
  .entries li > form { grid-column: 3; }
  .entries details button { grid-column: 1; justify-self: start; }
  .wide :is(button, .button) { width: auto; }
  .profile > div { display: grid; grid-template-columns: 10rem minmax(0, 1fr); gap: 1rem; }
}
@media (prefers-reduced-motion: no-preference) {
  button:hover, .button:hover { transition: background-color .15s; }
}
@media (forced-colors: active) {
  .primary { border-width: 3px; }
  .icon { color: CanvasText; }
}
`;
