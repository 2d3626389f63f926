import { useQuery } from '@tanstack/react-query';
import { useMemo, type ReactNode } from 'react';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { Badge, type Tone } from '../components/badge';
import { Choose } from '../components/choose';
import { ago, conditions, counted, lasting, named } from '../components/columns';
import { Contains } from '../components/contains';
import { Chosen, Facts, Grid, Section } from '../components/facts';
import { Confirm, type Described } from '../components/form';
import { History } from '../components/history';
import { PlaneShares } from '../components/shares';
import { LinkNames, Names, To } from '../components/link';
import { pagesOf, Part } from '../components/resource';
import { Answer, Empty, NoFabric } from '../components/states';
import { Rows, Table, type Column } from '../components/table';
import { containers, contains, fieldsOf, parseAddress } from '../domain/ev';
import * as field from '../domain/fields';
import { countOf, formatShare } from '../domain/format';
import type { Spec } from '../domain/spec';
import { formatExact } from '../domain/json';
import { useNow } from '../store/now';
import { setParams, useParam } from '../store/place';

type Profile = Schemas['EvProfile'];

const stateTones: Record<Schemas['EvView']['state'], Tone> = { GOOD: 'ok', ASSUMED_BAD: 'warning', DENIED: 'fault' };
const stateTexts: Record<Schemas['EvView']['state'], string> = {
  GOOD: 'good',
  ASSUMED_BAD: 'assumed bad',
  DENIED: 'denied',
};

export const Evs = pagesOf<Profile>({
  collection: 'ev-profiles',
  one: ask.profile,
  List,
  Page: One,
  useForm: useOverrideForm,
  change: 'Override…',
  remove: ({ name, version }) =>
    version > 0 && (
      <Confirm
        scope="configure"
        label="Remove the override"
        title={`Remove the override of ${name}?`}
        act={() => act.remove('ev-profiles', name, false)}
      >
        <p>The profile is then as the configuration says.</p>
      </Confirm>
    ),
});

function List() {
  return useQuery(ask.fabric).data === null ? (
    <>
      <h1>Entropy values</h1>
      <NoFabric />
    </>
  ) : (
    <All />
  );
}

function All() {
  const hosts = useQuery(ask.hosts),
    fabric = useQuery(ask.fabric);
  const [from, setFrom] = useParam('from');
  const [to, setTo] = useParam('to');
  const [search, setSearch] = useParam('q');
  const [only, setOnly] = useParam('state');
  const profiles = useQuery(only === 'degraded' ? ask.degradedProfiles : ask.profiles);
  const names = (hosts.data ?? []).map((h) => h.name);
  const columns: Column<Profile>[] = [
    named('EV profile', 'evs', 2.2),
    conditions(),
    counted('EVs', (p) => p.status.count, 0.5),
    counted('Active', (p) => p.status.active, 0.5),
    counted('Denied', (p) => p.status.denied, 0.5),
    counted('Assumed bad', (p) => p.status.assumedBad, 0.7),
    { name: 'Mode', key: (p) => p.status.mode ?? '', width: 0.5 },
    { name: 'CC profile', key: (p) => p.status.ccProfile ?? '', width: 0.8 },
    {
      name: 'Hosts',
      key: (p) => p.status.hosts.join(' '),
      cell: (p) => (
        <span title={p.status.hosts.join(', ')}>
          {p.status.hosts.length}
          {p.status.behind?.length ? `, ${p.status.behind.length} behind` : ''}
        </span>
      ),
      width: 0.8,
    },
  ];
  const rows = profiles.data ?? [];
  const all = (only === 'degraded' ? fabric.data?.evProfiles.bad : fabric.data?.evProfiles.all) ?? 0;
  return (
    <>
      <h1>Entropy values</h1>
      <p className="filters">
        <Choose label="From" value={from} set={setFrom} of={names} none="a host" />
        <Choose label="to" value={to} set={setTo} of={names} none="a host" />
        {from && to && (
          <button type="button" onClick={() => setParams({ from: to, to: from })}>
            Swap
          </button>
        )}
      </p>
      {from && to ? (
        <Pair from={from} to={to} hosts={hosts.data ?? []} />
      ) : (
        <p className="quiet">Two hosts show the paths between them, both ways.</p>
      )}
      <h2>EV profiles</h2>
      <p className="filters">
        <Choose label="State" value={only} set={setOnly} of={['degraded']} none="any" />
        <Contains
          search={search}
          set={setSearch}
          what={
            rows.length >= ask.mostProfiles && all > rows.length
              ? `the first ${rows.length} of ${all} profiles: two hosts find the others`
              : `${rows.length} profiles`
          }
        />
      </p>
      <Rows
        of={profiles}
        what="EV profiles"
        columns={columns}
        id={(p) => p.name}
        label="EV profiles"
        search={search}
        empty="There is no EV profile."
      />
      <CCProfiles />
    </>
  );
}

