import { expect, test } from 'vitest';
import type { components } from '../api/schema';
import { conditionText, isGood, reasonText } from './condition';

type Condition = components['schemas']['GroupCondition'];

const condition = (type: Condition['type'], status: boolean, reason = ''): Condition => ({
  type,
  status,
  reason,
  lastTransition: '2026-01-02T03:04:05Z',
});

test('faults are faults: a switch that is miscabled or cannot do something is not well', () => {
  for (const type of [
    'Degraded',
    'OrphansKept',
    'InventoryDiffers',
    'Miscabled',
    'Unsupported',
    'Undescribed',
    'Contested',
    'Unbalanced',
  ] as const)
    expect([isGood(condition(type, true)), isGood(condition(type, false))], type).toEqual([false, true]);
  for (const type of ['Accepted', 'Programmed', 'Ready'] as const)
    expect([isGood(condition(type, true)), isGood(condition(type, false))], type).toEqual([true, false]);
});

test('a condition is said in words, with its reason where it is not good', () => {
  expect(conditionText(condition('Accepted', true, 'Planned'))).toBe('accepted');
  expect(conditionText(condition('Programmed', false, 'Installing'))).toBe('being programmed');
  expect(conditionText(condition('Programmed', false, 'DeviceError'))).toBe('not programmed: device error');
  expect(conditionText(condition('Degraded', false, 'Healthy'))).toBe('not degraded');
  expect(conditionText(condition('Degraded', true, 'QueuePairShared'))).toBe('degraded: queue pair shared');
  expect(reasonText('EVsDenied')).toBe('EVs denied');
});
