import { expect, test } from 'vitest';
import { placeOf } from './eventplace';

test('events lead to the page of what they are about', () => {
  const place = (type: string, kind: string, id: string) => placeOf({ type, objects: [{ kind, id }] });
  expect(place('connection.up', 'multicast-group', 'demo')).toEqual({ path: ['groups', 'demo'] });
  expect(place('host.bound', 'host', 'H1')).toEqual({ path: ['hosts', 'H1'] });
  expect(place('drain.changed', 'link', 'a~b')).toEqual({ path: ['fabric'], query: { link: 'a~b' } });
  expect(place('drain.changed', 'host-port', 'H1/2')).toEqual({ path: ['hosts', 'H1'] });
  expect(place('pfc.storm', 'queue', 'N1/1/3')).toEqual({ path: ['pfc'] });
  expect(place('host.refused', 'address', '2001:db8::1')).toBeUndefined();
  expect(placeOf({ type: 'topology.changed' })).toBeUndefined();
});
