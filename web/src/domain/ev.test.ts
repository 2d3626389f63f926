import { expect, test } from 'vitest';
import { containers, contains, fieldsOf, formatAddress, parseAddress } from './ev';

test('addresses are written as RFC 5952 has them', () => {
  for (const [text, want] of [
    ['2001:db8::1', '2001:db8::1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['::', '::'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['1::', '1::'],
  ]) {
    expect(formatAddress(parseAddress(text!)!)).toBe(want);
  }
  for (const text of ['', ':', '1:2', '1::2::3', '1:2:3:4:5:6:7:8:9', 'g::', '1:2:3:4:5:6:7::8'])
    expect(parseAddress(text), text).toBeUndefined();
});

test('the fields of a structured EV begin at its most significant bit', () => {
  expect(fieldsOf('0x60000000@1', [3])).toEqual([{ bits: '011', value: 3 }]);
  expect(fieldsOf('0x9a000000@2', [3, 2, 3])).toEqual([
    { bits: '100', value: 4 },
    { bits: '11', value: 3 },
    { bits: '010', value: 2 },
  ]);
});

test('uSIDs are shifted out hop by hop', () => {
  const list = containers({ destination: '5f00:0:e001:e004:e000::', lastUsid: '0xe000' }, [32, 16, 16, 16]);
  expect(list.map((c) => [c.address, c.active])).toEqual([
    ['5f00:0:e001:e004:e000::', '0xe001'],
    ['5f00:0:e004:e000::', '0xe004'],
    ['5f00:0:e000::', '0xe000'],
  ]);
  expect(list[0]!.digits).toEqual([8, 12]);
});

test('the second container comes from the segment routing header', () => {
  const list = containers(
    { destination: '5f00:0:e001:e004::', segment: '5f00:0:e000::' },
    [32, 16, 16, 16, 16, 16, 16, 32, 16],
  );
  expect(list.map((c) => [c.active, c.fromHeader])).toEqual([
    ['0xe001', false],
    ['0xe004', false],
    ['0xe000', true],
  ]);
});

test('a prefix contains its addresses', () => {
  expect(contains('2001:db8:1:d::1/128', '2001:db8:1:d::1')).toBe(true);
  expect(contains('2001:db8:1:d::1/128', '2001:db8:1:d::2')).toBe(false);
  expect(contains('2001:db8::/32', '2001:db8:ffff::')).toBe(true);
  expect(contains('2001:db8::/33', '2001:db8:8000::')).toBe(false);
  expect(contains('::/0', '1::')).toBe(true);
});
