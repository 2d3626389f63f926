import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { linkState, stateSince, stateTexts, suspectLinks } from '../domain/fabric';
import { formatAge, formatCount } from '../domain/format';
import { portsOf } from '../domain/load';
import { linkName, reverse } from '../domain/network';
import { useNow } from '../store/now';
import { setParams, usePlace } from '../store/place';
import { Badge, linkTones } from './badge';
import { Dependents } from './dependents';
import { Folded } from './documented';
import { DrainButton } from './drain';
import { PortCharts } from './history';
import { To } from './link';
import { Empty } from './states';

/** What can be looked at beside a page, each by the name of its parameter in the address. */
const kinds = ['link', 'node', 'plane'] as const;
type Kind = (typeof kinds)[number];

interface Panel {
  id: string;
  /** Ends the look at it. */
  close: () => void;
  /** Keeps it beside what is looked at next; absent: it is kept. */
  pin?: () => void;
}

/**
 * A drawer at the right with what is chosen in a picture or table, while the page stays as it is. One thing can
 * be pinned: what is chosen next comes beside it, and two switches are compared.
 */
export default function Inspector() {
  const { query } = usePlace();
  const kind = kinds.find((k) => query[k]);
  const [pinned, id] = /^(link|node|plane) (.*)$/.exec(query.pin ?? '')?.slice(1) ?? [];
  const now = kind && { kind, id: query[kind]! },
    kept = id !== undefined && !(pinned === kind && id === now?.id) ? { kind: pinned as Kind, id } : undefined;
  if (!now && !kept) return null;
  return (
    <aside className="drawer" aria-label="Inspector">
      {kept && <One of={kept} close={() => setParams({ pin: undefined })} />}
      {now && (
        <One
          of={now}
          close={() => setParams({ [now.kind]: undefined })}
          pin={() => setParams({ pin: `${now.kind} ${now.id}` })}
        />
      )}
      {kept?.kind === 'node' && now?.kind === 'node' && <Compared a={kept.id} b={now.id} />}
    </aside>
  );
}

function One({ of, ...rest }: { of: { kind: Kind; id: string } } & Omit<Panel, 'id'>) {
  const View = { link: LinkPanel, node: NodePanel, plane: PlanePanel }[of.kind];
  return <View key={of.id} id={of.id} {...rest} />;
}

