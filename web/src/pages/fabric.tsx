import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { Badge } from '../components/badge';
import { Choose } from '../components/choose';
import { leading, long } from '../components/columns';
import { Contains } from '../components/contains';
import { To } from '../components/link';
import { Matrix } from '../components/matrix';
import { NetworkPicture, WholeFabric } from '../components/network';
import { StateLegend } from '../components/statelegend';
import { Tiles } from '../components/tiles';
import { Empty, Failure } from '../components/states';
import { Table, type Column } from '../components/table';
import { divided, partOf, type Block } from '../domain/blocks';
import {
  heatOf,
  matrices,
  mostDrawn,
  stateSince,
  stateTexts,
  stateTone,
  states,
  type Matrix as Cells,
} from '../domain/fabric';
import { portsOf } from '../domain/load';
import { linkName } from '../domain/network';
import { formatAge } from '../domain/format';
import { useNow } from '../store/now';
import { useLinkState, useMoment } from '../store/past';
import { looked, setParams, useParam, usePlace } from '../store/place';

type Link = Schemas['FabricLink'];

export function Fabric() {
  return (
    <>
      <h1>Fabric</h1>
      <WholeFabric>{(links, nodes) => <Network links={links} nodes={nodes} />}</WholeFabric>
    </>
  );
}

function Network({ links, nodes }: { links: Link[]; nodes: Schemas['FabricNode'][] }) {
  const place = usePlace();
  const suspects = useQuery(ask.suspects),
    planes = useQuery(ask.planes);
  const tiered = nodes.length > 0 && nodes.every((n) => n.status.tier !== undefined);
  // A large fabric is shown by planes and pods first; each of these as what suits its size.
  const big = tiered && nodes.length > mostDrawn,
    inBlock = big ? place.query.block : undefined;
  const stateOf = useLinkState();
  const block = useMemo(
    () => (inBlock ? divided(nodes, links).all.find((b) => b.id === inBlock) : undefined),
    [inBlock, nodes, links],
  );
  const part = useMemo(() => block && partOf(block, nodes, links), [block, nodes, links]);
  const fits = (part?.nodes ?? nodes).length <= mostDrawn;
  const [view, setView] = useParam(
    'view',
    !tiered ? 'picture' : big && !block ? 'blocks' : block && part!.nodes.length <= 64 ? 'picture' : 'matrix',
  );
  const [show, setShow] = useParam('show', 'state');
  const [plane, setPlane] = useParam('plane');
  const [wanted, setWanted] = useParam('state');
  const [search, setSearch] = useParam('q');
  const inPlane = useMemo(
    () => part?.links ?? (plane ? links.filter((l) => String(l.status.plane) === plane) : links),
    [links, plane, part],
  );
  const nodesInPlane = useMemo(
    () => part?.nodes ?? nodes.filter((n) => !plane || n.status.planes.map(String).includes(plane)),
    [nodes, plane, part],
  );
  const all = useMemo(
    () => (view === 'matrix' ? matrices(nodesInPlane, inPlane, stateOf) : []),
    [view, nodesInPlane, inPlane, stateOf],
  );
  // The block that was open before: the keyboard goes on from it.
  const [opened, setOpened] = useState<string>();
  if (block && opened !== block.id) setOpened(block.id);
  const chosenLink = useMemo(
    () => (place.query.link ? links.find((l) => l.id === place.query.link) : undefined),
    [links, place.query.link],
  );
  const rows = useMemo(
    () =>
      inPlane.filter(
        (l) =>
          (!wanted || stateOf(l) === wanted) &&
          (!place.query.node || l.status.from === place.query.node || l.status.to === place.query.node),
      ),
    [inPlane, wanted, stateOf, place.query.node],
  );
  const now = useNow();
  const since = (l: Link) => stateSince(l, stateOf(l), nodes, planes.data ?? [], suspects.data ?? []);
  if (nodes.length === 0)
    return (
      <Empty>
        The controller knows no switch yet: see <To path={['peers']}>where the topology comes from</To>.
      </Empty>
    );
  const columns: Column<Link>[] = [
    leading('Link', linkName, (l) => ({ path: ['fabric'], query: { ...place.query, link: l.id, node: undefined } }), 2),
    { name: 'Plane', key: (l) => l.status.plane ?? '', number: true, width: 0.5 },
    {
      name: 'State',
      key: (l) => states.indexOf(stateOf(l)),
      width: 1.2,
      cell: (l) => <Badge tone={stateTone[stateOf(l)]}>{stateTexts[stateOf(l)]}</Badge>,
    },
    { name: 'EVs', key: (l) => (l.status.denied ? 'denied' : 'in use'), width: 0.7 },
    { name: 'Ports', key: (l) => `${l.status.fromPort ?? '–'} / ${l.status.toPort ?? '–'}`, width: 0.8 },
    { name: 'For', key: (l) => since(l) ?? '', cell: (l) => formatAge(since(l), now), width: 0.6 },
    long('Cause', (l) => l.status.cause, 2),
  ];
  return (
    <>
      <p className="filters">
        {(planes.data?.length ?? 0) > 0 && !block && (
          <Choose label="Plane" value={plane} set={setPlane} of={planes.data!.map((p) => String(p.plane))} none="all" />
        )}
        {tiered && (
          <Choose
            label="As"
            value={view}
            set={setView}
            of={{
              ...(big && !block && { blocks: 'planes and pods' }),
              matrix: 'matrices',
              ...(fits && { picture: 'picture' }),
            }}
          />
        )}
        {tiered && view === 'matrix' && (
          <Choose
            label="Show"
            value={show}
            set={setShow}
            of={{ state: 'states', up: 'use from T0 to T1', down: 'use from T1 to T0' }}
          />
        )}
        {view === 'matrix' && tiered && <StateLegend />}
      </p>
      {block && <Opened of={block} />}
      {inBlock && !block && <Empty>There is no part {inBlock} of the fabric (any more).</Empty>}
      {view === 'blocks' && big ? (
        <Tiles nodes={nodes} links={links} stateOf={stateOf} plane={plane} back={opened} />
      ) : (view === 'matrix' || !fits) && tiered ? (
        <div className="matrices">
          {all.map((m) => (
            <PlaneMatrix
              key={`${m.plane} ${m.tier}`}
              of={m}
              show={show}
              chosen={chosenLink && [...m.links].find(([, l]) => l.some((x) => x.id === chosenLink.id))?.[0]}
              choose={(i) => setParams(looked('link', m.links.get(i)?.[0]?.id))}
              chooseNode={(id) => setParams(looked('node', id))}
            />
          ))}
        </div>
      ) : (
        <NetworkPicture
          nodes={nodesInPlane}
          links={inPlane}
          stateOf={stateOf}
          chosen={place.query.node}
          lit={chosenLink && new Set([chosenLink.id, chosenLink.status.from, chosenLink.status.to])}
        />
      )}
      <h2>Links</h2>
      <p className="filters">
        <Choose
          label="State"
          value={wanted}
          set={setWanted}
          of={states.slice(1).map((s) => [s, stateTexts[s]])}
          none="any"
        />
        <Contains search={search} set={setSearch} what={`${rows.length} directions`} />
      </p>
      <Table
        rows={rows}
        columns={columns}
        id={(l) => l.id}
        label="Links"
        search={search}
        selected={chosenLink?.id}
        empty="No link matches the filters."
      />
    </>
  );
}

