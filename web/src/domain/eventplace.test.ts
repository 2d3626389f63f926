import { expect, test } from 'vitest';
import { placeOf } from './eventplace';

test('events lead to the page of their object', () => {
  expect(placeOf({ type: 'connection.up', object: 'demo' })).toEqual({ path: ['groups', 'demo'] });
  expect(placeOf({ type: 'host.bound', object: 'H1' })).toEqual({ path: ['hosts', 'H1'] });
  expect(placeOf({ type: 'host.refused', object: '2001:db8::1' })).toBeUndefined();
});
