/** A value at a time, in milliseconds of the clock. */
export interface Sample {
  time: number;
  value: number;
  /** Something was so at that time: a queue was paused. */
  marked?: boolean;
}

/** Adds a sample to those of the last span milliseconds; one of a time that is known is no new one. */
export function add(samples: readonly Sample[], s: Sample, span: number): readonly Sample[] {
  const last = samples.at(-1);
  if (last && s.time <= last.time) return samples;
  return [...samples.filter((x) => x.time > s.time - span), s];
}
