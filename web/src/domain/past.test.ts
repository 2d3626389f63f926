import { expect, test } from 'vitest';
import type { Schemas } from '../api/client';
import { stretches, Then } from './past';

const at = (seconds: number) => new Date(1000 * seconds).toISOString();
const past: Schemas['Past'] = {
  at: at(60),
  since: at(0),
  things: [
    { kind: 'switch', id: 's', state: 'down' },
    { kind: 'cause', id: 'c', state: 'warning', what: 'It fails often' },
  ],
  changes: [
    { time: at(10), kind: 'link', id: 'a', is: 'down' },
    { time: at(15), kind: 'cause', id: 'c', is: 'fault', what: 'It failed' },
    { time: at(20), kind: 'link', id: 'a', was: 'down', is: 'drained' },
    { time: at(30), kind: 'link', id: 'a', was: 'drained' },
    { time: at(40), kind: 'cause', id: 'c', was: 'fault', said: 'It failed', is: 'warning', what: 'It fails often' },
  ],
};

test('each moment is as it was', () => {
  expect([5, 10, 19, 20, 29, 30, 60].map((t) => new Then(past, t).link('a'))).toEqual(
    'up down down drained drained up up'.split(' '),
  );
  expect([5, 60].map((t) => new Then(past, t).state('switch', 's'))).toEqual(['down', 'down']);
  const said = (t: number) => new Then(past, t).all('cause').map((c) => `${c.state}: ${c.what}`);
  expect([14, 15, 39, 40].map(said)).toEqual([
    [],
    ['fault: It failed'],
    ['fault: It failed'],
    ['warning: It fails often'],
  ]);
});

test('a stretch begins with a state and ends with it, or with what is shown', () => {
  const of = (from: number) =>
    stretches(past, from, (t) => t.kind !== 'cause').map((s) => `${s.id} ${s.state} ${s.from}-${s.to}`);
  expect(of(5)).toEqual(['s down 5-60', 'a down 10-20', 'a drained 20-30']);
  expect(of(12)).toEqual(['s down 12-60', 'a down 12-20', 'a drained 20-30']);
  expect(stretches(past, 0, (t) => t.kind === 'cause').map((s) => [s.what, s.from, s.to])).toEqual([
    ['It failed', 15, 40],
    ['It fails often', 40, 60],
  ]);
});
