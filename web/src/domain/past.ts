import type { Schemas } from '../api/client';
import type { LinkState } from './fabric';

type Thing = Pick<Schemas['PastThing'], 'kind' | 'id' | 'state' | 'what'>;

/** What was not as it should be at a moment. */
export class Then {
  /** By kind/id. */
  private readonly things = new Map<string, Thing>();

  /** at is in Unix seconds, and not after the moment of past. */
  constructor(past: Schemas['Past'], at: number) {
    for (const t of past.things) this.things.set(`${t.kind}/${t.id}`, t);
    for (const c of past.changes.toReversed()) {
      if (Date.parse(c.time) <= 1000 * at) break;
      const key = `${c.kind}/${c.id}`;
      if (c.was) this.things.set(key, { ...c, kind: c.kind as Thing['kind'], state: c.was, what: c.said ?? c.what });
      else this.things.delete(key);
    }
  }

  /** The state of a thing; undefined: it was as it should be. */
  state(kind: Thing['kind'], id: string): string | undefined {
    return this.things.get(`${kind}/${id}`)?.state;
  }
  link(id: string): LinkState {
    return (this.state('link', id) as LinkState | undefined) ?? 'up';
  }
  /** All things, or those of a kind. */
  all(kind?: Thing['kind']): Thing[] {
    return [...this.things.values()].filter((t) => !kind || t.kind === kind);
  }
}

/** A time in which something was so, in Unix seconds. */
export interface Stretch extends Thing {
  from: number;
  to: number;
}

/** The times from a moment on in which things were not as they should be, until the moment of past. */
export function stretches(past: Schemas['Past'], from: number, wanted: (of: Thing) => boolean): Stretch[] {
  const found: Stretch[] = [],
    open = new Map<string, Stretch>(),
    to = Date.parse(past.at) / 1000;
  const begin = (t: Thing, at: number) => {
    const one = { kind: t.kind, id: t.id, state: t.state, what: t.what, from: at, to };
    if (!wanted(one)) return;
    found.push(one);
    open.set(`${t.kind}/${t.id}`, one);
  };
  for (const t of new Then(past, from).all()) begin(t, from);
  for (const c of past.changes) {
    const at = Date.parse(c.time) / 1000,
      key = `${c.kind}/${c.id}`;
    if (at <= from) continue;
    const before = open.get(key);
    if (before) before.to = at;
    open.delete(key);
    if (c.is) begin({ ...c, kind: c.kind as Thing['kind'], state: c.is }, at);
  }
  return found;
}
