import { expect, test } from 'vitest';
import { add, between, columns, growth, spells, type Sample } from './samples';

const at = (time: number, held: number, paused = 0): Sample => ({ time, values: { held, paused } });

test('samples are of the last time, each once', () => {
  let all: readonly Sample[] = [];
  for (const [t, v] of [
    [0, 1],
    [1000, 2],
    [1000, 9],
    [500, 9],
    [2500, 3],
  ] as const)
    all = add(all, at(t, v), 2000);
  expect(all.map((s) => [s.time, s.values.held])).toEqual([
    [1000, 2],
    [2500, 3],
  ]);
});

test('what was not seen is a gap, and what is not known is null', () => {
  const c = columns([at(1000, 4), at(2000, 5), at(12_000, 6)], ['held', 'other']);
  expect(c.times).toEqual([1, 2, 7, 12]);
  expect(c.values).toEqual([
    [4, 5, null, 6],
    [null, null, null, null],
  ]);
});

test('spells join from sample to sample, and not across a gap', () => {
  const all = [at(1000, 0, 1), at(2000, 0, 1), at(3000, 0), at(4000, 0, 1), at(20_000, 0, 1)];
  expect(spells(all, 'paused')).toEqual([
    { from: 1, to: 3 },
    { from: 4, to: 4 },
    { from: 20, to: 20 },
  ]);
});

test('growth is a rate, and not known after a gap or a restart', () => {
  const all = [at(0, 0), at(2000, 10), at(3000, 10), at(4000, 3), at(14_000, 9)];
  expect(growth(all, 'held').map((s) => s.values.held)).toEqual([null, 5, 0, null, null]);
});

test('a pause that came and went between two readings is a spell between them', () => {
  const all = [at(1000, 5), at(2000, 7), at(3000, 7), at(4000, 7, 1), at(20_000, 9)];
  expect(spells(between(all, 'paused', 'held'), 'paused')).toEqual([
    { from: 1, to: 2 },
    { from: 4, to: 4 },
  ]);
});
