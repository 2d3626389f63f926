import { expect, test } from 'vitest';
import { decode, formatPlace, parsePlace } from './route';

test('a place comes back from its address', () => {
  const link = '64512:10.0.0.1,1~64512:10.0.0.5,1';
  for (const [path, query] of [
    [['overview'], {}],
    [['groups', 'a/b ü%'], { tab: 'tree' }],
    [['fabric'], { link, plane: '1' }],
  ] as const) {
    expect(parsePlace(formatPlace([...path], query))).toEqual({ path, query });
  }
});

test('what people type is a place too', () => {
  expect(parsePlace('')).toEqual({ path: ['overview'], query: {} });
  expect(parsePlace('#/')).toEqual({ path: ['overview'], query: {} });
  expect(parsePlace('#groups//g1/')).toEqual({ path: ['groups', 'g1'], query: {} });
  expect(parsePlace('#/100%')).toEqual({ path: ['100%'], query: {} });
});

test('empty values are not in the address', () => {
  expect(formatPlace(['fabric'], { plane: '', link: undefined })).toBe('#/fabric');
});

test('an escape that was cut off stays as it is', () => {
  expect(decode('/v1/links/a%3A1')).toBe('/v1/links/a:1');
  expect(decode('/v1/links/a%3')).toBe('/v1/links/a%3');
});
