import { expect, test } from 'vitest';
import { affected } from './causes';

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
