import { expect, test } from 'vitest';
import { names, plain, reverse } from './network';

test('phrases are sentences', () => {
  expect(plain('port 3 is down')).toBe('Port 3 is down.');
  expect(plain('is it?')).toBe('Is it?');
  expect(plain('')).toBe('');
});

test('three names are listed, and others counted', () => {
  expect(names(['a', 'b', 'c'])).toBe('a, b, c');
  expect(names(['a', 'b', 'c', 'd'])).toBe('a, b, c and 1 more');
});

test('the other direction of a link has its ends in the other order', () => {
  expect(reverse('a,1~b,2')).toBe('b,2~a,1');
  expect(reverse('x')).toBe('x');
});
