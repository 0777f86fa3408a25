import { oneOf } from '../load/choice.ts';
import type { Connection } from '../load/connection.ts';
import type { History, Token } from './history.ts';
import type { Stand } from './stand.ts';

export interface Watched {
  /** The tokens that are to end. May grow during the operation. */
  readonly ending: readonly Token[];
  /** The tokens that must stay. */
  readonly staying?: readonly Token[];
  /** The server that gets the request; absent if no server does. */
  readonly at?: Connection;
}

const MOST_WATCHERS = 2;
const LOOKS_AFTERWARDS = 2;

/**
 * Reads tokens repeatedly while `end` runs, and at once when it has returned. These last reads go to other processes.
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
