import type { ReactNode } from 'react';
import type { Schemas } from '../api/client';
import type { Written } from '../api/actions';
import { countOf, formatCount, formatShare } from '../domain/format';
import { Grid } from './facts';
import { Names, To } from './link';

/** What a dry run says: the updates of switches, and what else follows from the change. */
export function Tried({ of }: { of: Written }) {
  const jobs = of?.status?.jobs,
    paths = of?.status?.paths,
    follows = of?.status?.follows;
  const window = typeof of?.spec === 'object' && of.spec !== null && 'objects' in of.spec;
  return (
    <div role="status" className="tried">
      <Takes of={of?.takes} />
      <Changes of={of?.changes} />
      {window && <Losses of={jobs} />}
      {paths && <Paths of={paths} />}
      {follows && (
        <p>
          {formatCount(follows.pairs)} pairs of NICs talk, of {formatCount(follows.rackPairs)} pairs of racks.
        </p>
      )}
    </div>
  );
}

/** What a dry run would take from others. */
export function Takes({ of }: { of: Schemas['Taken'][] | null | undefined }) {
  if (!of?.length) return null;
  return (
    <div className="failure" role="alert">
      <p>It takes from others what they need:</p>
      <ul>
        {of.map((t, i) => (
          <li key={i}>
            {t.kind} {t.name ?? 'of others'}: {t.message}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What a dry run would change on switches. */
function Changes({ of }: { of: Schemas['SwitchChange'][] | null | undefined }) {
  if (!of?.length) return <p>The controller accepts it. No switch would change.</p>;
  const count = of.reduce((n, c) => n + (c.updates?.length ?? 0), 0);
  return (
    <>
      <p>
        The controller accepts it: {countOf(count, 'update')} on {countOf(of.length, 'switch')}.
      </p>
      <details>
        <summary>Updates</summary>
        <Updates of={of} />
      </details>
    </>
  );
}

/** Updates of switches, switch by switch. */
export function Updates({ of }: { of: Schemas['SwitchChange'][] }) {
  return of.map((c) => (
    <div key={c.switch}>
      <h3>
        <To path={['switches', c.switch]}>{c.switch}</To>
      </h3>
      <ul className="entities" tabIndex={0} aria-label={`Entries of ${c.switch}`}>
        {(c.updates ?? []).map((u, i) => (
          <li key={i}>
            <b>{u.type}</b> <code>{u.entity}</code>
          </li>
        ))}
      </ul>
    </div>
  ));
}

/** A table with a row a job, whose name leads to its page; the cells are what stands behind the name. */
export function ByJob<J extends { name: string }>(props: {
  label: string;
  heads: string[];
  of: J[];
  cells: (job: J) => ReactNode[];
}) {
  return (
    <Grid
      {...props}
      heads={['Job', ...props.heads]}
      id={(j) => j.name}
      cells={(j) => [<To path={['jobs', j.name]}>{j.name}</To>, ...props.cells(j)]}
    />
  );
}

/** What each job loses by a maintenance. */
export function Losses({ of }: { of: Schemas['MaintenanceJob'][] | undefined }) {
  if (!of?.length) return <p>No job loses anything by it.</p>;
  return (
    <ByJob
      label="What jobs lose"
      heads={['State', 'Paths left', 'Pairs of racks that lose paths', 'Ranks without a port']}
      of={of}
      cells={(j) => [
        `${j.running ? 'running' : 'not started'}, priority ${j.priority}`,
        formatShare(j.left),
        <>
          {formatCount(j.lose)}
          {(j.pairs?.length ?? 0) > 0 && (
            <details>
              <summary>Which</summary>
              <ul className="entities">
                {j.pairs!.map((p) => (
                  <li key={`${p.from} ${p.to}`}>
                    {p.from} to {p.to}: {p.after} of {p.before} paths left
                  </li>
                ))}
              </ul>
            </details>
          )}
        </>,
        `${j.cutOff}${j.nics?.length ? `: ${j.nics.join(', ')}${j.nics.length < j.cutOff ? '…' : ''}` : ''}`,
      ]}
    />
  );
}

/** The paths of a lease, with what packets on them carry. */
export function Paths({ of }: { of: Schemas['LeasedPath'][] }) {
  return (
    <Grid
      label="Paths"
      heads={['From', 'To', 'Plane', 'Over', 'EV', 'Packets carry']}
      of={of}
      id={(p) => `${p.from} ${p.to} ${p.ev.value}`}
      cells={(p) => [
        <To path={['hosts', p.from]}>{p.from}</To>,
        <To path={['hosts', p.to]}>{p.to}</To>,
        p.plane ?? '–',
        <Names of={p.nodes ?? []} page="switches" />,
        <code>{p.ev.value}</code>,
        <Packet of={p.ev.packet} />,
      ]}
    />
  );
}

function Packet({ of: p }: { of: Schemas['EvPacket'] }) {
  const carried = [
    p.destination && `destination ${p.destination}`,
    p.segment && `SRH ${p.segment}`,
    p.sourcePort !== undefined && `UDP source port ${p.sourcePort}`,
    p.flowLabel !== undefined && `flow label ${p.flowLabel}`,
  ].filter(Boolean);
  return <code>{carried.join('; ') || '–'}</code>;
}
