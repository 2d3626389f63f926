import { expect, test } from 'vitest';
import document from '../../../northbound/testdata/openapi.json';
import { complete, documentSchema, type OpenApi } from './completion';
import { kinds } from './kinds';

const api = document as unknown as OpenApi;

/** What may stand at the | of a document. */
function at(collection: string, kind: string, text: string) {
  const caret = text.indexOf('|');
  return complete(api, documentSchema(api, collection, kind)!, text.replace('|', ''), caret);
}
const words = (...of: Parameters<typeof at>) => at(...of).suggestions.map((s) => s.text);

test('every kind has a schema', () => {
  for (const k of kinds) expect(documentSchema(api, k.collection, k.kind)?.properties?.spec, k.kind).toBeDefined();
});

test('fields are those of the object that the caret is in, without those that are there', () => {
  const head = 'kind: multicast-group\nname: g\nspec:\n';
  expect(words('multicast-groups', 'multicast-group', '|')).toEqual(['kind', 'name', 'spec']);
  expect(words('multicast-groups', 'multicast-group', `${head}  pro|`)).toEqual(['proxyAddress']);
  expect(words('multicast-groups', 'multicast-group', `${head}  source:\n    |`)).toEqual(['address', 'qpn']);
  expect(words('multicast-groups', 'multicast-group', `${head}  source:\n    qpn: 1\n    |`)).toEqual(['address']);
  // An item of a list may begin where its field does.
  for (const indent of ['  ', '    ']) {
    expect(words('multicast-groups', 'multicast-group', `${head}  receivers:\n${indent}- q|`)).toEqual(['qpn']);
    const second = words(
      'multicast-groups',
      'multicast-group',
      `${head}  receivers:\n${indent}- qpn: 1\n${indent}- qpn: 2\n${indent}  |`,
    );
    expect(second).toContain('address');
    expect(second).not.toContain('qpn');
  }
  expect(words('multicast-groups', 'multicast-group', `${head}  receivers:\n  - qpn: 1\n  mo|`)).toEqual(['mode']);
});

test('what is required comes first, and each has its meaning', () => {
  const all = at('leases', 'lease', 'kind: lease\nname: l\nspec:\n  |').suggestions;
  expect(all[0]).toMatchObject({ text: 'pairs', insert: 'pairs:', required: true });
  expect(all[0]!.about).toMatch(/NICs/);
  expect(all.find((s) => s.text === 'paths')).toMatchObject({ insert: 'paths: ' });
});

test('values are those of an enumeration', () => {
  const head = 'kind: lease\nname: l\nspec:\n';
  expect(words('leases', 'lease', `${head}  sharing: |`)).toEqual(['shared', 'exclusive']);
  expect(words('leases', 'lease', `${head}  sharing: ex|`)).toEqual(['exclusive']);
  expect(words('leases', 'lease', `${head}  sharing: exclusive|`)).toEqual([]);
  expect(at('leases', 'lease', `${head}  sharing:|`).suggestions[0]!.insert).toBe(' shared');
  expect(words('jobs', 'job', 'spec:\n  exclusive: |')).toEqual(['true', 'false']);
  const bandwidth = at('leases', 'lease', `${head}  bandwidth: 1|`);
  expect(bandwidth.suggestions).toEqual([]);
  expect(bandwidth.about).toMatch('Bit/s');
});

test('nothing is suggested in a comment or for a field that there is not', () => {
  expect(words('leases', 'lease', 'spec:\n  # pa|')).toEqual([]);
  expect(words('leases', 'lease', 'spec:\n  nosuch:\n    |')).toEqual([]);
});
