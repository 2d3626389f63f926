import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, type ReactNode } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { worst, type LinkState } from '../domain/fabric';
import { layout } from '../domain/layout';
import { loadsOf, portsOf, topOf, type Port } from '../domain/load';
import { reverse } from '../domain/network';
import type { Then } from '../domain/past';
import { mostPast } from '../domain/span';
import { useLinkState, useMoment, usePast } from '../store/past';
import { usePorts } from '../store/ports';
import { go, looked, setParams, type Look } from '../store/place';
import { Answer } from './states';
import { StateLegend, LoadLegend } from './statelegend';
import { Picture, type Edge, type Vertex } from './picture';
import { Section } from './facts';

type Link = Schemas['FabricLink'];
type Node = Schemas['FabricNode'];

/** Shows what needs all links and switches, once both are there. */
export function WholeFabric({ children }: { children: (links: Link[], nodes: Node[]) => ReactNode }) {
  const links = useQuery(ask.links),
    nodes = useQuery(ask.nodes);
  return (
    <Answer of={links} what="links">
      {(l) => (
        <Answer of={nodes} what="switches">
          {(n) => children(l, n)}
        </Answer>
      )}
    </Answer>
  );
}

/** A host as it is drawn, with the ports that are drawn with it. */
interface Shown {
  id: string;
  name: string;
  planes: number[];
  ports: Schemas['FabricHost']['ports'];
}

/** Links that have left the topology are known for so long, in milliseconds. */
const leftFor = 1000 * mostPast;

/** Links that this tab has seen, by id, with when it saw them last: those of a small network that have left it. */
const known = new Map<string, { link: Link; seen: number }>();

/** Links that left the topology, whose ends are there still, with when they were seen last. */
function leftLinks(nodes: readonly Node[], links: readonly Link[]): Map<Link, number> {
  if (links.length > 2_000) return new Map();
  const now = Date.now(),
    there = new Set(links.map((l) => l.id)),
    ends = new Set(nodes.map((n) => n.id));
  for (const link of links) known.set(link.id, { link, seen: now });
  for (const [id, k] of known) if (now - k.seen > leftFor) known.delete(id);
  return new Map(
    [...known.values()]
      .filter(({ link: l }) => !there.has(l.id) && ends.has(l.status.from) && ends.has(l.status.to))
      .map((k) => [k.link, k.seen]),
  );
}

const awayThen = (past: Then, host: string): LinkState => (past.state('host', host) === 'away' ? 'down' : 'up');

