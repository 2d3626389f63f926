import { expect, test } from 'vitest';
import type { Schemas } from '../api/client';
import { statesAt } from './past';

const at = (seconds: number) => new Date(1000 * seconds).toISOString();
const ports = new Map([['n1/2', 'c,2~d,5']]);
const about = (kind: string, id: string) => ({ object: id, objects: [{ kind, id }] });
const first = about('link', 'a,1~b,1');
const events = [
  { time: at(10), type: 'link.changed', ...first, state: 'denied', reason: 'the link is down' },
  { time: at(20), type: 'link.changed', ...first, state: 'used' },
  { time: at(30), type: 'drain.changed', ...first, object: 'link a,1~b,1', state: 'drained' },
  { time: at(35), type: 'drain.changed', ...about('plane', '1'), state: 'drained' },
  { time: at(40), type: 'port.changed', ...about('port', 'n1/2'), state: 'down' },
  { time: at(50), type: 'group.changed', ...about('multicast-group', 'a,1~b,1') },
] as const satisfies readonly Partial<Schemas['Event']>[];

test('a link was what the last event before says, in both directions', () => {
  const of = (t: number) => statesAt(1000 * t, events, ports).get('b,1~a,1');
  expect([5, 10, 15, 20, 25, 35].map(of)).toEqual(['up', 'down', 'down', 'up', 'up', 'drained']);
});

test('a link was otherwise before its first event, and as it is now where there is none', () => {
  const early = statesAt(1000, events, ports);
  expect(early.get('d,5~c,2')).toBe('up');
  expect(early.get('x,1~y,1')).toBeUndefined();
  expect(statesAt(45_000, events, ports).get('c,2~d,5')).toBe('down');
  expect(
    statesAt(0, [{ time: at(1), type: 'link.changed', ...about('link', 'p,1~q,1'), state: 'used' }], ports),
  ).toEqual(
    new Map([
      ['p,1~q,1', 'down'],
      ['q,1~p,1', 'down'],
    ]),
  );
});
