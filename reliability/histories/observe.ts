import { oneOf } from '../load/choice.ts';
import type { Connection } from '../load/connection.ts';
import type { History, Token } from './history.ts';
import type { Stand } from './stand.ts';

export interface Watched {
  /** What is to end. May grow while the end is on its way. */
  readonly ending: readonly Token[];
  /** What is to stay. */
  readonly staying?: readonly Token[];
  /** Where the end is asked for; absent where no server is asked. */
  readonly at?: Connection;
}

const MOST_WATCHERS = 2;
const LOOKS_AFTERWARDS = 2;

/**
 * Looks at tokens before they are ended, again and again while `end` runs, and at once when it has returned: then on
 * other processes than the one that was asked.
 */
export async function observe(
  stand: Stand,
  history: History,
  { ending, staying = [], at }: Watched,
  end: () => Promise<unknown>,
): Promise<void> {
  await Promise.all([...ending, ...staying].map((token) => history.look(token, stand.anywhere())));

  let isOver = false;
  const watch = async () => {
    while (!isOver) await history.look(oneOf([...ending, ...staying]), stand.anywhere());
  };
  const watchers = Math.min(MOST_WATCHERS, ending.length + staying.length);
  const watching = Array.from({ length: watchers }, watch);
  await end().finally(() => {
    isOver = true;
  });
  const afterwards = ending.flatMap((token) =>
    Array.from({ length: LOOKS_AFTERWARDS }, () =>
      history.look(token, at === undefined ? stand.anywhere() : stand.elsewhere(at)),
    ),
  );
  await Promise.all([...afterwards, ...watching]);
  await Promise.all(staying.map((token) => history.look(token, stand.anywhere())));
}
