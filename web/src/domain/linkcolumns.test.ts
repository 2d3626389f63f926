import { expect, test } from 'vitest';
import { linksOf, replaced } from './linkcolumns';

const one = <T>(value: T) => ({ values: [value] });
const columns = {
  count: 3,
  from: { values: [{ id: 'a', name: 'A' }, { id: 'b' }], index: [0, 1, 0] },
  to: { values: [{ id: 'b' }, { id: 'a', name: 'A' }], index: [0, 1, 0] },
  fromId: [1, 2, 0],
  toId: [2, 1, 0],
  ids: { '2': 'a,2001:db8::1~b' },
  admin: one({ version: 0, spec: { admin: 'up' as const } }),
  plane: one(1),
  phase: { values: ['up', 'down'], index: [0, 0, 1] },
  fromPort: one(''),
  toPort: one('up'),
  cause: { values: ['', 'port 3 is down'], index: [0, 0, 1] },
  since: one(''),
  until: one(''),
  sources: one([]),
  denied: one(false),
  drained: one(false),
  drains: one([]),
};

test('columns are read back, with absent fields absent', () => {
  const links = linksOf(columns);
  expect(links.map((l) => l.id)).toEqual(['a,1~b,2', 'b,2~a,1', 'a,2001:db8::1~b']);
  expect(JSON.parse(JSON.stringify(links[0]))).toEqual({
    id: 'a,1~b,2',
    version: 0,
    spec: { admin: 'up' },
    status: { from: 'a', fromName: 'A', to: 'b', plane: 1, phase: 'up', toPort: 'up', denied: false, drained: false },
  });
  expect(links[2]!.status).toMatchObject({ phase: 'down', cause: 'port 3 is down' });
  expect(linksOf({ ...columns, count: 0 })).toEqual([]);
});

test('changed links take the place of what they were, and an unknown one asks for all', () => {
  const links = linksOf(columns),
    news = { ...links[1]!, version: 7 };
  expect(replaced(links, [news])?.map((l) => l.version)).toEqual([0, 7, 0]);
  expect(replaced(links, [{ ...news, id: 'other' }])).toBeUndefined();
});
