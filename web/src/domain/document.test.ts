import { expect, test } from 'vitest';
import { difference, readDocument, toYaml } from './document';

test('a document is read as it was written, with all digits of its numbers', () => {
  const doc = {
    kind: 'multicast-group',
    name: 'g1',
    spec: {
      va: 18446612682070000641n,
      proxyAddress: '2001:db8::1',
      on: 'yes',
      at: '22:30',
      list: [{ a: true, b: 1.5 }],
    },
  };
  const text = toYaml(doc);
  expect(text).toContain('va: 18446612682070000641\n');
  expect(text).toContain('at: "22:30"');
  const got = readDocument(text, 'multicast-group', 'g1');
  expect(got.faults).toEqual([]);
  expect(got.doc).toEqual(doc);
});

test('what is wrong is named with its line', () => {
  const at = (text: string) => readDocument(text, 'job', 'j').faults;
  expect(at('kind: job\nname: j\nspec:\n  a: [1\n')).toMatchObject([{ line: 5 }]);
  expect(at('kind: job\nname: j\nspec:\n  a: 1\n  a: 2\n')[0]!.line).toBe(5);
  expect(at('kind: lease\nname: j\nspec: {}\n')).toEqual([{ line: 1, text: 'kind is lease: want job' }]);
  expect(at('kind: job\nname: k\nspec: {}\n')).toEqual([{ line: 2, text: 'name is k: want j' }]);
  expect(at('kind: job\nname: j\n')).toEqual([{ line: 1, text: 'spec is missing: want its fields' }]);
  expect(at('kind: job\nname: j\nspec: {}\nspce: 1\n')[0]).toMatchObject({ line: 4 });
  expect(at('')).toHaveLength(1);
  const { lineOf } = readDocument('kind: job\nname: j\nspec:\n  x:\n  - a: 1\n  - a: 2\n', 'job', 'j');
  expect(lineOf('spec.x[1].a')).toBe(6);
  expect(lineOf('spec.x[7].a')).toBe(5);
  expect(lineOf('other')).toBe(undefined);
});

test('a difference has three lines around it', () => {
  const text = (n: number) => Array.from({ length: 9 }, (_, i) => `line ${i === 5 ? n : i}\n`).join('');
  expect(difference(text(5), text(5))).toEqual([]);
  expect(difference(text(5), text(50)).map((l) => l.sign + l.text)).toEqual([
    '…',
    ' line 2',
    ' line 3',
    ' line 4',
    '-line 5',
    '+line 50',
    ' line 6',
    ' line 7',
    ' line 8',
  ]);
});
