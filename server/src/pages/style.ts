/** The one style sheet. Colours that depend on the brand come from the palette. */
export const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 26rem; margin: 2rem auto; padding: 0 1rem; }
label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit; }
.mark { width: 3rem; height: 3rem; }
.mark-small { width: 1rem; height: 1rem; }
.unseen { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; white-space: nowrap; }
`;