/** A network as it is, or was at the moment that is chosen: states, what links carry, and what a page is about. */
export function NetworkPicture(props: {
  nodes: Node[];
  links: Link[];
  stateOf: (l: Link) => LinkState;
  chosen?: string;
  /** Ids of nodes and of links (either direction) that the page is about. */
  lit?: ReadonlySet<string>;
  height?: number;
  /** It is the network now: hosts are drawn below the switches of a Clos, once in each plane. */
  racks?: boolean;
  /** Goes to a node, link or host. */
  open?: (kind: Look, id: string) => void;
  point?: (id: string | undefined) => void;
}) {
  const { nodes, links: present, stateOf: stateNow, chosen, lit, height, racks, open, point } = props;
  const at = useMoment();
  const hosts = useQuery(ask.hosts),
    switches = useQuery(ask.switches),
    ports = usePorts(at === undefined),
    then = useQuery({ ...ask.loads(at), enabled: at !== undefined });
  // A link that fails may leave the topology: it stays in the picture, down.
  const left = useMemo(() => leftLinks(nodes, present), [nodes, present]);
  const links = useMemo(() => (left.size > 0 ? [...present, ...left.keys()] : present), [present, left]);
  const stateOf = useCallback(
    (l: Link): LinkState =>
      (left.get(l) ?? Infinity) < (at === undefined ? Infinity : 1000 * at) ? 'down' : stateNow(l),
    [left, stateNow, at],
  );
  const top = useMemo(() => (at === undefined ? topOf(ports) : then.data), [at, ports, then.data]);
  const loads = useMemo(() => loadsOf(top), [top]);
  const names = useMemo(() => new Map(nodes.map((n) => [n.id, n.status.name ?? n.id])), [nodes]);
  const { then: past } = usePast();
  // Hosts are drawn where there are few of them: in a Clos each of their ports by itself, below its switch.
  const tiered = nodes.some((n) => n.status.tier !== undefined);
  const shown = useMemo((): Shown[] => {
    const all = hosts.data ?? [];
    if (all.length > 64 || (tiered && !racks)) return [];
    const planes = new Map(nodes.map((n) => [n.id, n.status.planes]));
    return tiered
      ? all.flatMap((h) =>
          h.ports.flatMap((p): Shown[] => {
            const of = planes.get(p.status.leaf);
            return of ? [{ id: `host ${h.name}/${p.port}`, name: h.name, planes: of, ports: [p] }] : [];
          }),
        )
      : all.map((h) => ({ id: `host ${h.name}`, name: h.name, planes: [], ports: h.ports }));
  }, [nodes, hosts.data, tiered, racks]);
  const shape =
    nodes.map((n) => `${n.id} ${n.status.name} ${n.status.tier} ${n.status.planes}`).join() +
    links.map((l) => l.id).join() +
    shown.map((h) => h.id).join();
  // Computed once for a network and kept still: states change, places do not.
  const spots = useMemo(
    () =>
      layout(
        [
          ...nodes.map((n) => ({
            id: n.id,
            name: n.status.name ?? n.id,
            tier: n.status.tier,
            planes: n.status.planes,
          })),
          ...shown.map(({ id, name, planes }) => ({ id, name, planes, tier: -1 })),
        ],
        [
          ...links.map((l) => [l.status.from, l.status.to] as const),
          ...shown.flatMap((h) => h.ports.map((p) => [h.id, p.status.leaf] as const)),
        ],
      ),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [shape],
  );
  const vertices = useMemo((): Vertex[] => {
    const dead = new Set((switches.data ?? []).filter((s) => s.managed && !s.connected).map((s) => s.name));
    return [
      ...nodes.map((n): Vertex => {
        const name = n.status.name ?? n.id;
        const gone = past ? past.state('switch', name) === 'down' : !n.status.present || dead.has(name);
        const drained = past ? past.state('node', n.id) : n.spec.admin === 'drained';
        return { id: n.id, name, state: gone ? 'down' : drained ? 'drained' : 'up' };
      }),
      ...shown.map((h): Vertex => ({
        id: h.id,
        name: h.name,
        host: true,
        state:
          (past ? awayThen(past, h.name) : h.ports.every((p) => p.status.linkDown) && 'down') === 'down'
            ? 'down'
            : 'none',
      })),
    ];
  }, [nodes, shown, switches.data, past]);
  const edges = useMemo((): Edge[] => {
    const pairs = new Map<string, Edge>();
    const carried = (a: Port, b: Port): Pick<Edge, 'lanes' | 'carries'> => {
      const there = loads.flow(a, b),
        back = loads.flow(b, a);
      return {
        lanes: [there?.share, back?.share],
        carries: [there?.text ?? '', back?.text ?? ''],
      };
    };
    for (const l of links) {
      const back = pairs.get(reverse(l.id));
      if (back) {
        back.state = worst(back.state, stateOf(l));
        continue;
      }
      const ports = portsOf(l.id),
        from = names.get(l.status.from) ?? '',
        to = names.get(l.status.to) ?? '';
      pairs.set(l.id, {
        id: l.id,
        from: l.status.from,
        to: l.status.to,
        state: stateOf(l),
        ports,
        ...carried([from, ports[0]], [to, ports[1]]),
      });
    }
    for (const h of shown)
      for (const p of h.ports) {
        const leaf = names.get(p.status.leaf) ?? '',
          port = p.status.leafPort ? String(p.status.leafPort) : '';
        pairs.set(`${h.name} ${p.port}`, {
          id: `${h.name} ${p.port}`,
          from: h.id,
          to: p.status.leaf,
          state: past
            ? awayThen(past, h.name)
            : p.status.linkDown || p.status.hostDown
              ? 'down'
              : p.spec.admin === 'drained'
                ? 'drained'
                : 'up',
          ports: [String(p.port), port],
          ...carried([h.name, String(p.port)], [leaf, port]),
        });
      }
    return [...pairs.values()];
  }, [links, stateOf, shown, loads, names, past]);
  // A link is one edge, whichever of its directions is meant.
  const bright = useMemo(() => lit && new Set([...lit, ...[...lit].map(reverse)]), [lit]);
  const show = open ?? ((kind: Look, id: string) => setParams(looked(kind, id)));
  return (
    <>
      <Picture
        label={`Picture of the network, ${nodes.length} switches`}
        vertices={vertices}
        edges={edges}
        spots={spots}
        height={height ?? Math.max(360, Math.min(720, window.innerHeight - 330))}
        chosen={chosen}
        lit={bright}
        point={point}
        choose={(id) => (id.startsWith('host ') ? show('host', id.slice(5).split('/')[0]!) : show('node', id))}
        chooseEdge={(id) => id.includes('~') && show('link', id)}
      />
      <p className="quiet">
        <StateLegend /> <LoadLegend full={loads.full} measured={(top?.items.length ?? 0) > 0} />
      </p>
    </>
  );
}

