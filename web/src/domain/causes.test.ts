import { expect, test } from 'vitest';
import { affected, hurt } from './causes';

test('what a cause concerns is counted by kind', () => {
  expect(affected({ counts: [] })).toBe('');
  expect(affected({ counts: [{ kind: 'link', count: 1 }] })).toBe('1 link');
  expect(
    affected({
      counts: [
        { kind: 'switch', count: 2 },
        { kind: 'SRv6 policy', count: 3 },
        { kind: 'host', count: 1 },
      ],
    }),
  ).toBe('2 switches, 3 SRv6 policies and 1 host');
});

test('who is hurt: jobs by name once, carriers of traffic by number, and no links', () => {
  const one = {
    jobs: { count: 1, names: ['a'] },
    counts: [
      { kind: 'job', count: 1 },
      { kind: 'link', count: 4 },
      { kind: 'EV profile', count: 2 },
    ],
  };
  const a = { name: 'job a', object: 'jobs/a' };
  expect(hurt([one, one])).toEqual({ jobs: [a], more: false, named: '4 EV profiles' });
  const many = { jobs: { count: 7, names: ['a', 'b'] }, counts: [] };
  expect(hurt([one, many])).toMatchObject({ jobs: [a, { name: 'job b', object: 'jobs/b' }], more: true });
  expect(hurt([])).toEqual({ jobs: [], more: false, named: '' });
  const group = { kind: 'multicast group', counts: [{ kind: 'multicast group', count: 1 }] } as const;
  expect(hurt([{ ...group, counts: [] }]).named).toBe('1 multicast group');
  expect(hurt([{ ...group, kind: 'switch', counts: [...group.counts] }]).named).toBe('1 multicast group');
});
