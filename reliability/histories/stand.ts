import type { IssuedByOperator } from '@grantd/core';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { History, type Token } from './history.ts';
import type { Batch, Operator } from './operator.ts';

/** Connections to every process, and an operator. */
export class Stand {
  readonly connections: readonly Connection[];
  readonly operator: Operator;
  readonly #stock = new Map<StockKind, Promise<readonly Stocked[]>>();

  constructor(addresses: readonly string[], connectionsEach: number, operator: Operator) {
    this.connections = addresses.flatMap((address) =>
      Array.from({ length: connectionsEach }, () => new Connection(address)),
    );
    this.operator = operator;
  }

  anywhere(): Connection {
    return oneOf(this.connections);
  }

  /** On another process than that of the connection, if there is one. */
  elsewhere({ address }: Connection): Connection {
    const others = this.connections.filter((connection) => connection.address !== address);
    return others.length === 0 ? this.anywhere() : oneOf(others);
  }

  /** Tokens from a batch that the operator issued. */
  async take(kind: StockKind): Promise<{ readonly history: History; readonly tokens: readonly Token[] }> {
    // Callers wait for each other, so that no token is taken twice.
    const before = this.#stock.get(kind) ?? Promise.resolve([]);
    const stocked = before.then((stock) => (stock.length > 0 ? stock : this.#fill(kind)));
    this.#stock.set(
      kind,
      stocked.then((stock) => stock.slice(1)),
    );
    const [first] = await stocked;
    if (first === undefined) throw new Error(`no ${kind} token was issued`);
    const history = new History();
    return { history, tokens: tokensOf(history, first.batch, first.issued) };
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }

  async #fill(kind: StockKind): Promise<readonly Stocked[]> {
    const batch = await this.operator.issue({ what: kind, count: BATCH });
    return batch.issued.map((issued) => ({ batch, issued }));
  }
}

export type StockKind = 'opaque' | 'jwt' | 'pair_opaque' | 'pair_jwt';

interface Stocked {
  readonly batch: Batch;
  readonly issued: IssuedByOperator;
}

const BATCH = 100;

/** The tokens of one issuance, numbered if a history has several. */
export function tokensOf(
  history: History,
  { clientId, isPersonal, livesUntilNs, ...span }: Batch,
  { accessToken, refreshToken }: IssuedByOperator,
  number = 1,
): readonly Token[] {
  const access = {
    name: `A${number}`,
    text: accessToken,
    kind: 'access_token',
    clientId,
    isPersonal,
  } as const;
  const tokens: Token[] = [history.issued(access, span, 'operator', livesUntilNs)];
  if (refreshToken !== undefined) {
    const refresh = { name: `R${number}`, text: refreshToken, kind: 'refresh_token', clientId } as const;
    tokens.push(history.issued({ ...refresh, isPersonal: false }, span, 'operator', livesUntilNs));
  }
  return tokens;
}
