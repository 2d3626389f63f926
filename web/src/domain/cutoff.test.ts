import { expect, test } from 'vitest';
import type { components } from '../api/schema';
import { cutOff } from './cutoff';

type S = components['schemas'];

const both = (a: string, b: string, n: number, phase = 'up') =>
  [
    [a, b],
    [b, a],
  ].map(([x, y]) => ({
    id: `${x},${n}~${y},${n}`,
    status: { from: x, fromName: x!.toUpperCase(), to: y, toName: y!.toUpperCase(), phase },
  })) as unknown as S['FabricLink'][];
const host = (name: string, ...at: [string, number][]) =>
  ({
    name,
    address: `addr ${name}`,
    ports: at.map(([leaf, leafPort], port) => ({ port, status: { leaf, leafName: leaf.toUpperCase(), leafPort } })),
  }) as unknown as S['FabricHost'];
const group = (name: string, source: string, receivers: string[], tree: object[] = []) =>
  ({
    name,
    spec: { source: { address: `addr ${source}` }, receivers: receivers.map((r) => ({ address: `addr ${r}` })) },
    status: { tree: { nodes: tree } },
  }) as unknown as S['Group'];
const tenant = (name: string, sw: string, port: number) =>
  ({ name, spec: { sites: [{ switch: sw, port }] } }) as unknown as S['Tenant'];

// a and b and c are a triangle; d hangs at c, and e at d.
const links = [
  ...both('a', 'b', 1),
  ...both('b', 'c', 2),
  ...both('a', 'c', 3),
  ...both('c', 'd', 4),
  ...both('d', 'e', 5),
];
const hosts = [host('h1', ['a', 11]), host('h2', ['b', 11]), host('h3', ['d', 11]), host('h4', ['e', 11], ['a', 12])];

test('a link with another way around it cuts off nobody, and moves the trees that cross it', () => {
  const g = group('g', 'h1', ['h2'], [{ switch: 'A', branches: [{ port: 1 }] }]);
  expect(cutOff({ switch: 'A', port: 1, link: 'a,1~b,1' }, links, hosts, [g, group('x', 'h1', ['h3'])], [])).toEqual({
    switches: [],
    hosts: [],
    fewer: [],
    groups: [],
    moved: ['g'],
    tenants: [],
  });
});

test('the only link to a part of the network cuts off the part with fewer hosts, from either end', () => {
  const groups = [group('g', 'h1', ['h2', 'h3', 'h4']), group('back', 'h3', ['h1'])];
  for (const p of [
    { switch: 'C', port: 4, link: 'c,4~d,4' },
    { switch: 'D', port: 4, link: 'd,4~c,4' },
  ])
    expect(cutOff(p, links, hosts, groups, [tenant('t', 'E', 9), tenant('u', 'A', 9)])).toEqual({
      switches: ['D', 'E'],
      hosts: ['h3'],
      fewer: [],
      groups: [
        { name: 'g', receivers: ['h3'] },
        { name: 'back', receivers: ['h1'] },
      ],
      moved: [],
      tenants: [{ name: 't', sites: ['E/9'] }],
    });
});

test('a link is the only way while the others are down', () => {
  const down = [...both('a', 'b', 1), ...both('b', 'c', 2, 'down'), ...both('a', 'c', 3)];
  expect(cutOff({ switch: 'A', port: 1, link: 'a,1~b,1' }, down, hosts.slice(0, 2), [], []).switches).toEqual(['B']);
});

test('the port of a host cuts it off, unless it has another', () => {
  const groups = [group('g', 'h1', ['h2'])];
  expect(cutOff({ switch: 'B', port: 11 }, links, hosts, groups, [tenant('t', 'B', 11)])).toMatchObject({
    hosts: ['h2'],
    groups: [{ name: 'g', receivers: ['h2'] }],
    tenants: [{ name: 't', sites: ['B/11'] }],
  });
  expect(cutOff({ switch: 'A', port: 12 }, links, hosts, groups, [])).toMatchObject({
    hosts: [],
    fewer: [{ host: 'h4', left: 1, all: 2 }],
  });
});
