import { expect, test } from 'vitest';
import { shares } from './shares';

test('shares add up to one, and are gaps where a port is not known or nothing is sent', () => {
  const port = (plane: number, times: number[], values: (number | null)[]) => ({ plane, times, step: 1, values });
  const s = shares([
    port(2, [1, 2, 3, 4], [30, 0, 5, 1]),
    port(1, [1, 2, 3], [10, 0, null]),
    port(1, [1, 2, 3], [60, 0, 5]),
  ]);
  expect(s.times).toEqual([1, 2, 3, 4]);
  expect(s.lines).toEqual([
    { plane: 1, values: [0.7, null, null, null] },
    { plane: 2, values: [0.3, null, null, null] },
  ]);
  expect(shares([])).toEqual({ times: [], step: 1, lines: [] });
});
