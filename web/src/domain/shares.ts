/** What a port to a plane carried. */
interface Carried {
  plane: number;
  times: readonly number[];
  step: number;
  values: readonly (number | null)[];
}

/**
 * The share that each plane has of all that ports carried, at each time that all of them have a value
 * of; null where one of them has none, or nothing was carried.
 */
export function shares(ports: readonly Carried[]): {
  times: number[];
  step: number;
  lines: { plane: number; values: (number | null)[] }[];
} {
  const step = Math.max(1, ...ports.map((p) => p.step));
  const at = ports.map((p) => new Map(p.times.map((t, i) => [t, p.values[i] ?? null])));
  const times = [...new Set(ports.flatMap((p) => p.times))].sort((a, b) => a - b);
  const planes = [...new Set(ports.map((p) => p.plane))].sort((a, b) => a - b);
  const lines = planes.map((plane) => ({ plane, values: [] as (number | null)[] }));
  for (const t of times) {
    const values = at.map((m) => m.get(t) ?? null);
    const all = values.includes(null) ? 0 : values.reduce<number>((sum, v) => sum + v!, 0);
    for (const l of lines)
      l.values.push(
        all > 0 ? ports.reduce((sum, p, i) => sum + (p.plane === l.plane ? values[i]! : 0), 0) / all : null,
      );
  }
  return { times, step, lines };
}
