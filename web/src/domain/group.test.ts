import { expect, test } from 'vitest';
import {
  anySource,
  byConnect,
  byQueuePairs,
  connects,
  connectionState,
  freeQpns,
  sourceOf,
  stalledBranches,
} from './group';

const typed = {
  proxyAddress: '2001:db8:ffff::9',
  designatedQpn: 4096,
  mode: 'inband',
  rewriteSource: false,
  initialPsn: 7,
  source: { address: '2001:db8:1:1::1', qpn: 300 },
  receivers: [{ address: '2001:db8:1:2::1', qpn: 600, startPsn: 1, startMsn: 1, psn: 5, va: 1n << 60n, rkey: 3 }],
};

test('a group by RDMA CM has nothing that applications bring', () => {
  const spec = byConnect(typed);
  expect(spec).toEqual({
    proxyAddress: '2001:db8:ffff::9',
    designatedQpn: 4096,
    initialPsn: 7,
    source: { address: '2001:db8:1:1::1' },
    receivers: [{ address: '2001:db8:1:2::1' }],
    connect: {},
  });
  expect([connects(typed), connects(spec), anySource(spec)]).toEqual([false, true, false]);
  expect(typed.receivers[0]!.qpn, 'the spec before').toBe(600);
  // A form that is not filled in yet.
  expect(byConnect({ source: { qpn: 256 } })).toEqual({ source: {}, receivers: [], connect: {} });
});

test('any source takes the one of the spec away, and back', () => {
  const spec = { ...byConnect(typed), connect: { port: 4800, token: 't' } };
  const any = sourceOf(spec, true);
  expect(anySource(any)).toBe(true);
  expect(any).not.toHaveProperty('source');
  expect(any['connect']).toEqual({ port: 4800, token: 't', source: 'any' });
  expect(sourceOf(any, false)['connect']).toEqual({ port: 4800, token: 't' });
});

test('a group of typed queue pairs has no connect', () => {
  const spec = byQueuePairs(sourceOf(byConnect(typed), true), { source: 257, receiver: 512 });
  expect(spec).not.toHaveProperty('connect');
  expect(spec['source']).toEqual({ qpn: 257 });
  expect(spec['receivers']).toEqual([{ address: '2001:db8:1:2::1', qpn: 512 }]);
});

test('a form begins with queue pairs that no group uses', () => {
  const group = (source: number | undefined, ...receivers: number[]) =>
    ({
      spec: {
        source: { address: 'a', qpn: source },
        receivers: receivers.map((qpn) => ({ address: 'b', qpn })),
      },
      status: { connections: [{ qpn: 258 }, { qpn: 514 }] },
    }) as unknown as Parameters<typeof freeQpns>[0][number];
  expect(freeQpns([])).toEqual({ source: 256, receiver: 512 });
  expect(freeQpns([group(256, 512, 513), group(257, 515)])).toEqual({ source: 259, receiver: 516 });
  expect(freeQpns([group(undefined, 4096)])).toEqual({ source: 256, receiver: 512 });
});

test('states of connections are words, and every one of the API has some', () => {
  const states = ['asked', 'replied', 'asking', 'answered', 'established', 'leaving', 'time wait'];
  const texts = states.map((s) => connectionState(s).text);
  expect(new Set(texts).size).toBe(states.length);
  expect(states.filter((s) => connectionState(s).text === s || !connectionState(s).title)).toEqual([]);
  expect(states.filter((s) => connectionState(s).tone === 'ok')).toEqual(['established']);
  expect(connectionState('another')).toEqual({ tone: 'quiet', text: 'another', title: '' });
});

test('the branches that lead to a stalled receiver are stalled, and no others', () => {
  const branches = [
    { switch: 'N6', index: 0, child: 'N4' },
    { switch: 'N6', index: 1, child: 'N5' },
    { switch: 'N4', index: 0, child: 'N1' },
    { switch: 'N1', index: 0, receiver: 'h1' },
    { switch: 'N1', index: 1, receiver: 'h2' },
  ];
  const r = { switch: 'N1', branch: 1 };
  expect([...stalledBranches([r], branches).keys()].sort()).toEqual(['N1 1', 'N4 0', 'N6 0']);
  expect(stalledBranches([], branches).size).toBe(0);
});
