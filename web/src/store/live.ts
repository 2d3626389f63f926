import type { QueryClient } from '@tanstack/react-query';
import { body, client } from '../api/client';
import { currentSession, may, recheck, subscribe as onSession } from '../api/session';
import { link, links } from '../api/queries';
import { follow, type Event } from '../api/stream';
import { kept, merge } from '../domain/eventlog';
import { replaced } from '../domain/linkcolumns';
import { stale } from '../domain/stale';
import { signal } from './signal';

/** The event stream of this tab: all views share it. */
interface Live {
  state: 'connecting' | 'live' | 'lost';
  /** When the state began, in milliseconds of the clock; lost: when the controller was last heard of. */
  since: number;
  /** The latest events, oldest first. */
  events: readonly Event[];
}

const live = signal<Live>({ state: 'connecting', since: Date.now(), events: [] });
const set = (change: Partial<Live>) => live.set({ ...live.get(), ...change });
export const useLive = live.use;

/** The least time between two rounds of questions that events give rise to, and the longest wait for the answers. */
const pause = 50,
  longest = 1_000;
const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** From this number of links on, changed ones are asked for one by one, at most so many at a time. */
const manyLinks = 10_000,
  mostSingle = 32;

/** Asks for some links anew, or for all where that fails. */
async function refresh(queries: QueryClient, ids: string[]): Promise<void> {
  const before = queries.getQueryData(links.queryKey);
  const now = await Promise.all(ids.map(link)).then(
    (news) => before && replaced(before, news),
    () => undefined,
  );
  // What was asked for meanwhile is newer.
  if (now && queries.getQueryData(links.queryKey) === before) queries.setQueryData(links.queryKey, now);
  else await queries.invalidateQueries(links);
}

/** Follows the events, and has the queries asked anew that they make stale. */
export function startLive(queries: QueryClient): () => void {
  const due = new Set<string>();
  const changed = new Set<string>(); // links
  let all = false;
  let asking = false,
    stopped = false;
  /** Asks for what is stale, round by round: what events make stale meanwhile is of the next round. */
  const flush = async () => {
    asking = true;
    // What comes at once is asked for at once.
    await Promise.resolve();
    while (!stopped && (all || due.size > 0 || changed.size > 0)) {
      const [names, some, every] = [new Set(due), [...changed], all];
      due.clear();
      changed.clear();
      all = false;
      const answered = Promise.all([
        queries.invalidateQueries(every ? {} : { predicate: (q) => names.has(String(q.queryKey[0])) }),
        some.length > 0 && !every && !names.has('links') && refresh(queries, some),
      ]);
      await Promise.all([after(pause), Promise.race([answered, after(longest)])]);
    }
    asking = false;
  };
  const touch = (names: string[] | undefined) => {
    if (names) names.forEach((n) => due.add(n));
    else all = true;
    if (!asking) void flush();
  };
  const catchUp = async () => {
    try {
      const latest = await body(client.GET('/v1/events/latest', { params: { query: { limit: 1000 } } }));
      set({ events: merge(latest.items ?? [], live.get().events) });
    } catch {
      // The stream goes on; what was before it stays unknown until the next gap.
    }
  };
  let lost = false;
  let stop: (() => void) | undefined;
  const begin = () =>
    follow<Event>('/v1/events', {
      event(e) {
        if (e.type === 'gap') void catchUp();
        else set({ events: [...live.get().events.slice(-kept + 1), e] });
        if (e.type === 'project.changed') recheck(); // the user may be another's member now
        const names = stale(e.type);
        // In a large network all links are too much to ask for whenever one of them changes.
        if (
          e.type === 'link.changed' &&
          e.object &&
          names &&
          changed.size < mostSingle &&
          (queries.getQueryData(links.queryKey)?.length ?? 0) > manyLinks
        ) {
          changed.add(e.object);
          touch(names.filter((n) => n !== 'links'));
        } else touch(names);
      },
      state(up, last) {
        if (up && live.get().events.length === 0) void catchUp();
        if (up && lost) touch(undefined);
        lost = !up;
        const state = up ? 'live' : 'lost';
        if (state !== live.get().state) set({ state, since: last });
      },
    });
  // Who is a member of no project has no events.
  const change = () => {
    const wanted = may(currentSession(), 'tenant:read');
    if (wanted && !stop) {
      stop = begin();
      touch(undefined);
    } else if (!wanted && stop) {
      stop();
      stop = undefined;
      lost = false;
      set({ state: 'connecting', since: Date.now(), events: [] });
    }
  };
  const unsubscribe = onSession(change);
  change();
  return () => {
    unsubscribe();
    stop?.();
    stopped = true;
  };
}
