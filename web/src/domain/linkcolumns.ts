import type { Schemas } from '../api/client';

type Link = Schemas['FabricLink'];
type Columns = Schemas['LinkColumns'];
interface Column<T> {
  values: T[] | null;
  index?: number[] | null;
}

/** Returns the links of an answer that has them field by field. */
export function linksOf(c: Columns): Link[] {
  const at = <T>(column: Column<T>, i: number): T => column.values![column.index ? column.index[i]! : 0]!;
  const optional = <T>(value: T): T | undefined => (value === '' || value === 0 ? undefined : value);
  const list = <T>(value: T[] | null): T[] | undefined => (value?.length ? value : undefined);
  const links = new Array<Link>(c.count);
  for (let i = 0; i < c.count; i++) {
    const from = at(c.from, i),
      to = at(c.to, i),
      admin = at(c.admin, i);
    links[i] = {
      id: c.ids?.[i] ?? `${from.id},${c.fromId[i]}~${to.id},${c.toId[i]}`,
      version: admin.version,
      changed: admin.changed,
      spec: admin.spec,
      status: {
        from: from.id,
        fromName: from.name,
        to: to.id,
        toName: to.name,
        plane: optional(at(c.plane, i)),
        phase: at(c.phase, i) as Link['status']['phase'],
        fromPort: optional(at(c.fromPort, i)) as Link['status']['fromPort'],
        toPort: optional(at(c.toPort, i)) as Link['status']['toPort'],
        cause: optional(at(c.cause, i)),
        since: optional(at(c.since, i)),
        until: optional(at(c.until, i)),
        sources: list(at(c.sources, i)),
        denied: at(c.denied, i),
        drained: at(c.drained, i),
        drains: list(at(c.drains, i)),
      },
    };
  }
  return links;
}

/** Puts what is new of some links in the place of what was; undefined when a link is not among them. */
export function replaced(links: readonly Link[], news: readonly Link[]): Link[] | undefined {
  const by = new Map(news.map((l) => [l.id, l]));
  const out = links.map((l) => {
    const n = by.get(l.id);
    if (n) by.delete(l.id);
    return n ?? l;
  });
  return by.size === 0 ? out : undefined;
}
