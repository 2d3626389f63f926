import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { body, client, type Schemas } from '../api/client';
import * as ask from '../api/queries';
import { Choose } from '../components/choose';
import { Heading } from '../components/facts';
import { ByJob } from '../components/tried';
import { NetworkPicture, WholeFabric } from '../components/network';
import { Empty, Failure, Loading, NoFabric } from '../components/states';
import { linkState, mostDrawn, suspectLinks } from '../domain/fabric';
import { formatDuration, formatShare } from '../domain/format';
import { linkName, reverse } from '../domain/network';
import { eventsOf, formatParts, parseParts, scenarioOf, toggle, type Part } from '../domain/whatif';
import { useParam } from '../store/place';

type Action = Schemas['SimulationEvent']['action'];

/** What jobs would get of the fabric without parts that are clicked. */
export function WhatIf() {
  const fabric = useQuery(ask.fabric);
  return (
    <>
      <Heading title="What if" />
      {fabric.data === null ? <NoFabric /> : fabric.data && <Asked />}
    </>
  );
}

function Asked() {
  return (
    <>
      <p className="quiet">
        Choose what fails or is drained: nothing happens to the fabric. The answer is that of the model flows, in which
        packets are a fluid.
      </p>
      <WholeFabric>{(links, nodes) => <Question links={links} nodes={nodes} />}</WholeFabric>
    </>
  );
}

function Question({ links, nodes }: { links: Schemas['FabricLink'][]; nodes: Schemas['FabricNode'][] }) {
  const [text, setText] = useParam('parts');
  const [action, setAction] = useParam('do', 'fail');
  const [typed, setTyped] = useState('');
  const planes = useQuery(ask.planes),
    suspects = useQuery(ask.suspects),
    jobs = useQuery(ask.jobs);
  const parts = useMemo(() => parseParts(text), [text]);
  const events = useMemo(() => eventsOf(parts, action as Action), [parts, action]);
  const answer = useQuery({
    queryKey: ['what if', events],
    queryFn: ({ signal }) => body(client.POST('/v1/simulations', { body: { events }, signal })),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const flip = useCallback((p: Part) => setText(formatParts(toggle(parts, p))), [parts, setText]);
  const gone = useCallback(
    (l: Schemas['FabricLink']) =>
      parts.some((p) =>
        p.kind === 'link'
          ? p.name === l.id || p.name === reverse(l.id)
          : p.kind === 'node'
            ? p.name === l.status.from || p.name === l.status.to
            : p.name === String(l.status.plane),
      ),
    [parts],
  );
  const bad = useMemo(() => suspectLinks(suspects.data ?? []), [suspects.data]);
  const stateOf = useCallback(
    (l: Schemas['FabricLink']) => (gone(l) ? (action === 'fail' ? 'down' : 'drained') : linkState(l, bad)),
    [gone, action, bad],
  );
  const shown = useMemo(
    () =>
      nodes.map((n) => {
        const is = parts.some(
          (p) =>
            (p.kind === 'node' && p.name === n.id) ||
            (p.kind === 'plane' && n.status.planes.map(String).includes(p.name)),
        );
        if (!is) return n;
        return action === 'fail'
          ? { ...n, status: { ...n.status, present: false } }
          : { ...n, spec: { ...n.spec, admin: 'drained' as const } };
      }),
    [nodes, parts, action],
  );
  const names = useMemo(() => {
    const all = new Map<string, Part>();
    for (const p of planes.data ?? []) all.set(`plane ${p.plane}`, { kind: 'plane', name: String(p.plane) });
    for (const n of nodes) all.set(`switch ${n.status.name ?? n.id}`, { kind: 'node', name: n.id });
    for (const l of links) all.set(`link ${linkName(l)}`, { kind: 'link', name: l.id });
    return all;
  }, [planes.data, nodes, links]);
  const nameOf = (p: Part) =>
    [...names].find(
      ([, q]) => q.kind === p.kind && (q.name === p.name || (q.kind === 'link' && reverse(q.name) === p.name)),
    )?.[0] ?? `${p.kind} ${p.name}`;
  const save = async () => {
    const { stringify } = await import('yaml');
    const file = new Blob([stringify(scenarioOf(parts.map(nameOf), action, jobs.data ?? []))], { type: 'text/yaml' });
    const a = document.createElement('a');
    a.href = URL.createObjectURL(file);
    a.download = 'what-if.yaml';
    a.click();
    URL.revokeObjectURL(a.href);
  };
  if (nodes.length === 0) return <Empty>The controller knows no switch yet.</Empty>;
  return (
    <>
      <p className="filters">
        <Choose label="What is chosen" value={action} set={setAction} of={{ fail: 'fails', drain: 'is drained' }} />
        <label>
          Choose{' '}
          <input
            list="what-if-parts"
            placeholder="a switch, link or plane"
            value={typed}
            onChange={(e) => {
              const part = names.get(e.target.value);
              setTyped(part ? '' : e.target.value);
              if (part) flip(part);
            }}
          />
        </label>
        <datalist id="what-if-parts">
          {[...names.keys()].slice(0, 2_000).map((n) => (
            <option key={n} value={n} />
          ))}
        </datalist>
        {(planes.data ?? []).map((p) => (
          <button
            key={p.plane}
            type="button"
            aria-pressed={parts.some((x) => x.kind === 'plane' && x.name === String(p.plane))}
            onClick={() => flip({ kind: 'plane', name: String(p.plane) })}
          >
            Plane {p.plane}
          </button>
        ))}
        <button type="button" disabled={parts.length === 0} onClick={() => void save()}>
          Save as YAML
        </button>
      </p>
      {parts.length > 0 && (
        <ul className="names" aria-label="What is chosen">
          {parts.map((p) => (
            <li key={`${p.kind} ${p.name}`}>
              {nameOf(p)}{' '}
              <button type="button" aria-label={`Do not choose ${nameOf(p)}`} onClick={() => flip(p)}>
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      {answer.isPending && <Loading what="what jobs get" />}
      {answer.isError && <Failure error={answer.error} />}
      {answer.data && <Jobs of={answer.data.jobs ?? []} />}
      {nodes.length <= mostDrawn && (
        <NetworkPicture
          nodes={shown}
          links={links}
          stateOf={stateOf}
          open={(kind, name) => (kind === 'node' || kind === 'link') && flip({ kind, name })}
        />
      )}
    </>
  );
}

/** How long a step takes, and which share of its bandwidth the pattern of the job gets. */
function step(s: Schemas['SimulatedStep'] | undefined): string {
  return !s ? 'not known' : s.step === '0s' ? 'does not end' : `${formatDuration(s.step)}, ${formatShare(s.share)}`;
}

/** What jobs get before and after, those that lose most first. */
function Jobs({ of }: { of: Schemas['SimulatedJob'][] }) {
  if (of.length === 0) return <Empty>No job has ranks on the fabric, so that nobody loses anything.</Empty>;
  return (
    <ByJob
      label="What jobs get"
      heads={['Ranks', 'Step now, share of bandwidth', 'After', 'Longer', 'Cut off', 'Bound by']}
      of={of}
      cells={(j) => [
        j.ranks,
        j.why ?? step(j.before),
        step(j.after),
        j.increase === undefined ? '–' : `${j.increase > 0 ? '+' : ''}${(100 * j.increase).toFixed(1)} %`,
        `${j.after?.cutOff ?? '–'}${j.after?.nics?.length ? `: ${j.after.nics.join(', ')}` : ''}`,
        (j.after?.bound ?? []).slice(0, 2).join(', ') || '–',
      ]}
    />
  );
}
