/** What the log needs of an event. */
interface Numbered {
  seq: number;
  time: string;
  type: string;
}

/** How many events a tab keeps. */
export const kept = 2000;

/**
 * Puts two lists of events into one, oldest first, each event once. The controller numbers its
 * events from 1 at every start, so an event is known by its number and its time.
 */
export function merge<E extends Numbered>(a: readonly E[], b: readonly E[]): E[] {
  const seen = new Set<string>();
  const all = [...a, ...b].filter((e) => {
    const id = `${e.seq} ${e.time}`;
    return !seen.has(id) && (seen.add(id), true);
  });
  // Times of one controller and its numbers have the same order; those of two have that of the times.
  all.sort((x, y) => Date.parse(x.time) - Date.parse(y.time) || x.seq - y.seq);
  return all.slice(-kept);
}
