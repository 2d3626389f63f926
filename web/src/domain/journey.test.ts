import { expect, test } from 'vitest';
import { line, numberOf, stack, stepOf, steps, stops, way, type Hop, type Record } from './journey';

const address = (last: string) => `fc00${last}`.padEnd(32, '0');
const ipv6 = (dst: string, hops = '40') => `60000000000011${hops}${'11'.repeat(16)}${dst}`;
const bth = (qpn: string) => `0600ffff00${qpn}00000001`;
const copy: Record = {
  id: 2,
  origin: 'replica',
  steps: [
    { stage: { name: 'egress' }, steps: [{ table: { name: 'E.next', hit: false } }] },
    {
      stage: { name: 'deparser' },
      steps: [
        {
          deparse: {
            headers: [
              { name: 'ipv6', octets: 40 },
              { name: 'bth', octets: 12 },
            ],
            length: 52,
          },
        },
      ],
    },
  ],
  outcome: { result: 'transmitted', port: 3, frame: ipv6(address('00020003'), '3f') + bth('000201') },
};
const record: Record = {
  id: 1,
  origin: 'received',
  frame: ipv6(address('000100020003')) + bth('000200') + 'ffff',
  steps: [
    {
      stage: { name: 'parser' },
      steps: [
        { state: { name: 'a' }, steps: [{ extract: { header: 'ipv6', offset: 0, octets: 40 } }] },
        { extract: { header: 'bth', offset: 40, octets: 12 } },
        { extract: { header: 'srh', offset: 52, octets: 2 } },
      ],
    },
    {
      stage: { name: 'ingress' },
      steps: [
        {
          table: {
            name: 'I.sid.local_sid',
            hit: true,
            key: [{ name: 'dst', value: '0x01', entry: { value: '0x00' } }],
          },
          steps: [
            {
              action: { name: 'I.sid.end', args: [{ name: 'group', value: '0x7' }] },
              steps: [{ counter: { name: 'c', index: 2, packets: 9 } }],
            },
          ],
        },
      ],
    },
    { replicate: { group: 64, copies: 1 } },
  ],
  copies: [{ id: 3, origin: 'replica', outcome: { result: 'dropped' } }, copy],
};
const hop = (name: string, before: number, sent: Hop['sent']): Hop => ({ switch: name, port: 1, before, sent, record });

test('a copy is followed through a switch, by what it met', () => {
  expect(line(record, 3).map((r) => r.id)).toEqual([1, 2]);
  expect(line(record, 4)).toEqual([]);
  const all = stops(line(record, 3));
  expect(all.map((s) => `${s.lane} ${s.title} ${s.hit ?? ''}`.trim())).toEqual([
    'Parser ipv6',
    'Parser bth',
    'Parser srh',
    'Ingress local_sid true',
    'Copies 1 copy',
    'Egress next false',
    'Deparser 52 octets',
  ]);
  expect(all[3]).toMatchObject({
    table: 'local_sid',
    key: [{ name: 'dst', value: '0x00' }],
    facts: [
      ['dst', '0x01'],
      ['action', 'end'],
      ['with group', '0x7'],
      ['counter c', '9 packets at 2'],
    ],
  });
});

test('the header stack lights the octets that changed, and names what they are', () => {
  const [ip, b, gone] = stack(line(record, 3));
  expect(ip).toMatchObject({ is: 'changed', what: ['hop limit', 'destination address: uSID shifted'] });
  expect(ip!.lit.slice(0, 8)).toEqual([false, false, false, false, false, false, false, true]);
  expect(b).toMatchObject({ is: 'changed', what: ['DestQPN'] });
  expect(b!.lit.flatMap((l, i) => (l ? [i] : []))).toEqual([7]);
  expect(gone).toMatchObject({ name: 'srh', is: 'removed', octets: ['ff', 'ff'] });
});

test('the way to a host goes by the switches that sent the packet on', () => {
  const hops = [
    hop('A', -1, [
      { port: 2, switch: 'B' },
      { port: 3, switch: 'C' },
    ]),
    hop('B', 0, [{ port: 5, host: 'x' }]),
    hop('C', 0, [{ port: 6, host: 'y' }]),
  ];
  expect(way(hops, 'y').map((w) => `${w.hop.switch} ${w.port}`)).toEqual(['A 3', 'C 6']);
  expect(way(hops, 'z')).toEqual([]);
});

test('a step has the name of its stage and table, and is found where another packet meets it', () => {
  const along = ['A', 'AB', 'B'].map((name) => ({ hop: hop(name, -1, []), records: [...line(record, 3), copy] }));
  const all = steps(along),
    ids = all.map((s) => s.id);
  expect(ids.slice(0, 9)).toEqual([
    'A parser ipv6',
    'A parser bth',
    'A parser srh',
    'A ingress local_sid',
    'A copies',
    'A egress next',
    'A deparser',
    'A egress next 2',
    'A deparser 2',
  ]);
  expect(ids.map((id) => stepOf(all, id))).toEqual(ids.map((_, i) => i));
  const found = (id: string) => ids[stepOf(all, id)];
  expect(found('B ingress local_sid 3')).toBe('B ingress local_sid');
  expect(found('B egress other')).toBe('B egress next');
  expect(found('B unknown')).toBe('B parser ipv6');
  expect(found('C egress next')).toBe('A parser ipv6');
  expect(found('')).toBe('A parser ipv6');
});

test('values of traces and of the API are compared as numbers', () => {
  for (const [a, b] of [
    ['0x20010db8000000000000000000000001', '2001:db8::1'],
    ['0x5f000000000180000000000000000000', '5f00:0:1:8000::/64'],
    ['0x020000000001', '02:00:00:00:00:01'],
    ['0x10', 16],
    ['0x0100', '256&&&0x1f0'],
    ['0x1', '1..5'],
  ] as const)
    expect(numberOf(a), String(b)).toBe(numberOf(b));
  expect(numberOf('*')).toBeUndefined();
});