/** From so many switches on, a picture beside something else shows that and its neighbours alone. */
const many = 64;

/** A link or a switch that somebody points at, as the API names it, with the names of the switches at its ends. */
export interface Pointed {
  kind: 'link' | 'switch';
  name: string;
  label: string;
  ends: string[];
}

interface WhereProps {
  switches: readonly string[];
  links?: readonly string[];
  point?: (at: Pointed | undefined) => void;
}

/** Where in the network something is: its switches and links, by name or id, among the others. */
export function Where(props: WhereProps) {
  const reads = useMay('read');
  return reads ? <Part {...props} /> : null;
}

const noLinks: readonly string[] = [];

function Part({ switches, links: wanted = noLinks, point }: WhereProps) {
  const links = useQuery(ask.links),
    nodes = useQuery(ask.nodes),
    stateOf = useLinkState();
  const key = `${switches.join()} ${wanted.join()}`;
  const part = useMemo(() => {
    const all = nodes.data ?? [],
      list = links.data ?? [];
    const named = new Set(switches),
      lit = new Set<string>(wanted);
    for (const n of all) if (named.has(n.status.name ?? n.id) || named.has(n.id)) lit.add(n.id);
    for (const l of list) {
      if (lit.has(l.id) || lit.has(reverse(l.id))) lit.add(l.status.from).add(l.status.to);
    }
    const near = new Set(lit);
    // Switches are shown with the links between them, and where there is none with all of theirs.
    const inner = list.some((l) => lit.has(l.status.from) && lit.has(l.status.to));
    const bright: string[] = [];
    for (const l of list) {
      if (!lit.has(l.status.from) && !lit.has(l.status.to)) continue;
      near.add(l.status.from).add(l.status.to);
      if (wanted.length === 0 && (!inner || (lit.has(l.status.from) && lit.has(l.status.to)))) bright.push(l.id);
    }
    for (const id of bright) lit.add(id);
    const some = all.length > many;
    return {
      lit,
      nodes: some ? all.filter((n) => near.has(n.id)) : all,
      links: some ? list.filter((l) => near.has(l.status.from) && near.has(l.status.to)) : list,
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [nodes.data, links.data, key]);
  const pointed = useCallback(
    (id: string | undefined) => {
      const l = links.data?.find((l) => l.id === id),
        name = nodes.data?.find((n) => n.id === id)?.status.name ?? id;
      if (l) {
        const ends = [l.status.fromName ?? l.status.from, l.status.toName ?? l.status.to];
        point?.({ kind: 'link', name: l.id, label: `Link ${ends.join(' – ')}`, ends });
      } else point?.(name === undefined ? undefined : { kind: 'switch', name, label: `Switch ${name}`, ends: [name] });
    },
    [links.data, nodes.data, point],
  );
  if (part.nodes.length === 0 || part.lit.size === 0 || part.nodes.length > 4 * many) return null;
  return (
    <Section title="Where it is" label="Where it is">
      <NetworkPicture
        nodes={part.nodes}
        links={part.links}
        stateOf={stateOf}
        lit={part.lit}
        height={280}
        point={point && pointed}
        open={(kind, id) => go(['fabric'], { [kind]: id })}
      />
    </Section>
  );
}
