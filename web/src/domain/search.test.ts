import { expect, test } from 'vitest';
import { find, type Target } from './search';

const t = (kind: string, name: string, words = ''): Target => ({ kind, name, words, path: [name] });
const all = [
  t('switch', 'P1-T0-10', '64512:10.0.0.10'),
  t('switch', 'P1-T0-1', '64512:10.0.0.1'),
  t('host', 'H1', '2001:db8:1:1::1'),
  t('link', 'P1-T0-1 → P1-T1-1'),
];

test('the exact name comes first, then names that begin with it', () => {
  expect(find(all, 'p1-t0-1').map((x) => x.name)).toEqual(['P1-T0-1', 'P1-T0-1 → P1-T1-1', 'P1-T0-10']);
});

test('addresses and kinds are found too, and every word counts', () => {
  expect(find(all, '2001:db8:1:1::1').map((x) => x.name)).toEqual(['H1']);
  expect(find(all, 'switch 10.0.0.10').map((x) => x.name)).toEqual(['P1-T0-10']);
  expect(find(all, 'switch H1')).toEqual([]);
  expect(find(all, '  ')).toEqual([]);
});