function Pair({ from, to, hosts }: { from: string; to: string; hosts: Schemas['FabricHost'][] }) {
  const a = hosts.find((h) => h.name === from),
    b = hosts.find((h) => h.name === to);
  if (!a || !b) return <Empty>There is no host {a ? to : from}.</Empty>;
  return (
    <div className="columns">
      <Way from={a} to={b} />
      <Way from={b} to={a} />
    </div>
  );
}

function Way({ from, to }: { from: Schemas['FabricHost']; to: Schemas['FabricHost'] }) {
  const own = useQuery(ask.profilesOf(from.name));
  const name = own.data?.find((p) => p.status.destinations.some((d) => contains(d, to.address)))?.name;
  return (
    <section aria-label={`From ${from.name} to ${to.name}`}>
      <h2>
        {from.name} → {to.name}
      </h2>
      <Answer of={own} what="EV profiles">
        {() =>
          name ? (
            <p>
              EV profile <To path={['evs', name]}>{name}</To>
            </p>
          ) : (
            <Empty>
              No EV profile of {from.name} leads to {to.name}.
            </Empty>
          )
        }
      </Answer>
      {name && <EvTable name={name} label={`EVs from ${from.name} to ${to.name}`} />}
    </section>
  );
}

interface Row {
  ev: Schemas['EvView'];
  probe?: Schemas['EvProbeView'];
}

function EvTable({ name, label, chosen }: { name: string; label: string; chosen?: string }) {
  const profile = useQuery(ask.profile(name)),
    probes = useQuery(ask.probes(name));
  const [state, setState] = useParam('ev-state');
  const rows = useMemo(() => {
    const byEv = new Map((probes.data ?? []).map((p) => [p.ev, p]));
    return (profile.data?.status.evs ?? [])
      .filter((e) => !state || e.state === state)
      .map((ev): Row => ({ ev, probe: byEv.get(ev.ev) }));
  }, [profile.data, probes.data, state]);
  const columns: Column<Row>[] = [
    {
      name: 'EV',
      key: (r) => r.ev.ev,
      cell: (r) => (
        <To path={['evs', name]} query={{ ev: r.ev.ev }}>
          <code>{r.ev.ev.split('@')[0]}</code>
        </To>
      ),
      width: 1.3,
    },
    counted('Port', (r) => r.ev.port, 0.5),
    {
      name: 'State',
      key: (r) => r.ev.state,
      cell: (r) => (
        <Badge tone={stateTones[r.ev.state]}>
          {stateTexts[r.ev.state]}
          {r.ev.badAt ? ` by ${countOf(r.ev.badAt, 'host')}` : ''}
          {r.ev.replacement ? ', a replacement' : ''}
        </Badge>
      ),
      width: 1.4,
    },
    {
      name: 'Probe loss',
      key: (r) => r.probe?.loss ?? -1,
      number: true,
      cell: (r) =>
        r.probe ? (
          <span title={`${r.probe.received} of ${r.probe.sent} answered; the loss is a moving average`}>
            {formatShare(r.probe.loss)}
          </span>
        ) : (
          '–'
        ),
      width: 0.9,
    },
    lasting('Round trip', (r) => r.probe?.rttMean, 0.8),
  ];
  return (
    <>
      <p className="filters">
        <Choose label="State" name={`${label}, state`} value={state} set={setState} of={stateTexts} none="any" />
      </p>
      <Answer of={profile} what="EVs">
        {() => (
          <Table
            rows={rows}
            columns={columns}
            id={(r) => r.ev.ev}
            label={label}
            selected={chosen}
            empty="No EV matches the filters."
          />
        )}
      </Answer>
    </>
  );
}

const modes = [
  { value: 'GEN', label: 'GEN: the host, by fields' },
  { value: 'EXP', label: 'EXP: the controller lists them' },
  { value: 'AUTO', label: 'AUTO: the device (mode ecmp)' },
];

