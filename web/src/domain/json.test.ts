import { expect, test } from 'vitest';
import { formatExact, parseExact } from './json';

test('64-bit numbers are read and written with all their digits', () => {
  const text = '{"va":18446612682070000641,"keys":[9007199254740993,-9223372036854775808],"qpn":256}';
  expect(parseExact(text)).toEqual({
    va: 18446612682070000641n,
    keys: [9007199254740993n, -9223372036854775808n],
    qpn: 256,
  });
  expect(formatExact(parseExact(text))).toBe(text);
});

test('strings, fractions and numbers that a double holds stay as they are', () => {
  for (const text of [
    '{"a":"18446612682070000641, \\"18446612682070000641\\""}',
    '{"a":0.12345678901234567,"b":9007199254740991,"c":true,"d":null}',
    '[]',
  ]) {
    expect(parseExact(text)).toEqual(JSON.parse(text));
    expect(formatExact(parseExact(text))).toBe(formatExact(JSON.parse(text)));
  }
  expect(parseExact('1.8446612682070000641e19')).toBe(1.8446612682070000641e19);
});

test('strings of others that look like marks stay strings', () => {
  const big = '18446612682070000641';
  for (const name of ['\u0000n12', '\u0000nx', '\u0000s12', '\u0000', '\u0000\u0000n1', 'n\u0000n1']) {
    const text = `{"name":${JSON.stringify(name)},${JSON.stringify(name)}:[${JSON.stringify(name)}],"va":${big}}`;
    expect(parseExact(text)).toEqual({ name, [name]: [name], va: BigInt(big) });
    expect(formatExact({ name, va: BigInt(big) })).toBe(`{"name":${JSON.stringify(name)},"va":${big}}`);
  }
});
