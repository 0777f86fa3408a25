/** A mutant that no test can notice, or that none needs to. */
interface Explained {
  readonly file: string;
  /** Part of its line, to tell it from the same change elsewhere in the file. */
  readonly within: string;
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

export const EXPLAINED: readonly Explained[] = [
  {
    file: 'core/src/token/refresh_token.ts',
    within: 'refresh.pairId === undefined ? {}',
    ...{ from: 'refresh.pairId === undefined', to: 'false' },
    why: 'the record leaves out a `pairId` that is undefined; the condition serves the type',
  },
  {
    file: 'core/src/token/refresh_token.ts',
    within: 'record.supersededAtMs ?? 0',
    ...{ from: '0', to: '1' },
    why: 'a superseded record always has the time; the default serves the type',
  },
];