function useOverrideForm(of?: Profile): Described {
  const cc = useQuery(ask.ccProfiles);
  const fields = [
    field.choice('mode', 'Mode', modes, { empty: "the controller's choice" }),
    field.number('maxEvs', 'EVs at most', { hint: "Empty: the configuration's." }),
    field.number('minActive', 'Least active', { hint: 'EVs that a host leaves active when it finds some bad.' }),
    field.choice('ccProfile', 'CC profile', field.names(cc.data), { empty: "the configuration's" }),
  ];
  return { title: `Override EV profile ${of?.name}`, fields };
}

function One({ of: p }: { of: Profile }) {
  const [ev] = useParam('ev');
  const s = p.status;
  const leaves = (of: Profile['status']['source']) => of.map((l) => `port ${l.port}: ${l.name ?? l.leaf}`).join(', ');
  return (
    <>
      {s.note && <p>{s.note}</p>}
      {s.behind?.length ? (
        <p>
          <Badge tone="warning">behind</Badge> <Names of={s.behind} page="hosts" />
        </p>
      ) : null}
      {s.lostLinks?.length ? (
        <p>
          Lost links: <LinkNames of={s.lostLinks} />
        </p>
      ) : null}
      {ev && <PathOf profile={p} ev={ev} />}
      <Section title="Over time" label={`Traffic of ${p.name}`} charts>
        <History kind="ev-profile" name={p.name} absent="No host has reported what it sent by this profile." />
        <PlaneShares hosts={s.hosts} />
      </Section>
      <div className="columns">
        <Section title="EVs">
          <EvTable name={p.name} label="EVs" chosen={ev} />
        </Section>
        <Section title="Profile">
          <Facts
            label={`EV profile ${p.name}`}
            of={[
              ['From', leaves(s.source)],
              ['To', leaves(s.destination)],
              ['Hosts', <Names of={s.hosts} page="hosts" />],
              [
                'Destinations',
                s.destinations.map((d) => (
                  <div key={d}>
                    <code>{d}</code>
                  </div>
                )),
              ],
              [
                'EVs',
                `${s.count}: ${s.active} active, ${s.denied} denied, ${s.assumedBad} assumed bad, ${s.replaced} replacements`,
              ],
              ['Least active', s.minActive],
              ['Format', s.format && `${s.format.mode}, fields of ${s.format.widths.join(', ')} bits`],
              ['Mode', s.mode],
              ['CC profile', s.ccProfile],
              ['Override', p.version > 0 ? <code>{formatExact(p.spec)}</code> : 'none'],
            ]}
          />
        </Section>
      </div>
    </>
  );
}

/** The way of one EV, hop by hop, with what of the packet each switch goes by. */
function PathOf({ profile, ev }: { profile: Profile; ev: string }) {
  const path = useQuery(ask.evPath(profile.name, ev));
  return (
    <Chosen title={`Path of ${ev}`} close={() => setParams({ ev: undefined })}>
      <Answer of={path} what="the path">
        {(p) => <Path of={p} widths={profile.status.format?.widths ?? []} />}
      </Answer>
    </Chosen>
  );
}

