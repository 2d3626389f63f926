import { expect, test } from 'vitest';
import type { components } from '../api/schema';
import { assigned, changes, covers, nameHint, projectOf, quotas } from './project';

type Project = components['schemas']['Project'];

const make = (name: string, status: Partial<Project['status']>, spec: Project['spec'] = {}): Project => ({
  name,
  version: 1,
  created: '',
  spec,
  status: {
    used: {
      groups: 0,
      receivers: 0,
      tenants: 0,
      policies: 0,
      jobs: 0,
      leases: 0,
      ranks: 0,
      bandwidth: 0,
      leaseLinks: 0,
      leaseBandwidth: 0,
    },
    left: {},
    ...status,
  },
});

test("a name is a project's if it is its, or begins with it and a hyphen or a dot", () => {
  expect(['acme', 'acme-1', 'acme.1', 'acme1', 'acm', 'xacme', 'acme/1', ''].map((n) => covers('acme', n))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
  const all = [make('acme', {}), make('acme-x', {}), make('blue', {})];
  expect(['acme-x-1', 'acme-y', 'blue.1', 'red'].map((n) => projectOf(n, all)?.name)).toEqual([
    'acme-x',
    'acme',
    'blue',
    undefined,
  ]);
});

test('who is no administrator changes what is of projects that it is an editor of', () => {
  const session = (role: 'admin' | 'viewer', projects: { name: string; role: 'viewer' | 'editor' }[]) => ({
    name: 'x',
    way: 'user' as const,
    role,
    scopes: [],
    projects,
  });
  const ann = session('viewer', [
    { name: 'acme', role: 'editor' },
    { name: 'blue', role: 'viewer' },
  ]);
  expect(['acme', 'acme-1', 'blue', 'other'].map((n) => changes(ann, n))).toEqual([true, true, false, false]);
  expect(changes(session('admin', []), 'other')).toBe(true);
  expect(changes(undefined, 'acme')).toBe(false);
});

test('choices are what projects have together, once', () => {
  const a = make('acme', {
    things: [
      { kind: 'host', name: 'R1', address: '2001:db8::1', ports: [{ switch: 'N1', port: 11 }] },
      { kind: 'port', name: 'N1/11' },
      { kind: 'port', name: 'N1/2' },
      { kind: 'slice', name: '1' },
      { kind: 'proxy', name: '2001:db8:aaaa::/64' },
      { kind: 'designatedQpn', name: '4096-4099' },
      { kind: 'host', name: 'gone' },
    ],
    srv6Policies: ['wan'],
    left: { bandwidth: 5 },
  });
  const b = make('blue', {
    things: [
      { kind: 'slice', name: '1', shared: true },
      { kind: 'slice', name: '2' },
      { kind: 'priority', name: '3' },
    ],
    srv6Policies: ['wan', 'lan'],
  });
  const both = assigned([a, b]);
  expect(both).toEqual({
    projects: ['acme', 'blue'],
    hosts: [{ value: '2001:db8::1', label: 'R1: 2001:db8::1 at N1' }],
    ports: [{ value: 'N1/2' }, { value: 'N1/11' }],
    slices: [{ value: '1' }, { value: '2' }],
    priorities: [{ value: '3' }],
    srv6Policies: [{ value: 'lan' }, { value: 'wan' }],
    proxies: ['2001:db8:aaaa::/64'],
    qpns: ['4096-4099'],
    bandwidth: undefined,
  });
  expect(assigned([a]).bandwidth).toBe(5);
  expect(nameHint([])).toBeUndefined();
  expect(nameHint(['acme'])).toBe('acme, or acme- and more.');
});

test('quotas say what is left, and nothing where there is no limit', () => {
  const q = quotas(
    make(
      'acme',
      {
        used: {
          groups: 2,
          receivers: 7,
          tenants: 0,
          policies: 0,
          jobs: 0,
          leases: 0,
          ranks: 0,
          bandwidth: 10,
          leaseLinks: 3,
          leaseBandwidth: 0,
        },
        left: { groups: 1 },
      },
      { quotas: { groups: 3 } },
    ),
  );
  expect(q[0]).toEqual({ what: 'Multicast groups', used: 2, limit: 3, left: 1, unit: '' });
  expect(q.find((x) => x.what === 'Links of leases')?.used).toBe(3);
  expect(q[1]).toEqual({ what: 'Receivers', used: 7, limit: undefined, left: undefined, unit: '' });
});
