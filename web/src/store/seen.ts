import { useEffect } from 'react';
import { add, type Sample } from '../domain/samples';

/** What the page has seen since it was opened, by name. */
const seen = new Map<string, readonly Sample[]>();
const span = 15 * 60_000;

/**
 * The values that something has had since this page was opened, at most 15 minutes: for what the
 * controller keeps no history of. Without a time nothing is added.
 */
export function useSeen(name: string, now: Sample | undefined): readonly Sample[] {
  const before = seen.get(name) ?? [];
  const samples = now ? add(before, now, span) : before;
  useEffect(() => {
    seen.set(name, samples);
  }, [name, samples]);
  return samples;
}
