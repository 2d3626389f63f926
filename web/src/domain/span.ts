import { formatClock } from './format';

/** A time that charts show: the last seconds up to now, or one that has passed, in Unix seconds. */
export type Span = { last: number } | { from: number; to: number };

/** Spans that people ask for, by what the address has. */
export const presets: [value: string, text: string, seconds: number][] = [
  ['2m', '2 minutes', 120],
  ['15m', '15 minutes', 900],
  ['3h', '3 hours', 10_800],
  ['24h', '24 hours', 86_400],
];

/** The controller keeps values of a day. */
export const mostPast = 86_400;

/** Reads a span from the query of an address: since=15m, or since= and until= as Unix seconds. */
export function parseSpan(query: { since?: string; until?: string }): Span {
  const from = Number(query.since),
    to = Number(query.until);
  if (query.since && query.until && Number.isInteger(from) && Number.isInteger(to) && from > 0 && from < to)
    return { from, to };
  return { last: presets.find((p) => p[0] === query.since)?.[2] ?? presets[0]![2] };
}

/** Writes a span for the query of an address; the inverse of parseSpan. */
export function formatSpan(s: Span): { since?: string; until?: string } {
  if ('last' in s) {
    const value = presets.find((p) => p[2] === s.last)?.[0];
    return { since: value === presets[0]![0] ? undefined : value, until: undefined };
  }
  return { since: String(Math.floor(s.from)), until: String(Math.ceil(s.to)) };
}

/** The bounds of a span in Unix seconds, where now is one of the clock in milliseconds. */
export function bounds(s: Span, now: number): { from: number; to: number } {
  const end = Math.floor(now / 1000);
  return 'last' in s ? { from: end - s.last, to: end } : s;
}

/** The same length of time, earlier (by a negative share) or later; one that reaches now goes on with it. */
export function moved(s: Span, share: number, now: number): Span {
  const { from, to } = bounds(s, now),
    size = to - from,
    end = Math.floor(now / 1000);
  const by = Math.round(share * size);
  if (to + by >= end) return presets.some((p) => p[2] === size) ? { last: size } : { from: end - size, to: end };
  const first = Math.max(from + by, end - mostPast);
  return { from: first, to: first + size };
}

/** The half around a moment, or around the middle, or twice the time; it ends now at the latest. */
export function zoomed(s: Span, factor: number, now: number, at?: number): { from: number; to: number } {
  const { from, to } = bounds(s, now),
    end = Math.floor(now / 1000);
  const middle = at ?? (from + to) / 2,
    size = Math.min(mostPast, Math.max(10, Math.round((to - from) * factor)));
  const first = Math.min(end - size, Math.max(end - mostPast, Math.round(middle - size / 2)));
  return { from: first, to: first + size };
}

/** Writes a span as local times: 10:02:11 to 10:04:11, with dates where they are not today's. */
export function spanText(s: { from: number; to: number }, now: number): string {
  const day = (t: number) => new Date(1000 * t).toDateString();
  const full = (t: number) =>
    day(t) === new Date(now).toDateString() ? formatClock(t) : `${day(t).slice(0, 10)} ${formatClock(t)}`;
  return `${full(s.from)} to ${day(s.from) === day(s.to) ? formatClock(s.to) : full(s.to)}`;
}
