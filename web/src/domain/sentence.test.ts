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
    'nothing listens at 127.0.0.1:9559: the connection was refused',
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
    'BGP-LS session with 127.1.0.1:179 (AS 64512) lost: the connection ended',
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
  ['host.changed', 'H1', 'refuses nothing any more', 'ok', 'Host H1 refuses nothing any more.'],
  [
    'host.bound',
    'H1',
    '2001:db8:1:6::1 is 02:00:00:00:00:01 at N1/3',
    'ok',
    'Host H1 is at N1/3: 2001:db8:1:6::1, MAC 02:00:00:00:00:01.',
  ],
  [
    'host.moved',
    'H1',
    '192.0.2.7 is 02:00:00:00:00:01 at N2/4, and was at N1/3',
    'quiet',
    'Host H1 has moved from N1/3 to N2/4: 192.0.2.7.',
  ],
  [
    'host.moved',
    'H1',
    '192.0.2.7 is 02:00:00:00:00:02 at N1/3 now',
    'quiet',
    'Host H1 at N1/3 has another MAC for 192.0.2.7: 02:00:00:00:00:02.',
  ],
  [
    'host.gone',
    'H1',
    '2001:db8:1:6::1 at N1/3 does not answer',
    'warning',
    'Host H1 at N1/3 does not answer: 2001:db8:1:6::1.',
  ],
  [
    'host.refused',
    '2001:db8:1:6::1',
    '02:00:00:00:00:02 at N2/4 is not bound: the host that has it answered',
    'warning',
    'MAC 02:00:00:00:00:02 at N2/4 may not have 2001:db8:1:6::1: the host that has it answered.',
  ],
  ['connection.up', 'demo', 'source 2001:db8:1:6::1', 'ok', 'Source R5 is connected to group demo.'],
  ['connection.down', 'demo', 'receiver 192.0.2.7', 'quiet', 'Receiver 192.0.2.7 has left group demo.'],
  [
    'connection.refused',
    'demo',
    'source 2001:db8:1:6::1: fd00::1 is the source',
    'warning',
    'Source R5 is not connected to group demo: fd00::1 is the source.',
  ],
  [
    'connection.refused',
    'demo',
    'receiver 2001:db8:1:6::1: the host does not answer',
    'warning',
    'Receiver R5 is not connected to group demo: the host does not answer.',
  ],
  [
    'connection.refused',
    'demo',
    'receiver 2001:db8:1:6::1: by the host: rejected by the consumer',
    'warning',
    'Receiver R5 refuses the connection of group demo: rejected by the consumer.',
  ],
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

test('a cause that is over does not read as if there were one', () => {
  const e = { type: 'cause.ended', object: 'x', message: 'Over: Switch N1 is not connected' };
  expect(sentence(e)).toEqual({ severity: 'ok', text: 'No longer: switch N1 is not connected' });
});
