import { expect, test } from 'vitest';
import { fieldName, get, readNumber, set } from './spec';

test('a path is read, written and taken away without changing the original', () => {
  const spec = { a: [{ b: 1 }, { b: 2 }] };
  expect(get(spec, ['a', 1, 'b'])).toBe(2);
  expect(get(spec, ['x', 'y'])).toBeUndefined();
  expect(set(spec, ['a', 1, 'b'], 3)).toEqual({ a: [{ b: 1 }, { b: 3 }] });
  expect(set(spec, ['a', 0], undefined)).toEqual({ a: [{ b: 2 }] });
  expect(set(spec, ['c', 'd'], 'x')).toEqual({ ...spec, c: { d: 'x' } });
  expect(set(spec, ['a', 0, 'b'], undefined)).toEqual({ a: [{}, { b: 2 }] });
  expect(spec).toEqual({ a: [{ b: 1 }, { b: 2 }] });
});

test('fields are named as the API names them', () => {
  expect(fieldName(['receivers', 0, 'qpn'])).toBe('spec.receivers[0].qpn');
});

test('numbers are decimal or hexadecimal, and exact', () => {
  expect(readNumber('0x100')).toBe(256);
  expect(readNumber(' 16 777 215 ')).toBe(16777215);
  expect(readNumber('')).toBeUndefined();
  expect(readNumber('many')).toBe('many');
  expect(readNumber('18446744073709551615')).toBe(18446744073709551615n);
  expect(readNumber('0xffff_8000_0000_0001')).toBe(0xffff800000000001n);
  expect(readNumber('1.5')).toBe(1.5);
  expect(readNumber('1e30')).toBe('1e30');
});

test('sizes and rates are read with their units', () => {
  expect(['32 MiB', '10G', '2.5 Gb/s', '100kB', '1 Ti'].map(readNumber)).toEqual([33554432, 1e10, 2.5e9, 1e5, 2 ** 40]);
  expect(['32 XiB', 'MiB', '1.5'].map(readNumber)).toEqual(['32 XiB', 'MiB', 1.5]);
});
