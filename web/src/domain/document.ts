import { isNode, LineCounter, parseDocument, stringify } from 'yaml';
import { structuredPatch } from 'diff';
import { kindOf, type Collection } from './kinds';

/** A document of a resource, as weft apply takes it. */
interface Doc {
  kind: string;
  name: string;
  spec: unknown;
}

/** Writes a document as YAML. Text that an older YAML takes for something else is quoted. */
export function toYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, compat: 'yaml-1.1', aliasDuplicateObjects: false });
}

/** The document of a resource, as weft export prints it. */
export const yamlOf = (collection: Collection, name: string, spec: unknown) =>
  toYaml({ kind: kindOf(collection)!.kind, name, spec });

/** What is wrong with a text, and where: lines begin with 1. */
export interface Fault {
  line?: number;
  text: string;
}

interface Read {
  doc?: Doc;
  faults: Fault[];
  /** Returns the line of a field that the API names, such as spec.receivers[0].qpn, or of what it is in. */
  lineOf: (field: string) => number | undefined;
}

/** Reads the document of a resource; whole numbers keep all their digits. */
export function readDocument(text: string, kind: string, name: string): Read {
  const lines = new LineCounter();
  const parsed = parseDocument(text, { lineCounter: lines, intAsBigInt: true, prettyErrors: false });
  const faults: Fault[] = parsed.errors.map((e) => ({ line: lines.linePos(e.pos[0]).line, text: e.message }));
  const lineOf = (field: string) => {
    const path = [...field.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map((m) => (m[1] === undefined ? m[0] : Number(m[1])));
    for (; path.length > 0; path.pop()) {
      const node = parsed.getIn(path, true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return undefined;
  };
  if (faults.length > 0) return { faults, lineOf };
  const got = parsed.toJS() as Partial<Doc> | null;
  const wrong = (field: keyof Doc, want: string): Fault => ({
    line: lineOf(field) ?? 1,
    text: `${field} is ${got?.[field] === undefined ? 'missing' : String(got[field])}: want ${want}`,
  });
  if (typeof got !== 'object' || got === null)
    return { faults: [{ line: 1, text: 'want kind, name and spec' }], lineOf };
  if (got.kind !== kind) faults.push(wrong('kind', kind));
  if (name === '' ? typeof got.name !== 'string' || got.name === '' : got.name !== name)
    faults.push(wrong('name', name || 'a name'));
  if (typeof got.spec !== 'object' || got.spec === null) faults.push(wrong('spec', 'its fields'));
  for (const field of Object.keys(got))
    if (!['kind', 'name', 'spec'].includes(field))
      faults.push({ line: lineOf(field), text: `${field} is no field of a document: want kind, name and spec` });
  return { doc: faults.length === 0 ? (got as Doc) : undefined, faults, lineOf };
}

interface DiffLine {
  sign: ' ' | '+' | '-' | '…';
  text: string;
}

/** Compares two texts line by line, with three lines around what differs; empty when nothing does. */
export function difference(before: string, after: string): DiffLine[] {
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: 3 });
  return hunks.flatMap((h, i): DiffLine[] => [
    ...(i > 0 || h.oldStart > 1 ? [{ sign: '…', text: '' } as const] : []),
    ...h.lines.filter((l) => !l.startsWith('\\')).map((l) => ({ sign: l[0] as ' ' | '+' | '-', text: l.slice(1) })),
  ]);
}
