import { expect, test } from 'vitest';
import { pageOf } from './place';

test('every object has its page', () => {
  expect(pageOf('links/a,1~b,1')).toEqual({ path: ['fabric'], query: { link: 'a,1~b,1' } });
  expect(pageOf('switches')).toEqual({ path: ['switches'] });
  expect(pageOf('switches/n1')).toEqual({ path: ['switches', 'n1'] });
  expect(pageOf('switches/n1/ports/2')).toEqual({ path: ['switches', 'n1'], query: { port: '2' } });
  expect(pageOf('hosts/h/ports/1')).toEqual({ path: ['hosts', 'h'] });
  expect(pageOf('bgp-peers/192.0.2.1:179')).toEqual({ path: ['peers'], query: { peer: '192.0.2.1:179' } });
  expect(pageOf('bgp-peers')).toEqual({ path: ['peers'], query: undefined });
  expect(pageOf('fabric')).toEqual({ path: ['fabric'] });
  expect(pageOf(undefined)).toEqual({ path: [''] });
});
