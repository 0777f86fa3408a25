import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PlannedRequest, writeRequestFile } from '../load/request_file.ts';
import type { PopulationOrder, TokenKind } from '../population/order.ts';
import { type Population, population, tokenFileOf } from '../population/population.ts';
import { type PeerName, type PeerState, peerState } from '../subjects/peer_state.ts';
import { programIn } from '../subjects/program.ts';

/** The size of everything. */
export interface Sizes {
  /** Live records in grantd's database. */
  readonly records: number;
  /** Distinct tokens to draw from. */
  readonly tokens: number;
  /** The same for tokens of UserInfo and refreshes, which take longer to create. */
  readonly personal: number;
}

/** Opaque tokens exist in a multiple of that number, more than the program caches. */
const TIMES_OPAQUE = 3;

export function opaqueOf({ tokens }: Sizes): number {
  return TIMES_OPAQUE * tokens;
}

/** Tokens that are bound to a key. */
export function boundOf({ personal }: Sizes): number {
  return Math.ceil(personal / 2);
}

/** @param isComparison only the tokens that the works of README use, which are created faster */
export function populationOrder(sizes: Sizes, isComparison = false): PopulationOrder {
  const { records, tokens, personal } = sizes;
  if (isComparison)
    return {
      records,
      tokens: {
        jwt_rs256: tokens,
        opaque: opaqueOf(sizes),
        web_opaque_refresh: personal,
      },
    };
  return {
    records,
    tokens: {
      jwt_rs256: tokens,
      jwt_es256: tokens,
      bound_jwt: boundOf(sizes),
      opaque: opaqueOf(sizes),
      web_access: personal,
      web_refresh: personal,
      web_opaque_refresh: personal,
      web_es256_refresh: personal,
      web_opaque_code: personal,
      revoked_jwt: personal,
      revoked_opaque: personal,
    },
  };
}

interface StageOrder {
  /** The caller removes it afterwards. */
  readonly folder: string;
  readonly sizes: Sizes;
  readonly say: (text: string) => void;
  /** The program to start as grantd. Default: this repository's. */
  readonly program?: string;
  /** Creates its databases. Default: this repository's grantd. */
  readonly populate?: typeof population;
  /** Whether the peers are measured too. Default: true. */
  readonly hasPeers?: boolean;
  /** Whether only grantd and peers with the same storage are measured. Default: false. */
  readonly isComparison?: boolean;
}

const ROOT = join(import.meta.dirname, '..', '..');

/** The shared material of works: request files, databases and peer states, each created once. */
export class Stage {
  readonly folder: string;
  readonly sizes: Sizes;
  readonly say: (text: string) => void;
  readonly program: string;
  readonly hasPeers: boolean;
  readonly isComparison: boolean;
  readonly #populate: typeof population;

  constructor({
    folder,
    sizes,
    say,
    program = programIn(ROOT),
    populate = population,
    hasPeers = true,
    isComparison = false,
  }: StageOrder) {
    this.folder = folder;
    this.sizes = sizes;
    this.say = say;
    this.program = program;
    this.hasPeers = hasPeers;
    this.isComparison = isComparison;
    this.#populate = populate;
  }

  /** Shared by all works, because a million rows take a while. */
  population(): Promise<Population> {
    return this.#populate(populationOrder(this.sizes, this.isComparison), this.say);
  }

  /** A separate one, for works with another number of records. */
  populationOf(order: PopulationOrder): Promise<Population> {
    return this.#populate(order, this.say);
  }

  /** Shared by all works, like grantd's. */
  peer(name: PeerName): Promise<PeerState> {
    const { tokens, personal } = this.sizes;
    return peerState(
      name,
      {
        ...{ machine: tokens, refresh: personal },
        ...(!this.isComparison && { code: personal, person: personal, revoked: personal }),
      },
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
