/** Rules of the console’s pages, after those of all pages. */
export const CONSOLE_STYLE = `
.rows > li { padding: .75rem 0; border-bottom: 1px solid var(--line); }
.rows > li:last-child { border-bottom: 0; }
.rows .detail > * { margin-right: .75rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .75rem; margin-top: .75rem; }
.figures > div { padding: .75rem .875rem; border: 1px solid var(--line); border-radius: .625rem; }
.figures dt { font-size: .875rem; color: var(--muted); }
.figures dd { font-size: 1.5rem; font-weight: 650; }
.badge.good { color: var(--success); }
.badge.bad { color: var(--danger); }
.search { max-width: 27rem; }
h2 + form { margin-top: .75rem; }
.row { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .75rem 1rem; }
.row > div { flex: 1 1 12rem; }
.row .button { flex: none; width: auto; min-height: 2.75rem; padding: .5rem 1rem; font-size: .9375rem; }
.listed { display: flex; flex-wrap: wrap; gap: .25rem .875rem; }
.rows li > p + p { margin-top: .25rem; }
select, textarea {
  display: block; width: 100%; min-height: 3rem; margin-bottom: 1.25rem; padding: .5rem .875rem;
  font: inherit; color: inherit; background: var(--surface);
  border: 1px solid var(--edge); border-radius: .625rem;
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
