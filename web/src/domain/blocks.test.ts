import { expect, test } from 'vitest';
import type { components } from '../api/schema';
import { blockText, cellsOf, divide, divided, loadsOf, partOf, tilesOf } from './blocks';
import { linkState, states } from './fabric';

type Link = components['schemas']['FabricLink'];
type Node = components['schemas']['FabricNode'];

const node = (id: string, tier: number, present = true): Node => ({
  id,
  version: 0,
  spec: { admin: 'up' },
  status: { name: id, tier, planes: [1], present, links: 0, deniedLinks: 0 },
});
const link = (from: string, to: string, phase: Link['status']['phase'] = 'up'): Link => ({
  id: `${from},1~${to},2`,
  version: 0,
  spec: { admin: 'up' },
  status: { from, to, plane: 1, phase, denied: false, drained: false },
});
const back = (l: Link, phase: Link['status']['phase'] = 'up'): Link => {
  const [a, b] = l.id.split('~');
  return { ...link(l.status.to, l.status.from, phase), id: `${b}~${a}` };
};
const both = (from: string, to: string, up?: Link['status']['phase'], down?: Link['status']['phase']) => {
  const l = link(from, to, up);
  return [l, back(l, down)];
};
const stateOf = (l: Link) => linkState(l, new Set());

const nodes = [
  node('L10', 0),
  node('L2', 0),
  node('L1', 0, false),
  node('S1', 1),
  node('S2', 1),
  node('C1', 2),
  node('L9', 0),
];
const links = [
  ...both('L1', 'S1', 'down', 'down'),
  ...both('L2', 'S1', 'up', 'down'),
  ...both('L10', 'S2'),
  ...both('S1', 'C1'),
  ...both('S2', 'C1', 'held'),
];

const d = divide(nodes, links);
const cells = (of: Uint8Array[]) =>
  Object.fromEntries(d.all.map((b, i) => [b.id, [...of[i]!].map((k) => states[k]).join(' ')]));

test('pods are what T0 and T1 join, in the order of names; a cell has the worst of its links', () => {
  expect(d.planes[0]!.pods.map((b) => [b.id, b.name, ...b.tiers.map((t) => t.nodes.map((n) => n.id).join())])).toEqual([
    ['1.1', 'Pod 1', 'S1', 'L1,L2'],
    ['1.2', 'Pod 2', 'S2', 'L10'],
    ['1.alone', 'Without links', 'L9'],
  ]);
  expect(d.planes[0]!.top).toMatchObject({
    rows: ['Pod 1', 'Pod 2', 'Without links', 'The top tier'],
    columns: ['C1'],
  });
  const of = cellsOf(d, stateOf);
  expect(cells(of)).toEqual({ '1.1': 'down down', '1.2': 'up', '1.alone': '', '1.top': 'up held none none' });
  const at = d.all.findIndex((b) => b.id === '1.1');
  expect(blockText(d.all[at]!, of[at]!, new Float32Array([0.25, -1]))).toBe(
    'Plane 1, pod 1: 1 T1, 2 T0; switches 1 down; 2 down; load 25 %, at most 25 %',
  );
});

test('what changes in states alone is not divided anew, and has its cells', () => {
  const before = divided(nodes, links);
  const after = divided(
    nodes,
    links.map((l) => (l.id === 'L10,1~S2,2' ? link('L10', 'S2', 'down') : l)),
  );
  expect(after.cell).toBe(before.cell);
  expect(cells(cellsOf(after, stateOf))['1.2']).toBe('down');
  expect(divided(nodes, links.slice(1)).cell).not.toBe(before.cell);
});

test('a part has what is in a block; the top tier comes with what its links lead to', () => {
  const ids = (id: string) => {
    const part = partOf(
      d.all.find((b) => b.id === id)!,
      nodes,
      links,
    );
    return [
      part.nodes
        .map((n) => n.id)
        .sort()
        .join(),
      part.links.length,
    ];
  };
  expect(ids('1.1')).toEqual(['L1,L2,S1', 4]);
  expect(ids('1.top')).toEqual(['C1,S1,S2', 4]);
});

test('a cell has what its links carry, by the matrix of a plane or the ports that send most', () => {
  const use = {
    plane: 1,
    over: 5,
    time: '',
    rows: ['L1', 'L2', 'L10'],
    columns: ['S1', 'S2'],
    up: [
      [100, -1],
      [300, -1],
      [-1, 50],
    ],
    down: [
      [200, -1],
      [0, -1],
      [-1, -1],
    ],
  };
  const named = links.map((l) => ({ ...l, status: { ...l.status, fromName: l.status.from } }));
  const loads = loadsOf(
    divide(nodes, named),
    [use],
    [
      { name: 'C1/2', share: 0.5 },
      { name: 'elsewhere/1', share: 1 },
    ],
  );
  expect(
    Object.fromEntries(d.all.map((b, i) => [b.id, [...loads[i]!].map((x) => Math.round(1000 * x) / 1000)])),
  ).toEqual({
    '1.1': [0.2, 0.3],
    '1.2': [0.05],
    '1.alone': [],
    '1.top': [0.5, 0.5, -1, -1],
  });
});

test('tiles lie within the picture and on no other, whatever its shape', () => {
  const planes = [1, 2, 3].map((plane) => ({ ...d.planes[0]!, plane }));
  for (const [width, height] of [
    [1000, 360],
    [340, 900],
  ] as const) {
    const tiles = tilesOf(planes, width, height, 17);
    expect(tiles.length).toBe(12);
    for (const t of tiles) {
      expect(Math.min(t.width, t.height), `${width} ${t.block.id}`).toBeGreaterThan(8);
      expect(t.x + t.width <= width && t.y + t.height <= height && t.x >= 0 && t.y >= 0).toBe(true);
      for (const o of tiles)
        if (o !== t)
          expect(
            t.x < o.x + o.width && o.x < t.x + t.width && t.y < o.y + o.height && o.y < t.y + t.height,
            `${t.block.id} and ${o.block.id}`,
          ).toBe(false);
    }
  }
});
