import { expect, test } from 'vitest';
import { sentence } from './sentence';

const names = new Map([
  ['64512:10.0.0.1', 'N1'],
  ['64512:10.0.0.2', 'N2'],
  ['2001:db8:1:6::1', 'R5'],
]);
const link = '64512:10.0.0.1,1~64512:10.0.0.2,3';

test.each([
  [
    'group.changed',
    'demo',
    'Accepted=yes (Planned) Programmed=yes (Installed) Degraded=yes (ReceiverStalled)',
    'fault',
    'Group demo is degraded: receiver stalled.',
  ],
  [
    'group.changed',
    'demo',
    'Accepted=yes (Planned) Programmed=no (Installing) Degraded=no (Healthy)',
    'quiet',
    'Group demo is being programmed.',
  ],
  ['tenant.changed', 'a', 'Accepted=no (LimitExceeded)', 'fault', 'Tenant a is not accepted: limit exceeded.'],
  ['group.deleted', 'demo', '', 'quiet', 'Group demo is deleted.'],
  ['receiver.stalled', 'demo', '2001:db8:1:6::1', 'fault', 'Receiver R5 stalls group demo.'],
  ['switch.changed', 'N1', 'connected, holds 7 entities', 'ok', 'Switch N1 is connected.'],
  [
    'switch.changed',
    'N1',
    'opening the stream: southbound: rpc error: code = Unavailable desc = "transport: Error while dialing: dial tcp 127.0.0.1:9559: connect: connection refused"',
    'fault',
    'Switch N1: nothing listens at 127.0.0.1:9559: the connection was refused.',
  ],
  [
    'bgp-peer.changed',
    '127.1.0.1:179',
    'BGP-LS session with 127.1.0.1:179 (AS 64512) established',
    'ok',
    'The BGP-LS session with 127.1.0.1:179 is established.',
  ],
  [
    'bgp-peer.changed',
    '127.1.0.1:179',
    'BGP-LS session with 127.1.0.1:179 (AS 64512) lost: read tcp: EOF',
    'fault',
    'There is no BGP-LS session with 127.1.0.1:179: the connection ended.',
  ],
  [
    'topology.changed',
    '',
    'version 6: 6 nodes, 12 links, 18 prefixes',
    'quiet',
    'The topology has 6 nodes, 12 links and 18 prefixes.',
  ],
  ['link.changed', link, 'denied: port 1 is down', 'fault', 'Link N1 → N2 is out of use: port 1 is down.'],
  ['link.changed', link, 'restored', 'ok', 'Link N1 → N2 is used again.'],
  [
    'suspect.changed',
    `[${link}]`,
    'loses 0.5 of its packets, confidence 1.0000',
    'warning',
    'Link N1 → N2 loses 50 % of its packets, with a confidence of 100 %.',
  ],
  ['drain.changed', `link ${link}`, 'draining', 'work', 'Link N1 → N2 is being drained.'],
  ['drain.changed', 'plane 1', 'in use', 'ok', 'Plane 1 is in use again.'],
  ['ev-profile.changed', 'a:b', 'degraded: no path is left', 'warning', 'EV profile a:b is degraded: no path is left.'],
  ['host.changed', 'H1', 'refused: evs: too many', 'fault', 'Host H1 refuses its configuration: evs: too many.'],
  ['port.changed', 'N1/3', 'down: its link is not used', 'fault', 'Port N1/3 is down: its link is not used.'],
  [
    'store.failed',
    '',
    'changes are refused, and what is in force goes on: disk full',
    'fault',
    'Changes are refused, and what is in force goes on: disk full.',
  ],
  ['controller.lost', 'c2', '', 'fault', 'Controller c2: lost.'],
])('%s of %s: %s', (type, object, message, severity, text) => {
  expect(sentence({ type, object, message }, names)).toEqual({ severity, text });
});
