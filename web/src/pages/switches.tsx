import { useMutation, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { Badge, Conditions } from '../components/badge';
import { Choose } from '../components/choose';
import { actions, aged, coded, counted, long, named, shown } from '../components/columns';
import { Dependents } from '../components/dependents';
import { DrainButton } from '../components/drain';
import { Facts, Heading, Section } from '../components/facts';
import { Confirm, PortList } from '../components/form';
import { PortCharts } from '../components/history';
import { See, To } from '../components/link';
import { Where } from '../components/network';
import { Answer, Empty, Failure } from '../components/states';
import { Searched, Table, type Column } from '../components/table';
import { doneBy, entryText, fieldsText, fieldText } from '../domain/entry';
import { countOf, formatAge, formatCount, formatOctets } from '../domain/format';
import { submits } from '../store/change';
import { useNow } from '../store/now';
import { Ports } from './ports';
import { setParams, useParam } from '../store/place';

type Switch = Schemas['SwitchStatus'];

export function Switches({ path }: { path: string[] }) {
  const switches = useQuery(ask.switches);
  return (
    <Answer of={switches} what="switches">
      {(all) => {
        if (path[0] === undefined) return <List all={all} />;
        const one = all.find((s) => s.name === path[0] || s.node === path[0]);
        return one ? (
          <One of={one} />
        ) : (
          <Empty>
            There is no switch {path[0]}. <To path={['switches']}>All switches</To>
          </Empty>
        );
      }}
    </Answer>
  );
}

/** What a switch says of its ports now; undefined where only its last report is known. */
const reported = (s: Switch) => (s.connected && !s.ports?.error ? s.ports : undefined);

function State({ of: s }: { of: Switch }) {
  if (!s.managed) return <Badge tone="quiet">not managed</Badge>;
  if (!s.connected || s.errors?.length)
    return (
      <Badge tone="fault" title={s.connected ? s.errors![0] : s.reason}>
        {s.connected ? 'refuses updates' : 'not connected'}
      </Badge>
    );
  if (!s.synced) return <Badge tone="warning">{s.pending} updates pending</Badge>;
  if (s.settling) return <Badge tone="warning">keeps old routes</Badge>;
  return <Badge tone="ok">programmed</Badge>;
}

function List({ all }: { all: Switch[] }) {
  const now = useNow();
  const columns: Column<Switch>[] = [
    named('Switch', 'switches'),
    { name: 'State', key: (s) => `${s.connected} ${s.synced}`, cell: (s) => <State of={s} />, width: 1.4 },
    aged('For', (s) => s.since, now, 0.5, ''),
    counted('Entries', (s) => s.entries, 0.6),
    counted('Pending', (s) => s.pending, 0.6),
    shown('Ports up', (s) => reported(s)?.up, String, { number: true, width: 0.6 }),
    {
      name: 'Ports down',
      key: (s) => reported(s)?.down?.length ?? 0,
      cell: (s) => reported(s)?.down?.join(', '),
      width: 0.6,
    },
    coded('Node', (s) => s.node, 1.4),
    { name: 'Programmed by', key: (s) => s.address ?? '', cell: (s) => <Programmed of={s} brief />, width: 2.1 },
  ];
  return (
    <>
      <h1>Switches</h1>
      <Searched
        rows={all}
        what={countOf(all.length, 'switch')}
        columns={columns}
        id={(x) => x.name}
        label="Switches"
        empty="The inventory has no switch."
      />
    </>
  );
}

function One({ of: s }: { of: Switch }) {
  const now = useNow();
  const nodes = useQuery(ask.nodes),
    planes = useQuery(ask.planes);
  const node = nodes.data?.find((n) => n.id === s.node);
  const mayTrace = useMay('operate');
  return (
    <>
      <Heading title={`Switch ${s.name}`} state={<State of={s} />}>
        {node && (planes.data?.length ?? 0) > 0 && (
          <DrainButton target={{ kind: 'node', id: node.id }} admin={node.spec.admin} what={s.name} />
        )}
      </Heading>
      <Dependents kind="switch" name={s.name} />
      {s.reason && <p>{s.reason}</p>}
      {(s.errors ?? []).map((e) => (
        <p key={e}>
          <Badge tone="fault">refused</Badge> {e}
        </p>
      ))}
      {s.conditions?.length ? (
        <p>
          <Conditions of={s.conditions} />
        </p>
      ) : null}
      <Facts
        label={`Switch ${s.name}`}
        of={[
          [
            'Node',
            s.node && (
              <>
                <code>{s.node}</code>{' '}
                <To path={['fabric']} query={{ node: s.node }}>
                  in the fabric
                </To>
              </>
            ),
          ],
          ['Programmed by', s.address && <Programmed of={s} />],
          ['Connected', s.connected ? `for ${formatAge(s.since, now)}` : 'no'],
          ['Entities', `${formatCount(s.entries)}, ${s.pending} updates pending`],
          [
            'Ports',
            s.ports &&
              `${reported(s) ? '' : `not known${s.ports.error ? `, ${s.ports.error}` : ''}; the last report was: `}${s.ports.up} up${s.ports.down?.length ? `; down: ${s.ports.down.join(', ')}` : ''}`,
          ],
          ['gNMI notifications ignored', s.ports?.ignored],
        ]}
      />
      <Orphans name={s.name} />
      <Ports name={s.name} />
      <Busiest name={s.name} />
      <Where switches={[s.name]} />
      {s.system ? (
        <Empty>
          It runs no P4 program:{' '}
          <code>
            weft get device-config {s.name} --format {s.system}
          </code>{' '}
          prints what it should hold.
        </Empty>
      ) : s.connected ? (
        <>
          {mayTrace && <Trace name={s.name} />}
          <Tables name={s.name} />
          <Counters name={s.name} />
        </>
      ) : (
        <Empty>What it holds is not known while it is not connected.</Empty>
      )}
    </>
  );
}

/** The ports of a switch that carried most when its page was opened, as long as they are among those of the network. */
function Busiest({ name }: { name: string }) {
  const [port] = useParam('port'); // whose charts the page has then
  const { data } = useQuery({
    ...ask.loads(),
    queryKey: ['top', 'busiest of', name],
    refetchInterval: false,
    staleTime: Infinity,
  });
  const most = (i: NonNullable<typeof data>['items'][number]) => Math.max(i.in ?? 0, i.out ?? 0);
  const busy = (data?.items ?? [])
    .filter((i) => i.name.startsWith(`${name}/`) && most(i) > 0)
    .sort((a, b) => most(b) - most(a))
    .slice(0, 4);
  if (port) return null;
  return (
    <PortCharts label="Its busiest ports" of={busy.map((i) => [i.name, `port ${i.name.slice(name.length + 1)}`])} />
  );
}

function Orphans({ name }: { name: string }) {
  const orphans = useQuery(ask.orphans(name));
  const now = useNow();
  if (!orphans.data?.length) return null;
  return (
    <Section title="Entries that no resource explains">
      <p>The controller keeps them until somebody deletes them.</p>
      <Table<Schemas['Orphan']>
        rows={orphans.data}
        id={(o) => o.name}
        label="Orphans"
        columns={[
          { name: 'Orphan', key: (o) => o.name, width: 1.3 },
          { name: 'What it says', key: (o) => o.detail ?? '', width: 1.2 },
          counted('Entries', (o) => o.entries, 0.5),
          aged('For', (o) => o.since, now, 0.5),
          long('Why', (o) => o.reason, 2),
          actions(1, (o) => (
            <Confirm
              scope="configure"
              label="Delete"
              danger
              title={`Delete ${o.name}?`}
              act={() => act.deleteOrphan(o.name)}
              dry={() => act.deleteOrphan(o.name, true)}
            >
              <p>Traffic that uses these entries is lost.</p>
            </Confirm>
          )),
        ]}
      />
    </Section>
  );
}

/** Catches the next packets, and shows what the switch did with each and with every copy of it. */
function Trace({ name }: { name: string }) {
  const [port, setPort] = useParam('trace-port');
  const [count, setCount] = useParam('trace-count', '1');
  const trace = useMutation({ mutationFn: () => ask.traces(name, port, Number(count)) });
  return (
    <Section title="Trace packets">
      <form className="filters" onSubmit={submits(() => trace.mutate())}>
        <label>
          Port{' '}
          <input
            value={port}
            onChange={(e) => setPort(e.target.value)}
            placeholder="any"
            inputMode="numeric"
            size={6}
            list="trace-ports"
          />
        </label>
        <PortList id="trace-ports" at="switch" name={name} />
        <Choose label="Packets" value={count} set={setCount} of={['1', '2', '5', '10', '20']} />
        <button type="submit" disabled={trace.isPending}>
          Catch the next
        </button>
        {trace.isPending && (
          <span role="status" className="quiet">
            Waiting for packets, at most 20 s…
          </span>
        )}
      </form>
      {trace.isError && <Failure error={trace.error} />}
      {trace.data &&
        (trace.data.items.length === 0 ? (
          <Empty>No packet came in 20 s.</Empty>
        ) : (
          <>
            {!trace.data.complete && (
              <p className="quiet">
                {trace.data.items.length} of {count} packets came in 20 s.
              </p>
            )}
            {(trace.data.lost ?? 0) > 0 && (
              <p>
                <Badge tone="warning">{trace.data.lost} packets between these were not recorded</Badge>
              </p>
            )}
            {trace.data.items.map((t, i) => (
              <details key={t.packet} open={i === 0}>
                <summary>
                  Packet {t.packet}: {t.length} octets in by port {t.port}
                </summary>
                <pre className="trace" tabIndex={0} aria-label={`Steps of packet ${t.packet}`}>
                  {t.text}
                </pre>
              </details>
            ))}
          </>
        ))}
    </Section>
  );
}

/** The server by which a switch is programmed; brief: P4Runtime, as most speak, goes without saying. */
function Programmed({ of, brief }: { of: Switch; brief?: boolean }) {
  if (!of.address) return null;
  return (
    <>
      {of.system ? `${systems[of.system] ?? of.system}, gNMI ` : !brief && 'P4Runtime '}
      <code>
        {of.address}
        {!of.system && !brief && `, device ${of.deviceId ?? 1}`}
      </code>
    </>
  );
}

const systems: Record<string, string> = { sonic: 'SONiC', linux: 'Linux' };

function Tables({ name }: { name: string }) {
  const tables = useQuery(ask.tables(name));
  const [chosen] = useParam('table');
  const table = tables.data?.find((t) => t.name === chosen);
  return (
    <Section title="Tables of the P4 program">
      <Answer of={tables} what="tables">
        {(all) => (
          <p className="filters">
            <Choose
              label="Table"
              value={chosen}
              set={(t) => setParams({ table: t || undefined, 'entry-q': undefined })}
              of={all.map((t) => t.name)}
              none="choose"
            />
            {table && (
              <span className="quiet">
                room for {formatCount(table.size)}; matches on {(table.fields ?? []).join(', ') || 'nothing'}; actions{' '}
                {(table.actions ?? []).join(', ')}
              </span>
            )}
          </p>
        )}
      </Answer>
      {table && <Entries name={name} table={table} />}
      {chosen && tables.data && !table && <Empty>The program has no table {chosen}.</Empty>}
    </Section>
  );
}

interface Row {
  key: string;
  entry: Schemas['EntryView'];
}

function Entries({ name, table }: { name: string; table: Schemas['TableView'] }) {
  const entries = useQuery(ask.entries(name, table.name));
  const rows = useMemo(
    () => (entries.data ?? []).map((entry): Row => ({ key: entryText(entry), entry })),
    [entries.data],
  );
  const matched = table.fields ?? [];
  const columns: Column<Row>[] = [
    ...matched.map((f): Column<Row> => ({
      name: f,
      key: (r) => fieldText((r.entry.match ?? []).find((m) => m.name === f)?.value),
      cell: (r) => (
        <code>{r.entry.default ? 'default' : fieldText((r.entry.match ?? []).find((m) => m.name === f)?.value)}</code>
      ),
      width: /addr|dst|prefix/.test(f) ? 2 : 1,
    })),
    ...(rows.some((r) => r.entry.priority) ? [counted<Row>('Priority', (r) => r.entry.priority ?? 0, 0.6)] : []),
    {
      name: 'Action',
      key: (r) => `${r.entry.action ?? ''} ${r.entry.member ?? ''} ${r.entry.group ?? ''}`,
      cell: (r) => (
        <See kind="entry" id={`${name} ${table.name} ${r.key}`}>
          <code>{doneBy(r.entry)}</code>
        </See>
      ),
    },
    {
      name: 'Parameters',
      key: (r) => fieldsText(r.entry.params),
      cell: (r) => <code title={fieldsText(r.entry.params)}>{fieldsText(r.entry.params)}</code>,
      width: 3,
    },
  ];
  return (
    <Answer of={entries} what="entries">
      {(all) => (
        <Searched
          rows={rows}
          what={`${countOf(all.length, 'entry')}, read from the switch`}
          param="entry-q"
          columns={columns}
          id={(r) => r.key}
          label={`Entries of ${table.name}`}
          empty="The table is empty."
        />
      )}
    </Answer>
  );
}

function Counters({ name }: { name: string }) {
  const counters = useQuery(ask.counters(name));
  return (
    <Section title="Counters">
      <Answer of={counters} what="counters">
        {(all) => (
          <Searched
            rows={all}
            what={`${all.length} cells that are not zero`}
            param="counter-q"
            id={(c) => `${c.counter} ${c.index}`}
            label="Counters"
            empty="No cell is other than zero."
            columns={[
              { name: 'Counter', key: (c) => c.counter },
              { name: 'Cell', key: (c) => c.name, width: 2 },
              { name: 'Packets', key: (c) => c.packets, cell: (c) => formatCount(c.packets), number: true },
              {
                name: 'Octets',
                key: (c) => c.octets,
                cell: (c) => <span title={formatCount(c.octets)}>{formatOctets(c.octets)}</span>,
                number: true,
              },
            ]}
          />
        )}
      </Answer>
    </Section>
  );
}
