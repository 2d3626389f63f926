import { expect, test } from 'vitest';
import { find, matcher, type Target } from './search';

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

test('after a verb come the pages where it is done, of what it can be done to', () => {
  const some = [
    ...all.slice(0, 3),
    { ...t('switch', 'P1-T1-2'), drains: 'node', query: { tab: 'x' } },
    { ...t('host port', 'H1 port 1'), drains: 'port 1', drained: true },
  ];
  expect(find(some, 'Drain p1-t1-2')).toEqual([
    { ...some[3], name: 'drain P1-T1-2', query: { tab: 'x', do: 'drain node' } },
  ]);
  // What is drained already is undrained only.
  expect(find(some, 'drain H1')).toEqual([]);
  expect(find(some, 'undrain T1')).toEqual([]);
  expect(find(some, 'undrain H1 port 1').map((x) => x.query?.do)).toEqual(['undrain port 1']);
});

test('two of a kind are compared, beside each other in the drawer', () => {
  const looks = (x: Target, kind: 'node' | 'host', id: string): Target => ({ ...x, looks: [kind, id] });
  const some = [
    looks(all[0]!, 'node', '1:10'),
    looks(all[1]!, 'node', '1:1'),
    looks(all[2]!, 'host', 'H1'),
    looks(t('host', 'H2'), 'host', 'H2'),
  ];
  expect(find(some, 'compare P1-T0-1 p1-t0-10').map((x) => [x.name, x.path[0], x.query])).toEqual([
    ['compare P1-T0-1 P1-T0-10', 'fabric', { pin: 'node 1:1', node: '1:10' }],
  ]);
  expect(find(some, 'compare H1 H').map((x) => x.query)).toEqual([{ pin: 'host H1', host: 'H2' }]);
  expect(find(some, 'compare H1 P1-T0-1')).toEqual([]);
  expect(find(some, 'compare H1')).toEqual([]);
  // Without a first there is no pair, whatever the second is.
  expect(find([...some, all[3]!], 'compare nobody P1-T1-1')).toEqual([]);
});

test('rows match by all words, in any order and case', () => {
  const rows = ['Switch N1 programmed', 'Switch N2 silent', 'host n1'];
  expect(rows.filter(matcher(' n1  SWITCH'))).toEqual([rows[0]]);
  expect(rows.filter(matcher(' '))).toEqual(rows);
});
