/** Dashes of the lines of a chart, in their order: a line is not known by its colour alone. */
export const dashes: number[][] = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

/** Something that happened at a moment in Unix seconds. */
export interface Moment {
  id: string;
  at: number;
  text: string;
}

/**
 * Puts moments that are too near to each other to be told apart into one: of a span of so many
 * seconds that is so many pixels wide, marks take size pixels each.
 */
export function marks<M extends Moment>(
  all: readonly M[],
  span: { from: number; to: number },
  width: number,
  size: number,
): { at: number; of: M[] }[] {
  const found: { at: number; of: M[] }[] = [];
  const scale = width / Math.max(1, span.to - span.from);
  for (const m of [...all].sort((a, b) => a.at - b.at)) {
    if (m.at < span.from || m.at > span.to) continue;
    const last = found.at(-1);
    if (last && (m.at - last.at) * scale < size) last.of.push(m);
    else found.push({ at: m.at, of: [m] });
  }
  return found;
}

/** Where the lines of a plot begin and end within its box, in pixels: the last time of day has room for its half. */
export const plotLeft = 84,
  plotRight = 28;
