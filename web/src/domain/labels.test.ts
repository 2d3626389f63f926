import { expect, test } from 'vitest';
import { Places, prefix } from './labels';

test('texts never lie on each other, and the first one stays', () => {
  const places = new Places();
  expect(places.take(50, 10, 40, 12)).toBe(true);
  expect(places.take(80, 10, 40, 12)).toBe(false);
  expect(places.take(91, 10, 40, 12)).toBe(true);
  expect(places.take(50, 22, 40, 12)).toBe(true);
});

test('names share what they begin with up to a part', () => {
  expect(prefix(['P1-T1-1', 'P1-T1-10', 'P1-T1-12'])).toBe('P1-T1-');
  expect(prefix(['leaf1', 'leaf2'])).toBe('');
  expect(prefix(['a-1'])).toBe('a-');
  expect(prefix([])).toBe('');
});
