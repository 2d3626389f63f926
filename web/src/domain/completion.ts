import { isMap, isPair, isScalar, parseDocument, visit } from 'yaml';
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

/** Stands in the place of the line at the caret, as a field that no schema has. */
const mark = '__caret__';

/** Returns the names of the fields that the mark of a text is in, the outermost first, and of those beside the mark. */
function around(text: string): { path: string[]; beside: string[] } | undefined {
  const names = (of: readonly unknown[]) => of.filter(isPair).map((p) => String(p.key));
  let found: ReturnType<typeof around>;
  visit(parseDocument(text), {
    Pair(_, { key }, above) {
      if (!isScalar(key) || key.value !== mark) return undefined;
      const own = above.at(-1);
      found = { path: names(above), beside: isMap(own) ? names(own.items) : [] };
      return visit.BREAK;
    },
  });
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
  const start = text.slice(0, caret).lastIndexOf('\n') + 1,
    here = text.slice(start, caret),
    rest = text.slice(caret).split('\n');
  const [, lead, field] = /^((?: |- +)*)(.*)$/.exec(here)!;
  const [, key, value = ''] = /^([A-Za-z_][\w-]*)\s*:(?:\s+(.*)|$)/.exec(field!) ?? [];
  const at = around([`${text.slice(0, start)}${lead}${mark}:`, ...rest.slice(1)].join('\n'));
  const none = { from: caret, to: caret, suggestions: [] };
  if (!at || field!.startsWith('#')) return none;
  if (key !== undefined) {
    const of = schemaAt(api, root, [...at.path, key]);
    const word = /[^\s]*$/.exec(value)![0];
    const values = of?.enum?.map(String) ?? (of?.type === 'boolean' ? ['true', 'false'] : []);
    return {
      from: caret - word.length,
      to: caret,
      suggestions: starting(word, values).map((v) => ({ text: v, insert: /:$/.test(here) ? ` ${v}` : v })),
      about: of?.description,
    };
  }
  const word = field!;
  if (/\W/.test(word)) return none;
  const object = schemaAt(api, root, at.path);
  const properties = object?.properties ?? {};
  // The rest of the line is a value already when the word is within a field.
  const within = /^[\w-]*\s*:/.test(rest[0]!);
  const names = starting(
    word,
    Object.keys(properties).filter((n) => !at.beside.includes(n) && !properties[n]!.readOnly),
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
        insert: n + (within ? '' : p?.properties || p?.items ? ':' : ': '),
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
