/** Values at a time, in milliseconds of the clock, by name; null: not known then. */
export interface Sample {
  time: number;
  values: Record<string, number | null>;
}

/** Adds a sample to those of the last span milliseconds; one of a time that is known is no new one. */
export function add(samples: readonly Sample[], s: Sample, span: number): readonly Sample[] {
  const last = samples.at(-1);
  if (last && s.time <= last.time) return samples;
  return [...samples.filter((x) => x.time > s.time - span), s];
}

/** Above this many milliseconds between two samples nobody knows what was in between. */
const longest = 5_000;

/** Samples as columns, with times in Unix seconds. A gap is a point of its own, without values. */
export function columns(
  samples: readonly Sample[],
  names: readonly string[],
): { times: number[]; values: (number | null)[][] } {
  const times: number[] = [],
    values = names.map((): (number | null)[] => []);
  let before: number | undefined;
  for (const s of samples) {
    if (before !== undefined && s.time - before > longest) {
      times.push((before + s.time) / 2000);
      values.forEach((v) => v.push(null));
    }
    times.push(s.time / 1000);
    names.forEach((n, i) => values[i]!.push(s.values[n] ?? null));
    before = s.time;
  }
  return { times, values };
}

/** The growth of a count a second, from sample to sample; null after a gap, and where it began anew. */
export function growth(samples: readonly Sample[], name: string): Sample[] {
  return samples.map((s, i) => {
    const before = samples[i - 1],
      a = before?.values[name],
      b = s.values[name];
    const known = before && a != null && b != null && b >= a && s.time - before.time <= longest;
    return { time: s.time, values: { [name]: known ? ((b - a) * 1000) / (s.time - before.time) : null } };
  });
}

/** The times at which a value was not 0, as spans in Unix seconds from sample to sample. */
export function spells(samples: readonly Sample[], name: string): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  samples.forEach((s, i) => {
    if (!s.values[name]) return;
    const next = samples[i + 1];
    const from = s.time / 1000,
      to = next && next.time - s.time <= longest ? next.time / 1000 : from;
    const last = found.at(-1);
    if (last && last.to === from) last.to = to;
    else found.push({ from, to });
  });
  return found;
}

/** Samples of a flag that is set, too, where a count grew until the next sample: what came and went between them. */
export function between(samples: readonly Sample[], flag: string, count: string): Sample[] {
  return samples.map((s, i) => {
    const next = samples[i + 1],
      grew = next && next.time - s.time <= longest && (next.values[count] ?? 0) > (s.values[count] ?? Infinity);
    return { time: s.time, values: { [flag]: s.values[flag] || grew ? 1 : 0 } };
  });
}
