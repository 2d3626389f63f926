import { expect, test } from 'vitest';
import { drawTree, lag } from './tree';

const branch = (index: number, ackPsn: number, more = {}) => ({
  index,
  answered: true,
  valid: true,
  ackPsn,
  ePsn: ackPsn + 1,
  nakPending: false,
  msn: 0,
  cnpCount: 0,
  epoch: 7,
  ...more,
});

test('a tree is drawn level by level, each branch with its state', () => {
  const node = { address: 'a', sid: 's', behavior: 'End.MT', behaviorCode: 1, upstreamPort: 1 };
  const tree = {
    root: 'N6',
    sid: 's',
    cost: 2,
    nodes: [
      {
        ...node,
        switch: 'N6',
        branches: [
          { index: 0, child: 'N1', port: 2 },
          { index: 1, child: 'N2', port: 3 },
        ],
      },
      {
        ...node,
        switch: 'N1',
        parent: 'N6',
        branches: [
          { index: 0, receiver: 'r1', port: 2 },
          { index: 1, receiver: 'r2', port: 3 },
        ],
      },
      { ...node, switch: 'N2', parent: 'N6', branches: [{ index: 0, receiver: 'r3', port: 2 }] },
    ],
  };
  const state = {
    group: 'g',
    epoch: 7,
    complete: true,
    nodes: [{ switch: 'N1', answered: true, lastPsn: 5, cnpTotal: 0, branches: [branch(1, 41, { receiver: 'r2' })] }],
  };
  const d = drawTree(
    tree,
    'src',
    new Map([
      ['src', 'S1'],
      ['r1', 'R1'],
    ]),
    state,
  );
  expect(d.vertices.map((v) => v.name)).toEqual(['S1', 'N6', 'N1', 'R1', 'r2', 'N2', 'r3']);
  expect(d.edges.map((e) => `${e.from}>${e.to}`).sort()).toEqual([
    'N1>host r1',
    'N1>host r2',
    'N2>host r3',
    'N6>N1',
    'N6>N2',
    'host src>N6',
  ]);
  expect(d.edges.find((e) => e.to === 'host r2')!.state!.ackPsn).toBe(41);
  expect(d.edges.find((e) => e.to === 'host r1')!.state).toBeUndefined();
  const x = (id: string) => d.spots.get(id)!.x,
    y = (id: string) => d.spots.get(id)!.y;
  expect(x('host src') < x('N6') && x('N6') < x('N1') && x('N1') === x('N2') && x('N1') < x('host r1')).toBe(true);
  expect(y('host r1') < y('N1') && y('N1') < y('host r2') && y('host r2') < y('host r3')).toBe(true);
});

test('a branch lags behind the furthest, also where PSNs begin anew', () => {
  const all = [branch(0, 0xfffffe), branch(1, 3), branch(2, 100, { valid: false }), branch(3, 50, { epoch: 6 })];
  expect(lag(all[0]!, all)).toBe(5);
  expect(lag(all[1]!, all)).toBe(0);
  expect(lag(all[2]!, all)).toBeUndefined();
});
