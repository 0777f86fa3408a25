import type { Measurement } from '../running.ts';
import { spread } from '../statistics.ts';

/** The ratio between two contestants, per round: each is compared with the measurement next to it. */
export function comparisonLine(
  title: string,
  measurements: readonly Pick<Measurement, 'contestant' | 'round' | 'perSecond'>[],
  [a, b]: readonly [string, string],
): string {
  const of = (name: string) => measurements.filter(({ contestant }) => contestant === name);
  const ratios = of(a).flatMap(({ round, perSecond }) => {
    const beside = of(b).find((measured) => measured.round === round);
    return beside === undefined ? [] : perSecond / beside.perSecond;
  });
  const { median, min, max } = spread(ratios);
  const rate = (name: string) =>
    `${Math.round(spread(of(name).map(({ perSecond }) => perSecond)).median)}/s ${name}`;
  return (
    `${title}: ${median.toFixed(3)} times (${min.toFixed(3)} to ${max.toFixed(3)} in ${ratios.length} rounds; ` +
    `${rate(a)}, ${rate(b)})`
  );
}
