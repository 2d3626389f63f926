import { expect, test } from 'vitest';
import { loadsOf, portsOf, step, topOf } from './load';

const top = (metric: string, items: object[]) =>
  ({ kind: 'port', metric, unit: '1', over: 5, time: '', items }) as unknown as Parameters<typeof loadsOf>[0];

test('load is a share of the speed where that is known, and what hosts send is what switches receive', () => {
  const shares = loadsOf(top('utilization', [{ name: 'a/1', value: 0.5, in: 0.5, out: 0.25, speed: 100e9 }]));
  expect(shares.flow(['a', '1'], ['host', '1'])).toEqual({ share: 0.25, text: '25 Gb/s (25 %)' });
  expect(shares.flow(['host', '1'], ['a', '1'])).toEqual({ share: 0.5, text: '50 Gb/s (50 %)' });
  expect(loadsOf(undefined).flow(['a', '1'], ['b', '1'])).toBeUndefined();
});

test('without speeds the scale is the same whatever the busiest port carries', () => {
  const drawn = (...rates: number[]) => {
    const loads = loadsOf(
      top(
        'outBits',
        rates.map((out, i) => ({ name: `a/${i}`, value: out, out })),
      ),
    );
    return rates.map((_, i) => step(loads.flow(['a', String(i)], ['b', '1'])?.share, 5));
  };
  // What a stalled group still sends is little, however little the others send.
  expect(drawn(2e3, 800)).toEqual([0, undefined]);
  expect(drawn(2e3, 3e9)).toEqual([0, 4]);
  expect(drawn(1e11, 8e6, 1e3)).toEqual([4, 2, undefined]);
});

test('steps go from little to all', () => {
  expect([undefined, 0, 0.01, 0.2, 0.5, 1].map((l) => step(l, 5))).toEqual([undefined, undefined, 0, 2, 3, 4]);
});

test('ports are those of the id of a link', () => {
  expect(portsOf('65000:1,3~65000:2,10')).toEqual(['3', '10']);
  expect(portsOf('odd')).toEqual(['', '']);
});

test('columns of ports are read by switch and port, and what was not measured is nothing', () => {
  const one = { name: 'a', ports: [1, 2], in: [5e9, -1], out: [1e9, 7], speed: [10e9, 0] };
  const at = (speed: number[]) => loadsOf(topOf({ time: '', over: 3, switches: [{ ...one, speed }] }));
  expect(at([10e9, 0]).flow(['a', '1'], ['b', '1'])).toEqual({ share: 0.1, text: '1 Gb/s (10 %)' });
  expect(at([10e9, 0]).flow(['b', '1'], ['a', '1'])?.share).toBe(0.5);
  // A port without a speed is drawn by its rate, as all are where no speed is known.
  expect(at([10e9, 0]).flow(['a', '2'], ['b', '1'])).toEqual({ share: 0, text: '7 b/s' });
  expect(at([0, 0]).flow(['a', '1'], ['b', '1'])?.text).toBe('1 Gb/s');
  expect(at([0, 0]).flow(['b', '1'], ['a', '2'])).toBeUndefined();
});
