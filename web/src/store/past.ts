import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { linkState, suspectLinks, type LinkState } from '../domain/fabric';
import { Then } from '../domain/past';
import { bounds, formatSpan, parseSpan, type Span } from '../domain/span';
import { useNow } from './now';
import { setParams, usePlace } from './place';

/** The moment that the dashboard shows, in Unix seconds; undefined: now. */
export function useMoment(): number | undefined {
  const text = usePlace().query.at;
  const at = Number(text);
  return text && Number.isInteger(at) && at > 0 ? at : undefined;
}

/** The time that the bar and all charts show, and a function that changes it: it is in the address. */
export function useSpan(): { span: Span; from: number; to: number; live: boolean; show: (s: Span) => void } {
  const place = usePlace(),
    now = useNow(),
    at = useMoment();
  let span = parseSpan(place.query);
  // A moment is in the middle of what is shown, unless the address says what is.
  if (at !== undefined && 'last' in span) {
    const to = Math.min(at + span.last / 2, Math.floor(now / 1000));
    span = { from: to - span.last, to };
  }
  return {
    span,
    ...bounds(span, now),
    live: 'last' in span,
    show: (s) => setParams({ at: undefined, ...formatSpan(s) }),
  };
}

/** Goes to a moment in Unix seconds, of a time that stays what is shown. */
export const jump = (at: number, span: { from: number; to: number }) =>
  setParams({ at: String(Math.floor(at)), ...formatSpan(span) });

/** What the controller knows of the time that is shown, and how things were at the moment; undefined: now. */
export function usePast(): { past: Schemas['Past'] | undefined; then: Then | undefined } {
  const at = useMoment(),
    { span } = useSpan();
  const past = useQuery(ask.past('last' in span ? span.last : span)).data;
  const then = useMemo(() => (at === undefined || !past ? undefined : new Then(past, at)), [at, past]);
  return { past, then };
}

/** Returns the state of a link at the moment that is shown. */
export function useLinkState(): (l: Schemas['FabricLink']) => LinkState {
  const suspects = useQuery(ask.suspects),
    { then } = usePast();
  const bad = useMemo(() => suspectLinks(suspects.data ?? []), [suspects.data]);
  return useCallback((l) => (then ? then.link(l.id) : linkState(l, bad)), [then, bad]);
}
