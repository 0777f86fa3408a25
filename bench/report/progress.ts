const EVERY_MS = 5000;

export type Say = (text: string) => void;

export function say(text: string): void {
  console.error(text);
}

/** For frequent messages. */
export function sayingRarely(): Say {
  let toldAtMs = Number.NEGATIVE_INFINITY;
  return (text) => {
    if (performance.now() - toldAtMs < EVERY_MS) return;
    toldAtMs = performance.now();
    say(text);
  };
}
