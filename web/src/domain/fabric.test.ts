import { expect, test } from 'vitest';
import { cost, heatOf, linkState, matrices, stateSince, states, worst } from './fabric';
import { layout } from './layout';

const node = (id: string, tier: number, plane = 1) => ({
  id,
  version: 0,
  spec: { admin: 'up' as const },
  status: { name: id.toUpperCase(), tier, planes: [plane], present: true, links: 2, deniedLinks: 0 },
});
const link = (from: string, to: string, more: object = {}, port = 1) => ({
  id: `${from},${port}~${to},${port}`,
  version: 0,
  spec: { admin: 'up' as const },
  status: { from, to, plane: 1, phase: 'up' as const, denied: false, drained: false, ...more },
});
const both = (a: string, b: string, more: object = {}) => [link(a, b, more), link(b, a)];
const nodes = [node('t0-10', 0), node('t0-2', 0), node('t1-1', 1), node('t1-2', 1)];
const links = [
  ...both('t0-2', 't1-1'),
  ...both('t0-2', 't1-2', { denied: true }),
  ...both('t0-10', 't1-1', { phase: 'down' }),
];

test('a matrix has switches in natural order, and the worst of both directions', () => {
  const [m, ...more] = matrices(nodes, links, (l) => linkState(l, new Set(['t1-1,1~t0-2,1'])));
  expect(more).toEqual([]);
  expect(m!.rows.map((r) => r.name)).toEqual(['T0-2', 'T0-10']);
  expect(m!.cells).toEqual(['suspect', 'denied', 'down', 'none']);
  expect(m!.links.get(1)!.map((l) => l.id)).toEqual(['t0-2,1~t1-2,1', 't1-2,1~t0-2,1']);
});

test('a port that is down is worse than a drain, and a drain explains denied EVs', () => {
  const none = new Set<string>();
  expect(linkState(link('a', 'b', { denied: true, drained: true }), none)).toBe('drained');
  expect(linkState(link('a', 'b', { drained: true, fromPort: 'down' }), none)).toBe('down');
  expect(linkState(link('a', 'b', { phase: 'trying' }), none)).toBe('trying');
});

test('a suspect link is suspect since it came under suspicion, and not since it is up', () => {
  const l = link('a', 'b', { since: '2026-01-01T00:00:00Z' });
  const evidence = { sent: 9, lost: 1, paths: 1 };
  const of = (links: string[], since: string) => ({ links, since, loss: 0.1, confidence: 1, evidence, denied: false });
  const all = [of([l.id], '2026-01-01T00:05:00Z'), of(['other'], '2026-01-01T00:01:00Z')] as never;
  expect(stateSince(l, 'suspect', nodes, [], all)).toBe('2026-01-01T00:05:00Z');
  expect(stateSince(l, 'up', nodes, [], all)).toBe('2026-01-01T00:00:00Z');
});

test('the cost of a drain is what is in use and would not be', () => {
  // In use: t0-2 - t1-1 both ways, t1-2 to t0-2, t1-1 to t0-10.
  expect(cost({ kind: 'link', id: 't1-1,1~t0-2,1' }, nodes, links)).toEqual({
    lost: 2,
    planes: [{ plane: 1, all: 6, now: 4, left: 2 }],
    tightest: { name: 'T0-2', now: 1, left: 0 },
  });
  expect(cost({ kind: 'node', id: 't1-2' }, nodes, links)).toEqual({
    lost: 1,
    planes: [{ plane: 1, all: 6, now: 4, left: 3 }],
  });
  expect(cost({ kind: 'plane', plane: 1 }, nodes, links).planes).toEqual([{ plane: 1, all: 6, now: 4, left: 0 }]);
});

test('a Clos is placed by plane, tier and index; nothing lies on another', () => {
  const all = [1, 2].flatMap((p) =>
    [0, 1].flatMap((t) =>
      [1, 2, 10].map((i) => ({ id: `${p}-${t}-${i}`, name: `P${p}-T${t}-${i}`, tier: t, planes: [p] })),
    ),
  );
  const at = layout(all, []);
  expect(new Set([...at.values()].map((s) => `${s.x} ${s.y}`)).size).toBe(12);
  expect(at.get('1-0-2')!.x).toBeLessThan(at.get('1-0-10')!.x);
  expect(at.get('1-0-10')!.x).toBeLessThan(at.get('2-0-1')!.x);
  expect(at.get('1-1-1')!.y).toBeLessThan(at.get('1-0-1')!.y);
});

