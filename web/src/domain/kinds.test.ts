import { expect, test } from 'vitest';
import document from '../../../northbound/testdata/openapi.json';
import { cut, fixed, kinds, listed, pathIn, placeIn, same, verb } from './kinds';

test('every kind that clients write as a document is here, with its scopes', () => {
  const paths = document.paths as Record<string, Record<string, { security?: { bearer?: string[] }[] }>>;
  const scope = (path: string, method: string) => paths[path]![method]!.security![0]!.bearer![0];
  const want = Object.keys(paths)
    .filter((p) => /^\/v1\/[a-z0-9-]+\/\{name\}$/.test(p) && paths[p]!.put)
    .map((p) => p.split('/')[2]!);
  expect(listed.map((k) => k.collection as string).sort()).toEqual(want.sort());
  for (const k of listed) {
    expect(scope(`/v1/${k.collection}/{name}`, 'get'), k.kind).toBe(k.reads);
    expect(scope(`/v1/${k.collection}/{name}`, 'put'), k.kind).toBe(k.writes);
    expect(paths[`/v1/${k.collection}`]!.post === undefined, k.kind).toBe(k.overridden === true);
  }
});

test('what is a part of something else has its own place, scopes and deletion', () => {
  const paths = document.paths as Record<string, Record<string, { security?: { bearer?: string[] }[] } | undefined>>;
  const parts = kinds.filter((k) => !listed.includes(k));
  const specs = Object.keys(paths).filter(
    (p) => !/^\/v1\/[a-z0-9-]+\/\{name\}$/.test(p) && paths[p]!.put && paths[p]!.patch,
  );
  expect(parts.map((k) => k.at!).sort()).toEqual(specs.sort());
  for (const k of parts) {
    expect(paths[k.at!]!.get!.security![0]!.bearer![0], k.kind).toBe(k.reads);
    expect(paths[k.at!]!.put!.security![0]!.bearer![0], k.kind).toBe(k.writes);
    expect(paths[k.at!]!.delete !== undefined, k.kind).toBe(k.removed !== undefined);
  }
  expect(placeIn('links', 'a:1/2~b')).toEqual({ path: '/v1/links/{id}', of: { id: 'a:1/2~b' } });
  expect(placeIn('ports', 'N/1/3').of).toEqual({ id: 'N/1', port: '3' });
  expect(pathIn('host-ports', 'h 1/2')).toBe('/v1/hosts/h%201/ports/2');
  expect(pathIn('jobs', 'a/b')).toBe('/v1/jobs/a%2Fb');
});

test('a change can be taken back, unless its spec is not in the log or something came after it', () => {
  const c = { chain: 'core', seq: 1 };
  expect(verb(c)).toBe(undefined);
  expect(verb({ ...c, after: {} })).toBe('created');
  expect(verb({ ...c, before: {} })).toBe('deleted');
  expect(verb({ ...c, before: {}, after: {} })).toBe('changed');
  const long = { octets: 70000, sha256: 'ab' };
  expect(cut(long)).toBe(true);
  expect(fixed({ ...c, before: { a: 1 }, after: { a: 2 } }, true, { a: 2 })).toBe(undefined);
  expect(fixed({ ...c, before: { a: 1 }, after: { a: 2 } }, true, { a: 3 })).toMatch('not what it has made');
  expect(fixed({ ...c, before: { a: 1 }, after: { a: 2 } }, false, { a: 3 })).toBe(undefined);
  expect(fixed({ ...c, before: long, after: { a: 2 } }, true, { a: 2 })).toMatch('size');
  expect(fixed({ ...c, before: { a: 1 } }, true, undefined)).toBe(undefined);
  expect(fixed(c, false, {})).toMatch('no spec');
});

test('specs are the same whatever the order of fields and the kind of number', () => {
  expect(same({ a: 1, b: [1, 2] }, { b: [1n, 2], a: 1 })).toBe(true);
  expect(same({ a: 18446612682070000641n }, { a: 18446612682070000640n })).toBe(false);
  expect(same({ a: 1 }, { a: 1, b: 2 })).toBe(false);
  expect(same([1], { 0: 1 })).toBe(false);
  expect(same(undefined, {})).toBe(false);
});
