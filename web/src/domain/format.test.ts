import { expect, test } from 'vitest';
import { formatAge, formatBitRate, formatDuration, formatOctets, formatShare, parseDuration } from './format';

test('durations are those of Go', () => {
  for (const [text, ns] of [
    ['0s', 0],
    ['0', 0],
    ['1.5ms', 1.5e6],
    ['1m2.5s', 62.5e9],
    ['2h0m0.001s', 7200.001e9],
    ['-3µs', -3e3],
    ['250us', 250e3],
  ] as const) {
    expect(parseDuration(text), text).toBe(ns);
  }
  for (const text of ['', 's', '1', '1x', '1 s', '1s2']) expect(parseDuration(text), text).toBeUndefined();
});

test('durations for people have three digits and a unit', () => {
  for (const [text, want] of [
    ['14.352ms', '14.4 ms'],
    ['1.000001s', '1.00 s'],
    ['999ns', '999 ns'],
    ['100s', '100 s'],
    ['3m0s', '3 min'],
    ['0s', '0 s'],
    ['nonsense', 'nonsense'],
  ] as const) {
    expect(formatDuration(text), text).toBe(want);
  }
});

test('numbers carry units', () => {
  expect([formatOctets(0), formatOctets(1023), formatOctets(1536), formatOctets(16777216)]).toEqual([
    '0 octets',
    '1023 octets',
    '1.50 KiB',
    '16 MiB',
  ]);
  expect([formatBitRate(0), formatBitRate(19_600_000), formatBitRate(4e11)]).toEqual([
    '0 b/s',
    '19.6 Mb/s',
    '400 Gb/s',
  ]);
  expect([formatShare(0.052646), formatShare(1), formatShare(0.00001)]).toEqual(['5.26 %', '100 %', '0.0010 %']);
});

test('ages are whole units, and never negative', () => {
  const now = Date.parse('2026-01-01T00:10:00Z');
  expect(
    [
      '2026-01-01T00:09:55Z',
      '2026-01-01T00:00:00Z',
      '2025-12-31T20:10:00Z',
      '2025-12-20T00:00:00Z',
      '2026-01-01T00:11:00Z',
      undefined,
    ].map((t) => formatAge(t, now)),
  ).toEqual(['5 s', '10 min', '4 h', '12 d', '0 s', '']);
});