/** Two switches beside each other, by all numbers that the controller has of both; what differs stands out. */
function Compared({ a, b }: { a: string; b: string }) {
  const nodes = useQuery(ask.nodes),
    switches = useQuery(ask.switches);
  const of = (id: string) => {
    const n = nodes.data?.find((x) => x.id === id),
      s = switches.data?.find((x) => x.node === id || x.name === n?.status.name);
    return {
      name: n?.status.name ?? id,
      facts: {
        State: !s?.connected ? 'not connected' : n?.spec.admin === 'drained' ? 'drained' : 'in use',
        'Ports up': s?.ports ? `${s.ports.up} of ${s.ports.up + (s.ports.down?.length ?? 0)}` : '–',
        Entries: s ? formatCount(s.entries) : '–',
        'Updates that wait': s ? formatCount(s.pending) : '–',
        'Directions of links': formatCount(n?.status.links ?? 0),
        'Denied to EVs': formatCount(n?.status.deniedLinks ?? 0),
        Planes: (n?.status.planes ?? []).join(', '),
        Tier: n?.status.tier === undefined ? '–' : `T${n.status.tier}`,
      },
    };
  };
  const [x, y] = [of(a), of(b)];
  return (
    <table className="facts" aria-label={`${x.name} and ${y.name} compared`}>
      <thead>
        <tr>
          <td />
          <th scope="col">{x.name}</th>
          <th scope="col">{y.name}</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(x.facts).map(([fact, value]) => {
          const other = y.facts[fact as keyof typeof y.facts];
          return (
            <tr key={fact} className={value === other ? undefined : 'differs'}>
              <th scope="row">{fact}</th>
              <td>{value}</td>
              <td>{other}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function PlanePanel({ id, ...rest }: Panel) {
  const plane = useQuery(ask.planes).data?.find((p) => String(p.plane) === id);
  if (!plane) return null;
  return (
    <Chosen title={`Plane ${id}`} drains={plane.status.drains} {...rest}>
      <p>
        {plane.status.links} directions of links, {plane.status.deniedLinks} of them denied.
      </p>
      <Dependents kind="plane" name={id} />
      <DrainButton
        target={{ kind: 'plane', plane: plane.plane }}
        admin={plane.spec.admin}
        what={`plane ${plane.plane}`}
      />
      <Folded collection="planes" name={id} of={{ ...plane, name: id }} />
    </Chosen>
  );
}

function NodePanel({ id, ...rest }: Panel) {
  const node = useQuery(ask.nodes).data?.find((n) => n.id === id),
    top = useQuery(ask.top('port'));
  if (!node) return null;
  const name = node.status.name,
    tiered = node.status.tier !== undefined;
  const busiest = (top.data?.items ?? []).filter((i) => i.name.startsWith(`${name}/`)).slice(0, 2);
  return (
    <Chosen title={`Switch ${name ?? id}`} drains={node.status.drains} {...rest}>
      <p>
        {tiered && `T${node.status.tier}, `}
        {node.status.links} directions of links, {node.status.deniedLinks} of them denied
        {!node.status.present && '; it has left the topology'}.{' '}
        {name && <To path={['switches', name]}>What it holds</To>}
      </p>
      {tiered && name && <Dependents kind="switch" name={name} />}
      {tiered && <DrainButton target={{ kind: 'node', id }} admin={node.spec.admin} what={name ?? id} />}
      <PortCharts
        label="Its busiest ports"
        of={busiest.map((i) => [i.name, `port ${i.name.slice(i.name.lastIndexOf('/') + 1)}`])}
      />
      {tiered && <Folded collection="nodes" name={id} of={{ ...node, name: id }} />}
    </Chosen>
  );
}

function Chosen({
  title,
  children,
  close,
  pin,
  drains,
}: {
  title: string;
  children: ReactNode;
  drains?: Schemas['DrainView'][] | null;
} & Omit<Panel, 'id'>) {
  return (
    <section className="chosen" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span className="buttons">
          {pin && (
            <button type="button" aria-label={`Pin ${title}`} onClick={pin}>
              Pin
            </button>
          )}
          <button type="button" className="plain" aria-label={`Close ${title}`} onClick={close}>
            ✕
          </button>
        </span>
      </header>
      {children}
      {(drains ?? []).map((d) => (
        <p key={d.target}>
          <Badge tone="work">{d.drained ? 'drained' : 'draining'}</Badge> by the drain of {d.target}
          {d.awaits?.length ? `; waits for ${d.awaits.join(', ')}` : ''}
        </p>
      ))}
    </section>
  );
}

/** The port at an end of a link, where its charts and settings are. */
function End({ of: name, port }: { of: string; port: string }) {
  return (
    <To path={['switches', name]} query={{ port: port || undefined }}>
      {name}
      {port && `, port ${port}`}
    </To>
  );
}

/** A direction of a link: its state with the cause, what its ports did, whom it concerns, and what can be done. */
function LinkPanel({ id, ...rest }: Panel) {
  const links = useQuery(ask.links),
    nodes = useQuery(ask.nodes),
    planes = useQuery(ask.planes),
    suspects = useQuery(ask.suspects);
  const now = useNow(),
    place = usePlace();
  const link = links.data?.find((l) => l.id === id);
  if (!link) return links.data ? <Empty>There is no link {id} (any more).</Empty> : null;
  const s = link.status,
    doubts = suspects.data ?? [],
    state = linkState(link, suspectLinks(doubts)),
    since = stateSince(link, state, nodes.data ?? [], planes.data ?? [], doubts),
    drainable = (nodes.data ?? []).every((n) => n.status.tier !== undefined);
  return (
    <Chosen title={`Link ${linkName(link)}`} drains={s.drains} {...rest}>
      <p>
        <Badge tone={linkTones[state]}>{stateTexts[state]}</Badge> {since && `for ${formatAge(since, now)}`}
        {s.cause && `: ${s.cause}`}
        {s.until && `, until ${s.until}`}.{' '}
        {s.denied ? 'EVs over it are denied.' : drainable ? 'EVs over it are in use.' : ''} Port{' '}
        {s.fromPort ?? 'unknown'} at <End of={s.fromName ?? s.from} port={portsOf(link.id)[0]} />,{' '}
        {s.toPort ?? 'unknown'} at <End of={s.toName ?? s.to} port={portsOf(link.id)[1]} />.{' '}
        <To path={place.path} query={{ ...place.query, link: reverse(link.id) }}>
          Other direction
        </To>
      </p>
      <p className="quiet">
        <code>{link.id}</code>
      </p>
      {doubts
        .filter((x) => x.links.includes(link.id))
        .map((x) => (
          <p key={x.links.join()}>
            <Badge tone="warning">suspect</Badge> for {formatAge(x.since, now)}: loss {(100 * x.loss).toPrecision(2)} %,
            confidence {(100 * x.confidence).toFixed(0)} %. {x.evidence.lost} of {x.evidence.sent} packets lost on{' '}
            {x.evidence.paths} paths.{x.why && ` Not denied: ${x.why}.`}
            {x.links.length > 1 && ` No path tells it from ${x.links.length - 1} more.`}
          </p>
        ))}
      {drainable && <Dependents kind="link" name={link.id} />}
      {drainable ? (
        <DrainButton target={{ kind: 'link', id: link.id }} admin={link.spec.admin} what="this link" />
      ) : (
        <p className="quiet">Links are drained in an MRC fabric only.</p>
      )}
      <PortCharts
        label="What its ports did"
        of={portsOf(link.id).flatMap((port, i) => {
          const name = i === 0 ? s.fromName : s.toName;
          return name && port ? [[`${name}/${port}`, `${name}, port ${port}`]] : [];
        })}
      />
      {drainable && <Folded key={link.id} collection="links" name={link.id} of={{ ...link, name: link.id }} />}
    </Chosen>
  );
}
