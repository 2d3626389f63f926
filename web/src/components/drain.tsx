import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { replace, type Admin } from '../api/actions';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { countOf, formatShare } from '../domain/format';
import { cost, type Target as FabricTarget } from '../domain/fabric';
import type { Collection } from '../domain/kinds';
import { useChange } from '../store/change';
import { setParams, usePlace } from '../store/place';
import { Dependents } from './dependents';
import { Grid } from './facts';
import { Answers, Dialog } from './dialog';
import { Failure, Loading } from './states';
import { Takes } from './tried';

/** What can be drained: what fabrics are made of, and the ports of hosts. */
type Target = FabricTarget | { kind: 'port'; host: string; port: number };

/** The resource whose document says whether something is drained. */
function resource(target: Target): [collection: Collection, name: string] {
  switch (target.kind) {
    case 'plane':
      return ['planes', String(target.plane)];
    case 'port':
      return ['host-ports', `${target.host}/${target.port}`];
    default:
      return [target.kind === 'link' ? 'links' : 'nodes', target.id];
  }
}

const apply = (target: Target, admin: Admin, dryRun = false) => replace(...resource(target), { admin }, 0, dryRun);

/** A button that drains something, after it has shown what that costs, or uses it again. */
export function DrainButton({ target, admin, what }: { target: Target; admin: Admin; what: string }) {
  const [pressed, setOpen] = useState(false);
  // The search goes to the page where something is drained, and asks at once.
  const wanted = usePlace().query.do,
    of = target.kind === 'port' ? `port ${target.port}` : target.kind,
    open = pressed || wanted === `drain ${of}`;
  const allowed = useMay('operate');
  const undrain = useChange(() => apply(target, 'up'));
  const close = () => {
    setOpen(false);
    if (wanted) setParams({ do: undefined });
  };
  if (!allowed) return null;
  if (admin === 'drained') {
    return (
      <>
        <button
          type="button"
          autoFocus={wanted === `undrain ${of}`}
          disabled={undrain.isPending}
          onClick={() => undrain.mutate()}
        >
          Undrain {what}
        </button>
        {undrain.isError && <Failure error={undrain.error} />}
      </>
    );
  }
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Drain {what}…
      </button>
      {open && <DrainDialog target={target} what={what} close={close} />}
    </>
  );
}

function DrainDialog({ target, what, close }: { target: Target; what: string; close: () => void }) {
  const links = useQuery(ask.links),
    nodes = useQuery(ask.nodes),
    hosts = useQuery(ask.hosts);
  // The controller plans the drain and says whether it takes the last path of somebody.
  const trial = useQuery({
    queryKey: ['drain trial', target],
    queryFn: () => apply(target, 'drained', true),
    retry: false,
    gcTime: 0,
    staleTime: 0,
  });
  const drain = useChange(() => apply(target, 'drained'), close);
  const c = target.kind !== 'port' && links.data && nodes.data && cost(target, nodes.data, links.data);
  const ports = target.kind === 'port' && hosts.data?.find((h) => h.name === target.host)?.ports;
  return (
    <Dialog title={`Drain ${what}?`} close={close}>
      {ports && (
        <p>
          Peers stop sending to it. {target.kind === 'port' && target.host} keeps{' '}
          {ports.filter((p) => p.status.usable && p.port !== target.port).length} of{' '}
          {ports.filter((p) => p.status.usable).length} usable ports.
        </p>
      )}
      {!ports &&
        (!c ? (
          <Loading what="the cost" />
        ) : (
          <>
            <p>
              {c.lost === 0
                ? 'It carries no EV now: nothing is lost.'
                : `${countOf(c.lost, 'direction')} of links will carry no new packets.`}
            </p>
            {c.planes.length > 0 && (
              <Grid
                label="What is left of each plane"
                heads={['Plane', 'Directions in use', 'After', 'Capacity left']}
                of={c.planes}
                id={(p) => String(p.plane)}
                cells={(p) => [p.plane, `${p.now} of ${p.all}`, p.left, formatShare(p.left / p.all)]}
              />
            )}
            {c.tightest && (
              <p>
                The most affected switch is {c.tightest.name}: it keeps {c.tightest.left} of {c.tightest.now} links.
              </p>
            )}
          </>
        ))}
      <Hurt target={target} />
      {trial.isPending && <Loading what="what the controller says" />}
      {trial.isError && (
        <>
          <p>The controller refuses it:</p>
          <Failure error={trial.error} />
        </>
      )}
      {trial.isSuccess && <Takes of={trial.data?.takes} />}
      {trial.isSuccess && <p>The controller accepts it: every pair of hosts keeps a path.</p>}
      {drain.isError && <Failure error={drain.error} />}
      <Answers label="Drain" act={() => drain.mutate()} disabled={!trial.isSuccess || drain.isPending} close={close} />
    </Dialog>
  );
}

/** The jobs that a drain hurts. */
function Hurt({ target: t }: { target: Target }) {
  const nodes = useQuery({ ...ask.nodes, enabled: t.kind === 'node' });
  if (t.kind === 'port') return <Dependents kind="host" name={t.host} />;
  if (t.kind !== 'node') return <Dependents kind={t.kind} name={t.kind === 'plane' ? String(t.plane) : t.id} />;
  const name = nodes.data?.find((n) => n.id === t.id)?.status.name;
  return name ? <Dependents kind="switch" name={name} /> : null;
}
