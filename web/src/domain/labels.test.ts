import { expect, test } from 'vitest';
import { Places } from './labels';

test('texts never lie on each other, and the first one stays', () => {
  const places = new Places();
  expect(places.take(50, 10, 40, 12)).toBe(true);
  expect(places.take(80, 10, 40, 12)).toBe(false);
  expect(places.take(91, 10, 40, 12)).toBe(true);
  expect(places.take(50, 22, 40, 12)).toBe(true);
});
