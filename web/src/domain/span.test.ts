import { expect, test } from 'vitest';
import { formatSpan, moved, parseSpan, zoomed, type Span } from './span';

const now = 1_800_000_000_000,
  end = now / 1000;

test('a span survives the address', () => {
  for (const s of [{ last: 120 }, { last: 900 }, { last: 86_400 }, { from: end - 500, to: end - 400 }] as Span[])
    expect(parseSpan(formatSpan(s))).toEqual(s);
});

test('what is no span is the last two minutes', () => {
  for (const q of [
    {},
    { since: 'x' },
    { since: '5' },
    { since: '9', until: '7' },
    { since: 'a', until: 'b' },
    { since: '1.5', until: '9' },
  ])
    expect(parseSpan(q)).toEqual({ last: 120 });
});

test('later than now is now, and earlier ends where nothing is kept', () => {
  const past = moved({ last: 900 }, -1, now);
  expect(past).toEqual({ from: end - 1800, to: end - 900 });
  expect(moved(past, 1, now)).toEqual({ last: 900 });
  expect(moved({ from: end - 86_300, to: end - 86_200 }, -5, now)).toEqual({ from: end - 86_400, to: end - 86_300 });
});

test('a zoom keeps its middle, and at least ten seconds', () => {
  expect(zoomed({ from: end - 1000, to: end - 800 }, 0.5, now)).toEqual({ from: end - 950, to: end - 850 });
  const { from, to } = zoomed({ from: end - 1000, to: end - 990 }, 0.5, now);
  expect(to - from).toBe(10);
  expect(zoomed({ last: 120 }, 2, now)).toEqual({ from: end - 240, to: end });
  expect(zoomed({ from: end - 120, to: end }, 0.5, now, end - 5)).toEqual({ from: end - 60, to: end });
});