function Path({ of: p, widths }: { of: Schemas['EvPathView']; widths: readonly number[] }) {
  const fields = p.mode === 'stev' ? fieldsOf(p.ev, widths) : [];
  const steps = containers(p.packet, widths);
  const hop = (h: Schemas['EvHop'], i: number): ReactNode[] => [
    <Names of={[...new Set(h.links.map((l) => l.fromName ?? l.from))]} page="switches" />,
    h.by === 'field'
      ? `field ${i + 1} = ${h.value}`
      : `${h.by}${h.by === 'route' ? '' : ` 0x${h.value.toString(16).padStart(4, '0')}`}`,
    h.by === 'field' ? (
      <Bits fields={fields} at={i} />
    ) : steps[i] ? (
      <Address of={steps[i]} />
    ) : (
      h.by === 'route' && 'destination address'
    ),
    `${h.links.map((l) => l.fromPort ?? '?').join(' or ')}${h.links.length > 1 ? ', by a hash' : ''}`,
    h.links.map((l) => (
      <div key={l.id}>
        <To path={['fabric']} query={{ link: l.id }}>
          {l.toName ?? l.to}
        </To>
        , port {l.toPort ?? '?'}
      </div>
    )),
  ];
  // What is shifted out behind the last switch is of the host.
  const rest = (s: (typeof steps)[number], i: number): ReactNode[] => [
    p.nodes?.at(-1) ?? p.destination,
    s.active,
    <Address of={s} />,
    i === 0 && 'the host',
    '',
  ];
  return (
    <>
      <p>
        <Badge tone={stateTones[p.state]}>{stateTexts[p.state]}</Badge> Mode {p.mode}, port {p.port} of the host
        {p.plane !== undefined && `, plane ${p.plane}`}.
        {p.packet.sourcePort !== undefined &&
          ` UDP source port 0x${p.packet.sourcePort.toString(16).padStart(4, '0')}, flow label 0x${(p.packet.flowLabel ?? 0).toString(16).padStart(4, '0')}.`}
        {p.packet.destination && (
          <>
            {' '}
            Outer destination <code>{p.packet.destination}</code>
            {p.packet.segment && (
              <>
                , then <code>{p.packet.segment}</code> from the segment routing header
              </>
            )}
            .
          </>
        )}
      </p>
      {p.lostLinks?.length ? (
        <p>
          It would cross links that must not be crossed: <LinkNames of={p.lostLinks} />
        </p>
      ) : null}
      {p.hops.length === 0 && <p>Both ends have the same leaf: {p.nodes?.join(', ') ?? p.source}.</p>}
      {p.hops.length > 0 && (
        <Grid
          label={`Hops of ${p.ev}`}
          heads={['At', 'Goes by', 'In the packet', 'Leaves by port', 'To']}
          of={[...p.hops.map(hop), ...steps.slice(p.hops.length).map(rest)].map((cells, i) => ({ cells, i }))}
          id={(row) => String(row.i)}
          cells={(row) => row.cells}
        />
      )}
    </>
  );
}

function Bits({ fields, at }: { fields: { bits: string }[]; at: number }) {
  return (
    <span className="bits">
      {fields.map((f, i) => (
        <span key={i} className={i === at ? 'now' : i < at ? 'past' : undefined}>
          {i > 0 && ' '}
          {f.bits}
        </span>
      ))}
    </span>
  );
}

/** An address in full digits with the active uSID marked. */
function Address({ of: c }: { of: ReturnType<typeof containers>[number] }) {
  const hex = (parseAddress(c.address) ?? 0n).toString(16).padStart(32, '0');
  const part = (from: number, to: number) => hex.slice(from, to).replace(/(.{4})(?=.)/g, '$1:');
  const [from, to] = c.digits;
  return (
    <span className="bits" title={c.address}>
      {part(0, from)}:<span className="now">{part(from, to)}</span>
      {to < 32 && `:${part(to, 32)}`}
      {c.fromHeader && ' (from the SRH)'}
    </span>
  );
}

/** A field for each parameter of NSCC that the API has, as the API explains it; a new profile begins as the first. */
function useCcForm(): Described {
  const api = useQuery(ask.openApi),
    first = useQuery(ask.ccProfiles).data?.[0]?.spec ?? { nscc: {} };
  const parameters = Object.entries(api.data?.components.schemas.Nscc?.properties ?? {});
  const fields = parameters.map(([name, { type, description: hint }]) =>
    type === 'string'
      ? field.text(name, name, { hint })
      : type === 'boolean'
        ? field.flag(name, name, { hint })
        : field.number(name, name, { hint }),
  );
  return { first: first as unknown as Spec, fields: [field.group('nscc', 'NSCC (OCP MRC 1.0)', fields)] };
}

function CCProfiles() {
  const now = useNow();
  return (
    <Part<Schemas['CcProfile']>
      collection="cc-profiles"
      title="CC profiles"
      all={ask.ccProfiles}
      useForm={useCcForm}
      empty="There is no CC profile: hosts choose their own parameters."
      columns={[
        { name: 'CC profile', key: (c) => c.name },
        lasting('Target delay', (c) => c.spec.nscc.targetDelay),
        lasting('Base round trip', (c) => c.spec.nscc.baseRtt, undefined, ''),
        { name: 'Window at most', key: (c) => c.spec.nscc.maxCwnd, number: true },
        ago('Made', (c) => c.created, now, undefined, ''),
      ]}
    />
  );
}
