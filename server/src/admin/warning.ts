// What operations tell their callers besides the outcome. Each face shows it in its own way.
import { type SaidIn, sentenceIn } from '../config/said.ts';
import { WARNINGS } from '../texts/en/warnings.ts';

/** A code, and what its sentence names. Texts of each language have a sentence for it. */
export type WarningSaid = SaidIn<typeof WARNINGS>;

export type WarningCode = WarningSaid[0];

/** Receives what the operator should look at. */
export type Warn = (warning: Warning) => void;

/** What the operator should look at. As text and in JSON, it is its English sentence. */
export class Warning {
  readonly said: WarningSaid;

  constructor(...said: WarningSaid) {
    this.said = said;
  }

  toString(): string {
    return sentenceIn(WARNINGS, this.said);
  }

  toJSON(): string {
    return this.toString();
  }
}

/** The warnings in the document of an operation. */
export function warningsIn(document: unknown): readonly WarningSaid[] {
  const { warnings = [] }: { readonly warnings?: readonly Warning[] } = Object(document ?? {});
  return warnings.map(({ said }) => said);
}
