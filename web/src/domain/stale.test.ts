import { expect, test } from 'vitest';
import document from '../../../northbound/testdata/openapi.json';
import { stale } from './stale';

test('every type of event that the API has makes something stale, and a gap everything', () => {
  const types = document.components.schemas.Event.properties.type.description.replace(/\.$/, '').split(', ');
  expect(types.length).toBeGreaterThan(25);
  for (const type of types) {
    if (type === 'gap') expect(stale(type)).toBeUndefined();
    else expect(stale(type), type).toBeTruthy();
  }
});