test('any other graph is placed the same way every time, inside the square and apart', () => {
  const names = ['N1', 'N2', 'N3', 'N4', 'N5', 'N6'];
  const all = names.map((n) => ({ id: n, name: n, planes: [] }));
  const edges = [
    ['N6', 'N4'],
    ['N6', 'N5'],
    ['N4', 'N1'],
    ['N5', 'N2'],
    ['N5', 'N3'],
    ['N4', 'N2'],
  ] as [string, string][];
  const a = layout(all, edges),
    b = layout([...all].reverse(), edges);
  expect([...a.entries()].sort()).toEqual([...b.entries()].sort());
  const spots = [...a.values()];
  for (const s of spots) expect(Math.min(s.x, s.y, 1 - s.x, 1 - s.y)).toBeGreaterThan(0.05);
  spots.forEach((s, i) =>
    spots.slice(0, i).forEach((t) => expect(Math.hypot(s.x - t.x, s.y - t.y)).toBeGreaterThan(0.1)),
  );
});

test('hosts are in a rack below their switch, in a network without tiers too, and no links cross there', () => {
  const at = (names: string[], tier?: number) => names.map((n) => ({ id: n, name: n, tier, planes: [1] }));
  const racks = layout(
    [...at(['T0-1', 'T0-2'], 0), ...at(['T1-1'], 1), ...at(['H1', 'H2', 'H3', 'H4'], -1)],
    [
      ['H1', 'T0-2'],
      ['H2', 'T0-1'],
      ['H3', 'T0-2'],
      ['H4', 'T0-1'],
    ],
  );
  const order = (spots: typeof racks, names: string[]) =>
    names.sort((a, b) => spots.get(a)!.x - spots.get(b)!.x).join(' ');
  expect(order(racks, ['H1', 'H2', 'H3', 'H4', 'T0-1', 'T0-2'])).toBe('H2 T0-1 H4 H1 T0-2 H3');
  expect(racks.get('H1')!.y).toBeGreaterThan(racks.get('T0-1')!.y);
  const edges: [string, string][] = [
    ['S1', 'N6'],
    ['N6', 'N5'],
    ['N6', 'N4'],
    ['N4', 'N3'],
    ['N5', 'N1'],
    ['N5', 'N2'],
    ['N1', 'R3'],
    ['N2', 'R2'],
    ['N3', 'R1'],
  ];
  const wan = layout([...at(['N1', 'N2', 'N3', 'N4', 'N5', 'N6']), ...at(['S1', 'R1', 'R2', 'R3'], -1)], edges);
  for (const host of ['S1', 'R1', 'R2', 'R3']) expect(wan.get(host)!.y).toBe(0.9);
  const crossed = edges.flatMap(([a, b], i) =>
    edges.slice(0, i).filter(([c, d]) => {
      const [p, q, r, s] = [a, b, c, d].map((id) => wan.get(id)!);
      if (new Set([a, b, c, d]).size < 4) return false;
      const side = (u: typeof p, v: typeof p, w: typeof p) =>
        Math.sign((v!.x - u!.x) * (w!.y - u!.y) - (v!.y - u!.y) * (w!.x - u!.x));
      return side(p, q, r) !== side(p, q, s) && side(r, s, p) !== side(r, s, q);
    }),
  );
  expect(crossed).toEqual([]);
});

test('utilization stands where its pair of switches does, whatever the order of the API', () => {
  const [m] = matrices(nodes, links, (l) => linkState(l, new Set()));
  expect(
    heatOf(m!, {
      rows: ['T0-10', 'T0-2'],
      columns: ['T1-2', 'T1-1'],
      values: [
        [-1, 20],
        [30, 40],
      ],
    }),
  ).toEqual([40, 30, 20, -1]);
  expect(heatOf(m!, { rows: ['T0-2'], columns: ['T1-1'], values: [[7]] })).toEqual([7, -1, -1, -1]);
});

test('of two states the worse one counts, whichever comes first', () => {
  for (const [good, bad] of [
    ['none', 'up'],
    ['up', 'drained'],
    ['drained', 'trying'],
    ['trying', 'held'],
    ['held', 'suspect'],
    ['suspect', 'denied'],
    ['denied', 'down'],
  ] as const)
    expect([worst(good, bad), worst(bad, good), states.indexOf(bad)]).toEqual([bad, bad, states.indexOf(good) + 1]);
});
