import { expect, test } from 'vitest';
import { add, type Sample } from './samples';

test('samples are those of a span, each once and in order', () => {
  let all: readonly Sample[] = [];
  for (const time of [10, 20, 20, 15, 30]) all = add(all, { time, value: time }, 100);
  expect(all.map((s) => s.time)).toEqual([10, 20, 30]);
  expect(add(all, { time: 115, value: 1 }, 100).map((s) => s.time)).toEqual([20, 30, 115]);
});
