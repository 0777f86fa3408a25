/** What histories have shown. */
export class FollowingTally {
  /** In which the token was accepted before its end, and refused after the bound. */
  histories = 0;
  /** The other ones: no server could be asked before the end, or after the bound. */
  inconclusive = 0;
  /** Within the bound after the end. */
  acceptances = 0;
  /** Looks without an answer. */
  unanswered = 0;
  readonly byWay: Record<string, number> = {};
  readonly disturbances: Record<string, number> = {};
  /** What ended the run before its time. */
  readonly failures: unknown[] = [];
  /** Acceptances that began after the bound. */
  readonly late: string[] = [];

  conclude(way: string): void {
    this.histories += 1;
    this.byWay[way] = (this.byWay[way] ?? 0) + 1;
  }

  note(seen: 'accepted' | 'refused' | 'unanswered'): void {
    if (seen === 'accepted') this.acceptances += 1;
    if (seen === 'unanswered') this.unanswered += 1;
  }

  disturb(...kinds: readonly string[]): void {
    for (const kind of kinds) this.disturbances[kind] = (this.disturbances[kind] ?? 0) + 1;
  }
}
