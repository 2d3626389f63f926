import { expect, test } from 'vitest';
import type { components } from '../api/schema';
import { blockLoads, blocksOf, findBlock, partOf } from './blocks';
import { linkState } from './fabric';

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

test('pods are what T0 and T1 join, in the order of names; a link is one, with its worse direction', () => {
  const [plane] = blocksOf(nodes, links, stateOf);
  expect(plane!.pods.map((b) => [b.id, b.name, ...b.tiers.map((t) => t.nodes.map((n) => n.id).join())])).toEqual([
    ['1.1', 'Pod 1', 'S1', 'L1,L2'],
    ['1.2', 'Pod 2', 'S2', 'L10'],
    ['1.alone', 'Without links', 'L9'],
  ]);
  expect(plane!.pods.map((b) => [b.within, b.up, b.bad])).toEqual([
    [2, 1, { down: 2 }],
    [1, 1, { held: 1 }],
    [0, 0, {}],
  ]);
  expect(plane!.pods[0]!.tiers[1]!.states).toEqual({ down: 1, up: 1 });
  // A fault of a link up is one of the top tier too.
  expect([plane!.top!.id, plane!.top!.bad]).toEqual(['1.top', { held: 1 }]);
});

test('a part has what is in a block; the top tier comes with what its links lead to', () => {
  const planes = blocksOf(nodes, links, stateOf);
  const ids = (id: string) => {
    const part = partOf(findBlock(planes, id)!, nodes, links);
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
  expect(findBlock(planes, '1.7')).toBeUndefined();
});

test('loads are means over the links of a block, and the most of any of its ports', () => {
  const planes = blocksOf(nodes, links, stateOf);
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
  const loads = blockLoads(
    planes,
    [use],
    [
      { name: 'S1/7', share: 0.9 },
      { name: 'C1/1', share: 0.4 },
      { name: 'elsewhere/1', share: 1 },
    ],
  );
  expect(Object.fromEntries(loads)).toEqual({
    '1.1': { mean: 0.25, most: 0.9 },
    '1.2': { mean: 0.05, most: 0.05 },
    '1.top': { most: 0.4 },
  });
});
