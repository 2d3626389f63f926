import { expect, test } from 'vitest';
import { loadsOf, portsOf, step } from './load';

const top = (metric: string, items: object[]) =>
  ({ kind: 'port', metric, unit: '1', over: 5, time: '', items }) as unknown as Parameters<typeof loadsOf>[0];

test('load is a share of the speed where that is known, and else of the busiest port', () => {
  const shares = loadsOf(top('utilization', [{ name: 'a/1', value: 0.5, in: 0.5, out: 0.25, speed: 100e9 }]));
  expect(shares.of('a', '1')).toBe(0.25);
  expect(shares.text('a', '1')).toBe('25 Gb/s (25 %)');
  const rates = loadsOf(
    top('outBits', [
      { name: 'a/1', value: 8e6 },
      { name: 'b/1', value: 2e6 },
    ]),
  );
  expect(rates.of('b', '1')).toBe(0.25);
  expect(rates.of('b', '2')).toBeUndefined();
  expect(loadsOf(undefined).of('a', '1')).toBeUndefined();
});

test('steps go from little to all', () => {
  expect([undefined, 0, 0.01, 0.2, 0.5, 1].map((l) => step(l, 5))).toEqual([undefined, undefined, 0, 2, 3, 4]);
});

test('ports are those of the id of a link', () => {
  expect(portsOf('65000:1,3~65000:2,10')).toEqual(['3', '10']);
  expect(portsOf('odd')).toEqual(['', '']);
});
