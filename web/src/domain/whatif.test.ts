import { expect, test } from 'vitest';
import type { Schemas } from '../api/client';
import { eventsOf, formatParts, parseParts, scenarioOf, toggle, type Part } from './whatif';

const link: Part = { kind: 'link', name: '1:10.0.0.1,1~1:10.0.0.2,2' },
  node: Part = { kind: 'node', name: '64512:10.0.0.1' };

test('parts go into the address and come back', () => {
  expect(parseParts(formatParts([link, node]))).toEqual([link, node]);
  expect(parseParts('')).toEqual([]);
  expect(parseParts('host a|node |plane 2')).toEqual([{ kind: 'plane', name: '2' }]);
});

test('a part that is chosen again is not chosen, whichever direction of a link it is', () => {
  expect(toggle([node], link)).toEqual([node, link]);
  expect(toggle([node, link], { kind: 'link', name: '1:10.0.0.2,2~1:10.0.0.1,1' })).toEqual([node]);
  expect(toggle([node], node)).toEqual([]);
});

test('events name each kind of part in its field', () => {
  expect(eventsOf([link, node, { kind: 'plane', name: '2' }], 'drain').map((e) => e.object)).toEqual([
    { link: link.name },
    { node: node.name },
    { plane: 2 },
  ]);
});

test('a scenario has the jobs that have not ended, and what happens', () => {
  const job = (name: string, spec: object) => ({ name, spec }) as Schemas['Job'];
  const s = scenarioOf(['switch P1-T1-1', 'link P1-T0-1 – P1-T1-1'], 'fail', [
    job('train', { hosts: 'H[1-8]', layout: { tp: 2, dp: 4 }, state: 'running' }),
    job('over', { state: 'done' }),
  ]);
  expect(s).toEqual({
    network: 'NETWORK.yaml',
    model: 'flows',
    jobs: [
      {
        name: 'train',
        hosts: 'H[1-8]',
        layout: { tp: 2, dp: 4 },
        step: { bytes: { tp: '64MiB', dp: '64MiB' } },
        steps: 10,
      },
    ],
    events: [
      { at: '0s', fail: 'switch P1-T1-1' },
      { at: '0s', fail: 'link P1-T0-1 P1-T1-1' },
    ],
  });
});
