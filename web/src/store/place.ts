import { useCallback, useSyncExternalStore } from 'react';
import { formatPlace, parsePlace, type Place } from '../domain/route';

let hash = '',
  place: Place = parsePlace('');

/** What other pages show goes with who goes there: the moment, and the time of the charts. */
const times = ['at', 'since', 'until'];

function current(): Place {
  if (window.location.hash !== hash) {
    const next = parsePlace(window.location.hash),
      kept = times.filter((t) => place.query[t]);
    if (kept.length > 0 && next.path.join('/') !== place.path.join('/') && !times.some((t) => next.query[t])) {
      for (const t of kept) next.query[t] = place.query[t]!;
      history.replaceState(null, '', formatPlace(next.path, next.query));
    }
    hash = window.location.hash;
    place = next;
  }
  return place;
}

function subscribe(f: () => void): () => void {
  window.addEventListener('hashchange', f);
  return () => window.removeEventListener('hashchange', f);
}

/** The address is the state: every view, selection and filter is in it. */
export function usePlace(): Place {
  return useSyncExternalStore(subscribe, current);
}

export function go(path: string[], query: Record<string, string | undefined> = {}): void {
  window.location.hash = formatPlace(path, query);
}

/** One value of the query of the address, and a function that changes it in place. */
export function useParam(name: string, fallback = ''): [string, (value: string) => void] {
  const at = usePlace();
  const set = useCallback(
    (value: string) => setParams({ [name]: value === fallback ? undefined : value }),
    [name, fallback],
  );
  return [at.query[name] ?? fallback, set];
}

/** Changes values of the query of the address without an entry in the history. */
export function setParams(change: Record<string, string | undefined>): void {
  const at = current();
  history.replaceState(null, '', formatPlace(at.path, { ...at.query, ...change }));
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

/** What the drawer shows, each by the name of its parameter in the address; the first of them is shown. */
export const looks = ['link', 'node', 'host', 'group', 'profile', 'entry', 'plane'] as const;
export type Look = (typeof looks)[number];

/** The query of an address in which the drawer shows something; plane is a filter of pages too, and stays. */
export function looked(kind: Look, id: string | undefined): Record<string, string | undefined> {
  return { ...Object.fromEntries(looks.slice(0, -1).map((k) => [k, undefined])), [kind]: id };
}