/** Which part of a large fabric is shown, and the way back to the whole. */
function Opened({ of: b }: { of: Block }) {
  const place = usePlace(),
    head = useRef<HTMLHeadingElement>(null);
  // A key opened it: the next ones belong to what it shows.
  useEffect(() => head.current?.focus(), [b.id]);
  return (
    <div className="heading">
      <h2 ref={head} tabIndex={-1}>
        Plane {b.plane}, {b.name.toLowerCase()}
      </h2>
      <To path={['fabric']} query={{ ...place.query, block: undefined, view: undefined }}>
        All planes and pods
      </To>
    </div>
  );
}

/** A matrix by the states of links, or by how much they are used. */
function PlaneMatrix(props: {
  of: Cells;
  show: string;
  chosen?: number;
  choose: (cell: number) => void;
  chooseNode: (id: string) => void;
}) {
  const { of: m, show, ...rest } = props;
  // The API has the utilization of the two lowest tiers.
  const measured = show !== 'state' && m.tier === 0;
  const at = useMoment(),
    title = `Plane ${m.plane}, T${m.tier} by T${m.tier + 1}`;
  const use = useQuery({ ...ask.utilization(m.plane, at), enabled: measured });
  const heat = useMemo(
    () =>
      measured && use.data
        ? heatOf(m, {
            rows: use.data.rows,
            columns: use.data.columns,
            values: show === 'up' ? use.data.up : use.data.down,
          })
        : undefined,
    [m, measured, use.data, show],
  );
  const ports = (i: number) => {
    const l = m.links.get(i)?.[0],
      found = l ? portsOf(l.id) : [];
    return l?.status.from === m.rows[Math.floor(i / m.columns.length)]!.id ? found : found.toReversed();
  };
  return (
    <div>
      <Matrix
        title={title}
        label={`${title}: ${m.rows.length} by ${m.columns.length} switches`}
        of={m}
        heat={heat}
        ports={ports}
        {...rest}
      />
      {measured &&
        (use.isError ? (
          <Failure error={use.error} />
        ) : (
          use.data && (
            <p className="quiet">
              Percent of the links' capacity, mean of the last {use.data.over} s. Grey: not measured.
            </p>
          )
        ))}
    </div>
  );
}
