import { expect, test } from 'vitest';
import { kept, merge } from './eventlog';

const at = (seq: number, ms: number) => ({ seq, time: new Date(ms).toISOString(), type: 'switch.changed' });

test('each event is there once, in order', () => {
  expect(merge([at(1, 10), at(2, 20), at(3, 20)], [at(3, 20), at(2, 20), at(4, 30)]).map((e) => e.seq)).toEqual([
    1, 2, 3, 4,
  ]);
});

test('the numbers of a controller that was started again begin at 1', () => {
  expect(merge([at(7, 100), at(8, 110)], [at(1, 500), at(2, 510)]).map((e) => e.seq)).toEqual([7, 8, 1, 2]);
});

test('the oldest go when there are too many', () => {
  const many = Array.from({ length: kept + 5 }, (_, i) => at(i + 1, i));
  expect(merge([], many)[0]!.seq).toBe(6);
});
