import { expect, test } from 'vitest';
import { marks } from './chart';

test('marks never lie on each other', () => {
  const all = [5, 0, 100, 101, 130, 400].map((at) => ({ id: String(at), at, text: '' }));
  const shown = marks(all, { from: 0, to: 200 }, 100, 14);
  expect(shown.map((m) => [m.at, m.of.map((x) => x.at)])).toEqual([
    [0, [0, 5]],
    [100, [100, 101]],
    [130, [130]],
  ]);
});
