import { expect, test } from 'vitest';
import { affected, causes, plain, steady, type Known } from '.';

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
  expect(found[0]!.consequences.map((f) => f.id)).toEqual(['link/a,1~b,1', 'profile/p']);
  expect(affected(found[0]!)).toBe('1 link and 1 EV profile');
});

test('one direction of a cable stands for both', () => {
  const down = { phase: 'down', denied: true };
  const found = causes(known({ links: [link('b,2~a,1', down), link('a,1~b,2', down)] }));
  expect(found.map((c) => [c.finding.id, c.consequences.map((f) => f.id)])).toEqual([['link/a,1~b,2', []]]);
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

test('faults come before work, and the oldest first, whatever follows from them', () => {
  const at = (n: number) => ({ phase: 'down', since: `2026-01-01T00:00:0${n}Z` });
  const of = (profiles: object[]) =>
    causes(
      known({
        links: [link('a,1~b,1', {}, 'drained'), link('c,1~d,1', at(1)), link('e,1~f,1', at(2))],
        profiles,
      }),
    ).map((c) => c.finding.id);
  expect(of([])).toEqual(['link/c,1~d,1', 'link/e,1~f,1', 'drain/a,1~b,1']);
  expect(of([profile('p', ['e,1~f,1'])])).toEqual(['link/c,1~d,1', 'link/e,1~f,1', 'drain/a,1~b,1']);
});

const suspect = (links: string[], more: object = {}) => ({
  links,
  loss: 0.5,
  confidence: 0.99,
  denied: false,
  why: 'too few paths are left',
  since: '2026-01-01T00:00:02Z',
  evidence: { sent: 1, lost: 1, paths: 1 },
  ...more,
});

test('a link that is down explains its suspects, and its words and place stay while the news come in', () => {
  const down = { phase: 'down', denied: true, fromPort: 'down', since: '2026-01-01T00:00:01Z' };
  const pair = (s: object) => [link('a,1~b,1', s), link('b,1~a,1', s)];
  const states = [
    { links: pair(down) },
    { links: pair(down), suspects: [suspect(['a,1~b,1'])] },
    { links: pair(down), suspects: [suspect(['a,1~b,1']), suspect(['b,1~a,1', 'b,2~c,1'])] },
    { links: pair(down), suspects: [suspect(['a,1~b,1'])], profiles: [profile('p', ['b,1~a,1']), profile('q', [])] },
    { links: [link('a,1~b,1', { ...down, denied: false }), link('b,1~a,1', down)] },
    { links: pair({ phase: 'held', denied: true, since: '2026-01-01T00:00:09Z' }) },
    { links: pair({ phase: 'trying', denied: true, since: '2026-01-01T00:00:12Z' }) },
  ];
  let shown = causes(known({}));
  for (const s of states) {
    shown = steady(
      shown,
      causes(known({ ...s, links: [...s.links, link('x,1~y,1', { ...down, since: '2026-01-01T00:00:05Z' })] })),
    );
    expect(shown.map((c) => [c.finding.id, c.finding.what])).toEqual([
      ['link/a,1~b,1', 'Link a – b has failed'],
      ['link/x,1~y,1', 'Link x – y has failed'],
    ]);
    expect(shown[0]!.finding.since).toBe('2026-01-01T00:00:01Z');
  }
});

test('a suspect is one cause before and after it is denied', () => {
  const cut = { phase: 'down', denied: true, cause: 'loses 0.5 of its packets', since: '2026-01-01T00:00:04Z' };
  const names = { fromName: 'A', toName: 'B' };
  for (const k of [
    { links: [link('b,1~a,1'), link('a,1~b,1')], suspects: [suspect(['b,1~a,1'], names)] },
    { links: [link('b,1~a,1', cut), link('a,1~b,1')], suspects: [suspect(['b,1~a,1'], { ...names, denied: true })] },
  ])
    expect(causes(known(k)).map((c) => [c.finding.id, c.finding.what])).toEqual([
      ['link/a,1~b,1', 'Link A → B loses packets'],
    ]);
});

test('a dead switch is one cause: its BGP-LS session, links, host ports, hosts, groups and policies follow', () => {
  const down = { phase: 'down', denied: true };
  const dead = { ...sw('A', '64512:10.0.0.1', false), address: '192.0.2.1:9559' };
  const group = {
    name: 'g',
    version: 1,
    spec: { source: { address: '2001:db8::1', qpn: 1 }, receivers: [{ address: '2001:db8::2', qpn: 2 }] },
    status: { conditions: [{ type: 'Degraded', status: true, reason: 'Unreachable', message: 'no path' }], index: 0 },
  };
  const port = { port: 0, version: 0, spec: { admin: 'up' }, status: { leaf: '64512:10.0.0.1', linkDown: true } };
  const found = causes(
    known({
      switches: [dead, { ...sw('B', '64512:10.0.0.2', true), address: '192.0.2.2:9559' }],
      peers: [
        { name: '192.0.2.1', address: '192.0.2.1', state: 'connecting', synced: false },
        { name: '192.0.2.2', address: '192.0.2.2', state: 'established', synced: true },
      ],
      links: [link('64512:10.0.0.1,1~64512:10.0.0.2,1', down), link('64512:10.0.0.2,1~64512:10.0.0.1,1', down)],
      fabric: {},
      hosts: [{ name: 'h', address: '2001:db8::2', connected: false, ports: [port] }],
      groups: [group],
      ready: { ready: false, checks: [{ name: 'bgp-ls', ok: false, message: 'waits for 192.0.2.1' }] },
    }),
  );
  expect(found.map((c) => [c.finding.id, c.consequences.map((f) => f.id)])).toEqual([
    [
      'switch/A',
      ['peer/192.0.2.1', 'bgp-ls', 'link/64512:10.0.0.1,1~64512:10.0.0.2,1', 'hostport/h/0', 'host/h', 'group/g'],
    ],
  ]);
});

test('every cause has what it means for traffic and what to do', () => {
  const found = causes(
    known({
      switches: [sw('A', 'a', false)],
      links: [link('c,1~d,1', { phase: 'down' }), link('e,1~f,1', { phase: 'held' }), link('g,1~h,1', {}, 'drained')],
      suspects: [suspect(['i,1~j,1'])],
      fabric: { failure: 'no leaves' },
      hosts: [{ name: 'h', connected: false, ports: [], refusals: [{ field: 'f', reason: 'r' }] }],
    }),
  );
  expect(found.length).toBeGreaterThan(6);
  for (const { finding: f } of found) {
    expect(f.means, f.id).toMatch(/^[A-Z].*\.$/);
    expect(f.todo, f.id).toMatch(/^[A-Z].*\.$/);
    expect(f.detail, f.id).not.toMatch(/undefined/);
  }
});

test('errors of connections are sentences', () => {
  expect(
    plain(
      'opening the stream: southbound: rpc error: code = Unavailable desc = "connection error: desc = \\"transport: Error while dialing: dial tcp 127.0.0.1:9559: connect: connection refused\\""',
    ),
  ).toBe('Nothing listens at 127.0.0.1:9559: the connection was refused.');
  expect(plain('rpc error: code = DeadlineExceeded desc = context deadline exceeded')).toBe(
    'It did not answer in time.',
  );
  expect(plain('port 3 is down')).toBe('Port 3 is down.');
  expect(plain('')).toBe('');
});

test('a stalled receiver explains a degraded group; its switch explains both', () => {
  const group = {
    name: 'g',
    version: 1,
    spec: { source: { address: '2001:db8::9' } },
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
    /^1 NLRI left out, 2 attributes discarded so far\. The last: it ends early\./,
  );
  // A session that is lost explains that the topology is not complete; what is malformed does not.
  const ready = { ready: false, checks: [{ name: 'bgp-ls', ok: false }] };
  expect(causes(known({ ready, peers: [peer({ malformedNlris: 1 })] })).map((c) => c.finding.id)).toEqual([
    'bgp-ls',
    'malformed/192.0.2.1',
  ]);
});
