import { expect, test } from 'vitest';
import { blockerPlace, trimmed, verdict } from './job';

const job = (status: object) => ({ name: 'j', version: 1, spec: {}, status }) as never;

test('a verdict is GO only when the controller says that it is ready', () => {
  expect(verdict(job({ phase: 'Pending' })).text).toBe('NO-GO');
  expect(verdict(job({ phase: 'Running', blockers: 2, conditions: [{ type: 'Ready', status: false }] })).text).toBe(
    'NO-GO: 2 causes',
  );
  expect(verdict(job({ phase: 'Ready', conditions: [{ type: 'Ready', status: true }] }))).toEqual({
    tone: 'ok',
    text: 'GO',
  });
  expect(verdict(job({ phase: 'Done', conditions: [{ type: 'Ready', status: true }] })).text).toBe('ended');
});

test('a blocker leads to the page of its object', () => {
  expect(blockerPlace({ kind: 'link', object: 'l' })).toEqual({ path: ['fabric'], query: { link: 'l' } });
  expect(blockerPlace({ kind: 'nic', object: 'h' })).toEqual({ path: ['hosts', 'h'] });
  expect(blockerPlace({ kind: 'switch' })).toBeUndefined();
});

test('what a form leaves behind is no layout', () => {
  expect(trimmed({ hosts: 'a', layout: {}, communicators: [] })).toEqual({ hosts: 'a' });
  expect(trimmed({ layout: { dp: 2 } })).toEqual({ layout: { dp: 2 } });
});
