import { signal } from '../store/signal';

/** A change that was made just now, and how to take it back. */
export interface Made {
  what: string;
  back: () => Promise<unknown>;
}

/** For so long a change is offered to be taken back, in milliseconds. */
const offered = 10_000;

const last = signal<Made | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Offers to take a change back, for a while or until the next one. */
function offer(made: Made | undefined): void {
  clearTimeout(timer);
  if (made) timer = setTimeout(() => offer(undefined), offered);
  last.set(made);
}

/** Makes a change, and offers to take it back; back is undefined where nothing would. */
export async function undoable<T>(what: string, act: () => Promise<T>, back: (answer: T) => Made['back'] | undefined) {
  const answer = await act(),
    how = back(answer);
  offer(how && { what, back: how });
  return answer;
}

/** The change that can be taken back now. */
export const useMade = last.use;
