import { useSyncExternalStore } from 'react';

/** A change that was made just now, and how to take it back. */
export interface Made {
  what: string;
  back: () => Promise<unknown>;
}

/** For so long a change is offered to be taken back, in milliseconds. */
const offered = 10_000;

let last: Made | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

/** Offers to take a change back, for a while or until the next one. */
function offer(made: Made | undefined): void {
  clearTimeout(timer);
  last = made;
  if (made) timer = setTimeout(() => offer(undefined), offered);
  listeners.forEach((f) => f());
}

/** Makes a change, and offers to take it back; back is undefined where nothing would. */
export async function undoable<T>(what: string, act: () => Promise<T>, back: (answer: T) => Made['back'] | undefined) {
  const answer = await act(),
    how = back(answer);
  offer(how && { what, back: how });
  return answer;
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/** The change that can be taken back now. */
export function useMade(): Made | undefined {
  return useSyncExternalStore(subscribe, () => last);
}
