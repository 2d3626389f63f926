import { expect, test } from 'vitest';
import document from '../../../northbound/testdata/openapi.json';
import { families, stale } from './stale';

test('every family of events here is one of the API, and a gap makes everything stale', () => {
  const types = document.components.schemas.Event.properties.type.description.replace(/\.$/, '').split(', ');
  expect(types.length).toBeGreaterThan(25);
  const known = new Set(types.map((t) => t.split('.')[0]));
  for (const family of Object.keys(families)) expect(known, family).toContain(family);
  expect(stale('gap')).toBeUndefined();
  expect(stale('link.changed')).toContain('links');
});
