import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PlannedRequest, writeRequestFile } from '../load/request_file.ts';
import type { PopulationOrder, TokenKind } from '../population/order.ts';
import { type Population, population, tokenFileOf } from '../population/population.ts';
import { type PeerName, type PeerState, peerState } from '../subjects/peer_state.ts';
import { programIn } from '../subjects/program.ts';

/** How much of everything there is. */
export interface Sizes {
  /** Live records in grantd's database. */
  readonly records: number;
  /** Distinct tokens that are drawn from. */
  readonly tokens: number;
  /** The same of what is signed to be refreshed or shown to UserInfo, which takes longer to make. */
  readonly personal: number;
}

/** Opaque tokens, of which there are so many times as many: more than the program remembers. */
const TIMES_OPAQUE = 3;

export function opaqueOf({ tokens }: Sizes): number {
  return TIMES_OPAQUE * tokens;
}

export function populationOrder(sizes: Sizes): PopulationOrder {
  const { records, tokens, personal } = sizes;
  return {
    records,
    tokens: {
      jwt_rs256: tokens,
      jwt_es256: tokens,
      opaque: opaqueOf(sizes),
      web_access: personal,
      web_refresh: personal,
      revoked_jwt: personal,
      revoked_opaque: personal,
    },
  };
}

export interface StageOrder {
  /** Removed afterwards by whoever made it. */
  readonly folder: string;
  readonly sizes: Sizes;
  readonly say: (text: string) => void;
  /** What is started as grantd. Default: this repository's. */
  readonly program?: string;
  /** Makes the databases that it serves from. Default: by this repository's grantd. */
  readonly populate?: typeof population;
  /** Whether others of its kind are measured as well. Default: true. */
  readonly hasPeers?: boolean;
}

const ROOT = join(import.meta.dirname, '..', '..');

/** What works are prepared on: files of requests, databases and peers' states, each made once. */
export class Stage {
  readonly folder: string;
  readonly sizes: Sizes;
  readonly say: (text: string) => void;
  readonly program: string;
  readonly hasPeers: boolean;
  readonly #populate: typeof population;

  constructor({
    folder,
    sizes,
    say,
    program = programIn(ROOT),
    populate = population,
    hasPeers = true,
  }: StageOrder) {
    this.folder = folder;
    this.sizes = sizes;
    this.say = say;
    this.program = program;
    this.hasPeers = hasPeers;
    this.#populate = populate;
  }

  /** The same for all works: a million rows take a while. */
  population(): Promise<Population> {
    return this.#populate(populationOrder(this.sizes), this.say);
  }

  /** One of its own, for works about another number of records. */
  populationOf(order: PopulationOrder): Promise<Population> {
    return this.#populate(order, this.say);
  }

  /** The same for all works, as grantd's own. */
  peer(name: PeerName): Promise<PeerState> {
    const { tokens, personal } = this.sizes;
    return peerState(
      name,
      { machine: tokens, person: personal, refresh: personal, revoked: personal },
      this.say,
    );
  }

  /** Writes the requests of one contestant of a work. */
  async requests(name: string, planned: Iterable<PlannedRequest>) {
    const requests = join(this.folder, `${name.replaceAll('/', '_')}.requests`);
    return { requests, ...(await writeRequestFile(requests, planned)) };
  }
}

export function tokensOf(population: Population, kind: TokenKind): readonly string[] {
  return linesOf(tokenFileOf(population, kind));
}

export function linesOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8').trimEnd().split('\n');
}
