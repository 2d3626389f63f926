import { expect, test } from 'vitest';
import { causes, type Known } from './findings';

const link = (id: string, more: object = {}, admin = 'up') => ({
  id,
  version: 0,
  spec: { admin },
  status: {
    from: id.split(',')[0],
    to: id.split('~')[1]!.split(',')[0],
    phase: 'up',
    denied: false,
    drained: false,
    plane: 1,
    ...more,
  },
});
const sw = (name: string, node: string, connected: boolean) => ({
  name,
  node,
  managed: true,
  connected,
  synced: connected,
  entries: 1,
  pending: 0,
});
const profile = (name: string, lostLinks: string[]) => ({
  name,
  version: 0,
  spec: {},
  status: {
    conditions: [{ type: 'Degraded', status: true, reason: 'LinksLost' }],
    lostLinks,
    active: 6,
    count: 8,
    minActive: 2,
    source: [],
    destination: [],
    hosts: [],
    destinations: [],
  },
});
const known = (k: object) => k as Known;

test('nothing wrong, nothing found', () => {
  expect(causes(known({ links: [link('a,1~b,1')], switches: [sw('A', 'a', true)] }))).toEqual([]);
});

test('a lost switch is the one cause of its links and of the profiles over them', () => {
  const down = { phase: 'down', denied: true };
  const found = causes(
    known({
      switches: [sw('A', 'a', false), sw('B', 'b', true)],
      links: [link('a,1~b,1', down), link('b,1~a,1', down)],
      profiles: [profile('p', ['a,1~b,1'])],
    }),
  );
  expect(found.map((c) => c.finding.id)).toEqual(['switch/A']);
  expect(found[0]!.consequences.map((f) => f.id)).toEqual(['link/a,1~b,1', 'link/b,1~a,1', 'profile/p']);
});

test('one direction of a cable stands for both', () => {
  const down = { phase: 'down', denied: true };
  const found = causes(known({ links: [link('b,2~a,1', down), link('a,1~b,2', down)] }));
  expect(found.map((c) => [c.finding.id, c.consequences.map((f) => f.id)])).toEqual([
    ['link/a,1~b,2', ['link/b,2~a,1']],
  ]);
});

test('a drain is work and no fault, and explains denied links of both directions', () => {
  const drained = { denied: true, drained: true };
  const found = causes(
    known({
      links: [link('a,1~b,1', drained, 'drained'), link('b,1~a,1', drained, 'drained')],
      profiles: [profile('p', ['b,1~a,1'])],
    }),
  );
  expect(found.map((c) => [c.finding.id, c.finding.severity, c.consequences.map((f) => f.id)])).toEqual([
    ['drain/a,1~b,1', 'work', ['profile/p']],
  ]);
});

test('faults come before work, and those with more consequences first', () => {
  const found = causes(
    known({
      links: [link('a,1~b,1', {}, 'drained'), link('c,1~d,1', { phase: 'down' }), link('e,1~f,1', { phase: 'down' })],
      profiles: [profile('p', ['e,1~f,1'])],
    }),
  );
  expect(found.map((c) => c.finding.id)).toEqual(['link/e,1~f,1', 'link/c,1~d,1', 'drain/a,1~b,1']);
});

test('a stalled receiver explains a degraded group; its switch explains both', () => {
  const group = {
    name: 'g',
    version: 1,
    spec: {},
    status: {
      conditions: [{ type: 'Degraded', status: true, reason: 'Stalled' }],
      index: 0,
      observedVersion: 1,
      limits: {},
      stalledReceivers: [
        { address: '2001:db8::1', branch: 0, switch: 'A', ackPsn: 5, since: '2026-01-01T00:00:00Z', valid: true },
      ],
      tree: { root: 'A', sid: '', cost: 1, nodes: [{ switch: 'A' }] },
    },
  };
  expect(
    causes(known({ groups: [group], switches: [sw('A', 'a', true)] })).map((c) => [
      c.finding.id,
      c.consequences.length,
    ]),
  ).toEqual([['stalled/g/2001:db8::1', 1]]);
  expect(
    causes(known({ groups: [group], switches: [sw('A', 'a', false)] })).map((c) => [
      c.finding.id,
      c.consequences.length,
    ]),
  ).toEqual([['switch/A', 2]]);
});

test('a full disk explains that changes are refused', () => {
  const ready = {
    ready: false,
    checks: [
      { name: 'store', ok: false, message: 'changes are refused: its disk is full' },
      { name: 'disk', ok: false, message: 'the disk is full' },
      { name: 'share', ok: false, advisory: true, message: 'controller c1 owns 3 switches' },
      { name: 'decider', ok: true },
    ],
  };
  expect(
    causes(known({ ready })).map((c) => [c.finding.id, c.finding.severity, c.consequences.map((f) => f.id)]),
  ).toEqual([
    ['disk', 'fault', ['store']],
    ['share', 'warning', []],
  ]);
});

test('an uneven plane is a finding of its own', () => {
  const one = (status: boolean) => ({
    plane: 2,
    leaf: 'P2-T0-1',
    links: 4,
    utilization: 0.4,
    index: 1.5,
    busiest: 'P2-T1-3',
    conditions: [{ type: 'Unbalanced' as const, status, reason: 'Uneven', message: 'one is busier' }],
  });
  expect(causes(known({ balance: [one(false)] }))).toEqual([]);
  expect(
    causes(known({ balance: [one(true)] })).map((c) => [c.finding.severity, c.finding.what, c.finding.query]),
  ).toEqual([['warning', 'P2-T0-1 uses its links into plane 2 unevenly', { plane: '2', show: 'up' }]]);
});

test('a peer that sends what is malformed is a cause, with the counts and the last fault', () => {
  const peer = (more: object) => ({ name: '192.0.2.1', state: 'established', synced: true, ...more });
  expect(causes(known({ peers: [peer({}), peer({ malformedNlris: 0, discardedAttributes: 0 })] }))).toEqual([]);
  const found = causes(
    known({
      peers: [
        peer({
          malformedNlris: 1,
          discardedAttributes: 2,
          lastFault: { time: '2026-01-01T00:00:00Z', object: 'nlri', octets: '00', length: 1, reason: 'it ends early' },
        }),
      ],
    }),
  );
  expect(
    found.map((c) => [c.finding.id, c.finding.severity, c.finding.path, c.finding.query, c.finding.since]),
  ).toEqual([['malformed/192.0.2.1', 'warning', ['peers'], { peer: '192.0.2.1' }, '2026-01-01T00:00:00Z']]);
  expect(found[0]!.finding.detail).toMatch(
    /^1 NLRI left out, 2 attributes discarded so far: .*The last: it ends early\./,
  );
  // A session that is lost explains that the topology is not complete; what is malformed does not.
  const ready = { ready: false, checks: [{ name: 'bgp-ls', ok: false }] };
  expect(causes(known({ ready, peers: [peer({ malformedNlris: 1 })] })).map((c) => c.finding.id)).toEqual([
    'bgp-ls',
    'malformed/192.0.2.1',
  ]);
});
