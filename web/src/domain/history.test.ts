import { expect, test } from 'vitest';
import { axisTop, ceiling, metricText, formatValue, isolated, nearest, summary, views } from './history';

test('a point between gaps is shown alone', () => {
  expect(isolated([null, 1, 2, null, null, 3, null])).toEqual([5]);
  expect(isolated([4])).toEqual([0]);
  expect(isolated([null])).toEqual([]);
});

test('a moment is that of the nearest point, if there is one near', () => {
  expect([9, 10, 10.4, 10.6, 11.5, 13].map((t) => nearest([10, 11, 20], t, 1))).toEqual([0, 0, 0, 1, 1, undefined]);
  expect(nearest([], 5, 1)).toBeUndefined();
});

test('a summary is of what was measured', () => {
  expect(summary([null, 1, 3, null])).toEqual({ mean: 2, most: 3, last: undefined });
  expect(summary([0, 0])).toEqual({ mean: 0, most: 0, last: 0 });
  expect(summary([null, null])).toBeUndefined();
});

test('values have units, and axes round tops', () => {
  expect(formatValue(2.5e9, 'bit/s')).toMatch(/2\.5\S* Gb\/s/);
  expect(formatValue(0, 'packets/s')).toBe('0 packets/s');
  expect(formatValue(0.5, 'frames/s')).toBe('0.50 frames/s');
  expect([0, 1, 3, 7e9, 10].map(ceiling)).toEqual([1, 1, 5, 1e10, 10]);
});

test('every metric of a port is in one view', () => {
  for (const m of [
    'inBits',
    'outBits',
    'inPackets',
    'outPackets',
    'inErrors',
    'outErrors',
    'inDiscards',
    'outDiscards',
    'pfcIn0',
    'pfcOut7',
  ]) {
    expect(
      Object.values(views.port).filter((f) => f(m)),
      m,
    ).toHaveLength(1);
  }
  for (const m of ['bits', 'droppedBits', 'packets', 'droppedPackets', 'markedPackets', 'trimmedPackets', 'longest']) {
    expect(
      Object.values(views.queue).filter((f) => f(m)),
      m,
    ).toHaveLength(1);
  }
});

test('metrics have words, and no axis of shares goes beyond all', () => {
  const port = ['inBits', 'outDiscards', 'pfcIn3'].map(metricText);
  expect(port).toEqual(['received', 'discarded, not sent', 'received, priority 3']);
  expect([axisTop(1, 'share'), axisTop(1, '1'), axisTop(1.2, 'share'), axisTop(9.9, 'bit/s')]).toEqual([1, 2, 2, 20]);
  // Octets have units of 1,024.
  expect([axisTop(1 << 20, 'octets'), axisTop(900, 'octets')]).toEqual([2 << 20, 1024]);
});
