// For `--import`: sets the clock of the process now and then, as a faulty time service does.
const STEP_EVERY_MS = 5000;
const STEPS = 0.3;
/** Milliseconds. */
const MOST_AHEAD_MS = 20_000;

const { now } = Date;
let aheadMs = 0;
Date.now = () => now() + aheadMs;
setInterval(() => {
  if (Math.random() < STEPS) aheadMs = Math.round((Math.random() * 2 - 1) * MOST_AHEAD_MS);
}, STEP_EVERY_MS).unref();

export {};
