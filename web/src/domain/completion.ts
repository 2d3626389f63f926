import { kindOf } from './kinds';
/** What of a JSON Schema completion needs. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  enum?: readonly unknown[];
  readOnly?: boolean;
}

/** The OpenAPI document, as far as it is used here. */
export interface OpenApi {
  paths: Readonly<
    Record<string, { put?: { requestBody?: { content?: Readonly<Record<string, { schema?: Schema }>> } } }>
  >;
  components: { schemas: Readonly<Record<string, Schema>> };
}

/** Returns the schema of documents of a collection: kind, name and spec. */
export function documentSchema(api: OpenApi, collection: string, kind: string): Schema | undefined {
  const body =
    api.paths[kindOf(collection)?.at ?? `/v1/${collection}/{name}`]?.put?.requestBody?.content?.['application/json']
      ?.schema;
  const spec = resolve(api, body)?.properties?.spec;
  if (!spec) return undefined;
  return {
    required: ['kind', 'name', 'spec'],
    properties: {
      kind: { enum: [kind], description: 'What it is.' },
      name: { type: 'string', description: 'Its name.' },
      spec: { ...spec, description: 'What is wanted.' },
    },
  };
}

function resolve(api: OpenApi, s: Schema | undefined): Schema | undefined {
  if (!s?.$ref) return s;
  return { ...api.components.schemas[s.$ref.replace('#/components/schemas/', '')], ...withoutRef(s) };
}

function withoutRef(s: Schema): Schema {
  const out = { ...s };
  delete out.$ref;
  return out;
}

/** A word that may stand at the caret. */
interface Suggestion {
  text: string;
  /** What is put in its place. */
  insert: string;
  about?: string;
  required?: boolean;
}

interface Completion {
  /** Offsets of what the suggestion replaces. */
  from: number;
  to: number;
  suggestions: Suggestion[];
  /** The meaning of the field at the caret. */
  about?: string;
}

interface Line {
  /** Columns of the dashes of items of lists that begin in the line. */
  dashes: number[];
  /** Column and name of its field. */
  column: number;
  key?: string;
  /** The text behind the colon; undefined without a colon. */
  value?: string;
}

function read(text: string): Line {
  const dashes: number[] = [];
  let at = /^ */.exec(text)![0].length;
  for (let m; (m = /^-( +|$)/.exec(text.slice(at))); at += m[0].length) dashes.push(at);
  const field = /^([A-Za-z_][\w-]*)\s*:(?:\s+(.*)|$)/.exec(text.slice(at));
  return { dashes, column: at, key: field?.[1], value: field ? (field[2] ?? '') : undefined };
}

/** Returns the names of the fields that a field at a column of a line is in, the outermost first. */
function pathTo(lines: readonly string[], row: number, column: number, dashes: readonly number[]): string[] {
  const path: string[] = [];
  let limit = dashes[0] ?? column,
    item = dashes.length > 0;
  for (let i = row - 1; i >= 0 && (limit > 0 || item); i--) {
    const text = lines[i]!;
    if (/^\s*(#|$)/.test(text)) continue;
    const line = read(text);
    if (
      line.key !== undefined &&
      (line.column < limit || (item && line.column === limit && line.dashes.length === 0))
    ) {
      path.unshift(line.key);
      limit = line.dashes[0] ?? line.column;
      item = line.dashes.length > 0;
    } else if (!item && line.dashes.length > 0 && line.column === limit) {
      limit = line.dashes[0]!;
      item = true;
    }
  }
  return path;
}

/** Returns the names of the fields that stand beside one at a column of a line, in the same object. */
function siblings(lines: readonly string[], row: number, column: number, dashes: readonly number[]): Set<string> {
  const found = new Set<string>();
  const look = (step: 1 | -1) => {
    for (let i = row + step; i >= 0 && i < lines.length; i += step) {
      if (/^\s*(#|$)/.test(lines[i]!)) continue;
      const line = read(lines[i]!);
      if (line.column === column && (step < 0 || line.dashes.length === 0) && line.key) found.add(line.key);
      if (Math.min(line.column, line.dashes[0] ?? Infinity) < column) return;
    }
  };
  if (dashes.length === 0) look(-1);
  look(1);
  return found;
}

function schemaAt(api: OpenApi, root: Schema, path: readonly string[]): Schema | undefined {
  let s: Schema | undefined = resolve(api, root);
  for (const key of path) {
    s = resolve(api, s?.properties?.[key]);
    while (s?.items) s = { ...resolve(api, s.items), description: s.description };
  }
  return s;
}

/** Returns what may stand at the caret of a document in block style. */
export function complete(api: OpenApi, root: Schema, text: string, caret: number): Completion {
  const before = text.slice(0, caret);
  const start = before.lastIndexOf('\n') + 1;
  const lines = text.split('\n');
  const row = before.split('\n').length - 1;
  const here = text.slice(start, caret);
  const line = read(here);
  const none = { from: caret, to: caret, suggestions: [] };
  if (/^\s*#/.test(here)) return none;
  const path = pathTo(lines, row, line.column, line.dashes);
  if (line.key !== undefined) {
    const field = schemaAt(api, root, [...path, line.key]);
    const word = /[^\s]*$/.exec(line.value ?? '')![0];
    const values = field?.enum?.map(String) ?? (field?.type === 'boolean' ? ['true', 'false'] : []);
    return {
      from: caret - word.length,
      to: caret,
      suggestions: starting(word, values).map((v) => ({ text: v, insert: /:$/.test(here) ? ` ${v}` : v })),
      about: field?.description,
    };
  }
  const word = here.slice(line.column);
  if (/\W/.test(word)) return none;
  const object = schemaAt(api, root, path);
  const properties = object?.properties ?? {};
  const there = siblings(lines, row, line.column, line.dashes);
  // The rest of the line is a value already when the word is within a field.
  const rest = /^[\w-]*\s*(:?)/.exec(text.slice(caret))!;
  const names = starting(
    word,
    Object.keys(properties).filter((n) => !there.has(n) && !properties[n]!.readOnly),
  );
  const needed = new Set(object?.required);
  names.sort((a, b) => Number(needed.has(b)) - Number(needed.has(a)));
  return {
    from: caret - word.length,
    to: caret,
    suggestions: names.map((n) => {
      const p = resolve(api, properties[n]);
      return {
        text: n,
        insert: n + (rest[1] ? '' : p?.properties || p?.items ? ':' : ': '),
        about: properties[n]!.description ?? p?.description,
        required: needed.has(n),
      };
    }),
    about: object?.description,
  };
}

function starting(word: string, of: string[]): string[] {
  const w = word.toLowerCase();
  const found = of.filter((x) => x.toLowerCase().startsWith(w));
  return found.length === 1 && found[0] === word ? [] : found;
}
