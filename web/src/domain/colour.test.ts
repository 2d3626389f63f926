import { expect, test } from 'vitest';
import { channels, mix } from './colour';

test('colours are mixed by channel', () => {
  expect(channels('#0b5cad')).toEqual([11, 92, 173]);
  expect(channels('#f0a')).toEqual([255, 0, 170]);
  expect(mix('#000000', '#ffffff', 0.5)).toBe('#808080');
  expect(mix('#0b5cad', '#ffffff', 0)).toBe('#0b5cad');
  expect(mix('#0b5cad', '#010203', 1)).toBe('#010203');
});
