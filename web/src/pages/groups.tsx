import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { Badge } from '../components/badge';
import { coded, conditions, counted, linked, named, shown } from '../components/columns';
import { Facts, made, Section } from '../components/facts';
import { Confirm, type Described } from '../components/form';
import { To } from '../components/link';
import { Chart } from '../components/chart';
import { History } from '../components/history';
import { Where } from '../components/network';
import { pagesOf } from '../components/resource';
import { Picture, type Edge, type Vertex } from '../components/picture';
import { Answer, Empty } from '../components/states';
import { Table, type Column } from '../components/table';
import * as field from '../domain/fields';
import { formatAge, formatDuration } from '../domain/format';
import {
  anySource,
  byConnect,
  byQueuePairs,
  connectionState,
  connects,
  freeQpns,
  sourceOf,
  stalledBranches,
} from '../domain/group';
import type { Spec } from '../domain/spec';
import { columns as columnsOf } from '../domain/samples';
import { drawTree, lag } from '../domain/tree';
import { useAssigned, useHostNames } from '../store/assigned';
import { useNow } from '../store/now';
import { useSeen } from '../store/seen';
import { go } from '../store/place';

type Group = Schemas['Group'];
type Connection = NonNullable<Group['status']['connections']>[number];

export const Groups = pagesOf<Group>({
  collection: 'multicast-groups',
  title: 'Multicast groups',
  all: ask.groups,
  one: ask.group,
  useColumns: () => [
    named('Group', 'groups'),
    conditions(),
    coded('Proxy address', (g) => g.spec.proxyAddress, 1.2),
    coded('Source', (g) => g.spec.source?.address ?? 'any', 1.2),
    counted('Receivers', (g) => g.spec.receivers?.length ?? 0, 0.6),
    counted('Stalled', (g) => g.status.stalledReceivers?.length ?? 0, 0.5),
    { name: 'Mode', key: (g) => g.spec.mode ?? '', width: 0.8 },
    counted('Epoch', (g) => g.status.epoch ?? 0, 0.8),
  ],
  empty: 'There is no group. One write of the source to the address of a group reaches the memory of every receiver.',
  actions: ({ name }) => (
    <Confirm
      scope="tenant:write"
      on={name}
      label="Reset"
      title={`Reset group ${name}?`}
      act={() => act.operate('multicast-groups', name, 'reset')}
    >
      <p>
        A reset gives the group a new epoch: the switches forget what its branches have acknowledged. Source and
        receivers have to connect their queue pairs again.
      </p>
    </Confirm>
  ),
  Page: One,
  useForm: useGroupForm,
});

/** The hosts of the topology as choices, by address. */
function useHostChoices(): field.Choice[] {
  const topology = useQuery({ ...ask.topology, enabled: useMay('read') });
  return useMemo(
    () =>
      (topology.data?.hosts ?? []).map((h) => ({ value: h.address, label: `${h.name}: ${h.address} at ${h.switch}` })),
    [topology.data],
  );
}

/** The fields of spec.connect. */
const connection = [
  field.number('port', 'Port', {
    required: true,
    hint: 'The source connects to it at the proxy address. Receivers listen on it, or connect to the port after it.',
  }),
  field.texts('receivers', 'Prefix', 'Hosts that may join', {
    hint: 'Hosts of these prefixes, such as 2001:db8:1::/48, may join beside the receivers above.',
  }),
  field.number('atLeast', 'At least', {
    hint: 'Receivers that the source waits for, beside all of those above. Empty: 1.',
  }),
  field.choice('mtu', 'Path MTU', ['256', '512', '1024', '2048', '4096'], {
    number: true,
    empty: '4096 (default)',
    hint: 'The largest one, in octets of payload.',
  }),
  field.secret('token', 'Token', {
    hint: 'What applications need in their private data, 1 to 32 octets. It is never shown. Empty: what there is stays.',
  }),
];

function useGroupForm(group?: Group): Described {
  const everywhere = useHostChoices();
  const assigned = useAssigned();
  const groups = useQuery(ask.groups).data ?? [];
  const limits = groups.find((g) => g.status.limits)?.status.limits,
    qpns = freeQpns(groups);
  const required = true;
  const fields = (name: string) => {
    const has = assigned.of(group?.name ?? name);
    const hosts = has?.hosts ?? everywhere;
    const from = (of: string[] | undefined) =>
      of === undefined
        ? ''
        : of.length > 0
          ? ` From ${of.join(', ')}.`
          : ' No project that you are an editor of has any.';
    const host = field.choice('address', 'Host', hosts, { required }),
      qpn = field.number('qpn', 'QPN', { required });
    const source = (...fields: field.Field[]) => field.group('source', 'Source', fields);
    const receivers = (first: Spec, ...item: field.Field[]) =>
      field.list('receivers', 'Receiver', 'Receivers', item, {
        pick: { field: 'address', from: hosts, label: 'Hosts that receive' },
        hint:
          limits &&
          `An edge takes ${limits.receiversPerEdge} receivers of a group, and ${limits.branches} branches in all.`,
        first: () => ({ address: hosts[0]?.value ?? '', ...first }),
      });
    const memory = field.more('memory', 'Its memory, and where it begins', [
      field.number('startPsn', 'First PSN'),
      field.number('va', 'VA', { hex: true }),
      field.number('rkey', 'R_Key', { hex: true }),
    ]);
    const connected = [
      field.way('from', 'Who may be the source', [
        { label: 'the host below', is: (s) => !anySource(s), make: (s) => sourceOf(s, false), fields: [source(host)] },
        { label: 'any host: the first that connects', is: anySource, make: (s) => sourceOf(s, true), fields: [] },
      ]),
      receivers({}, host),
      field.group('connect', 'RDMA CM', connection),
    ];
    const typed = [source(host, qpn), receivers({ qpn: qpns.receiver }, host, qpn, memory)];
    return [
      field.way(
        'pairs',
        'Queue pairs',
        [
          { label: 'typed here', is: (s) => !connects(s), make: (s) => byQueuePairs(s, qpns), fields: typed },
          { label: 'by RDMA CM', is: connects, make: byConnect, fields: connected },
        ],
        {
          hint: 'With RDMA CM applications connect to the proxy address by rdma_connect, or listen: they bring QPN, PSN and key.',
        },
      ),
      field.text('proxyAddress', 'Proxy address', {
        required,
        hint: `IPv6 or IPv4 address, as its hosts have, that stands for the group: source and receivers connect their queue pairs to it.${from(has?.proxies)}`,
      }),
      field.number('designatedQpn', 'Designated QPN', {
        required,
        hint: `Destination queue pair of all that is sent to the proxy address.${from(has?.qpns)}`,
      }),
      field.text('evictAfter', 'Evict after', {
        hint: 'Takes out a receiver that has stalled the group for so long, such as 5s. Empty: never.',
      }),
      field.more('rest', 'Mode, tree and congestion', [
        field.choice('mode', 'Mode', ['provisioned', 'inband'], {
          empty: 'provisioned (default)',
          hint: 'provisioned: hosts send plain RoCEv2. inband: the source lists the receivers in End.MT TLVs.',
        }),
        field.choice(
          'objective',
          'Tree',
          [
            { value: 'delay', label: 'delay: shortest paths' },
            { value: 'cost', label: 'cost: fewest links' },
          ],
          { empty: 'delay (default)' },
        ),
        field.number('initialPsn', 'Initial PSN'),
        field.flag('rewriteSource', 'Receivers see the proxy address as source', { fallback: true }),
        field.text('nackHoldoff', 'NAK hold-off', { hint: 'Empty: one round trip of the tree.' }),
        field.text('cnpWindow', 'CNP window'),
        field.number('cnpLimit', 'CNPs a window'),
      ]),
    ];
  };
  return {
    title: group ? undefined : 'New multicast group',
    first: { source: { qpn: qpns.source }, receivers: [] },
    fields,
    within: assigned.within,
  };
}

function One({ of: g }: { of: Group }) {
  return (
    <>
      <Stalled of={g} />
      {g.status.tree ? <Tree group={g} /> : <Empty>The group has no tree.</Empty>}
      {connects(g.spec as unknown as Spec) && <Connections of={g} />}
      <Traffic of={g.name} />
      {g.status.tree && <Where switches={(g.status.tree.nodes ?? []).map((n) => n.switch)} />}
      <Facts
        label={`Group ${g.name}`}
        of={[
          ['Proxy address', <code>{g.spec.proxyAddress}</code>],
          ['Designated QPN', g.spec.designatedQpn],
          [
            'Source',
            <>
              <code>{g.spec.source?.address ?? 'any host'}</code>
              {g.spec.source?.qpn ? `, QPN ${g.spec.source.qpn}` : ''}
            </>,
          ],
          ['Mode', g.spec.mode],
          ['Tree', g.spec.objective === 'cost' ? 'fewest links' : 'shortest paths'],
          ['Index', g.status.index],
          ['Epoch', g.status.epoch],
          ['SID', g.status.tree && <code>{g.status.tree.sid}</code>],
          ['Cost', g.status.tree?.cost],
          ['Evicts after', formatDuration(g.spec.evictAfter)],
          ['Evicted', g.status.evictedReceivers?.join(', ')],
          ...made(g),
        ]}
      />
    </>
  );
}

function Stalled({ of: g }: { of: Group }) {
  const now = useNow();
  return (g.status.stalledReceivers ?? []).map((r) => (
    <p key={r.address}>
      <Badge tone="fault">stalled</Badge> Receiver <code>{r.address}</code>, branch {r.branch} of{' '}
      <To path={['switches', r.switch]}>{r.switch}</To>, holds the group up for {formatAge(r.since, now)}.{' '}
      {r.valid ? `It has acknowledged up to PSN ${r.ackPsn}.` : 'It has acknowledged nothing.'}
    </p>
  ));
}

/** The applications that have connected by RDMA CM, or are about to: the source first. */
function Connections({ of: g }: { of: Group }) {
  const names = useHostNames(),
    reads = useMay('read');
  const columns: Column<Connection>[] = [
    {
      name: 'Application at',
      key: (c) => names.get(c.address) ?? c.address,
      cell: (c) => {
        const name = names.get(c.address);
        return name && reads ? <To path={['hosts', name]}>{name}</To> : (name ?? <code>{c.address}</code>);
      },
      width: 1.4,
    },
    coded('Address', (c) => c.address, 1.6),
    { name: 'Role', key: (c) => c.role, width: 0.8 },
    { name: 'Connected by', key: (c) => (c.listens ? 'the controller' : 'the application'), width: 1.1 },
    {
      name: 'State',
      key: (c) => connectionState(c.state).text,
      cell: (c) => {
        const state = connectionState(c.state);
        return (
          <Badge tone={state.tone} title={state.title}>
            {state.text}
          </Badge>
        );
      },
      width: 1.4,
    },
    shown('QPN', (c) => c.qpn, String, { number: true, width: 0.7 }),
    shown('PSN offset', (c) => (c.role === 'receiver' ? (c.psnOffset ?? 0) : undefined), String, {
      number: true,
      width: 0.8,
    }),
  ];
  return (
    <Section title="Connections" label={`Connections of ${g.name}`}>
      <Table
        rows={g.status.connections ?? []}
        columns={columns}
        id={(c) => `${c.address} ${c.role} ${c.qpn}`}
        label="Connections"
        empty="No application has connected."
      />
    </Section>
  );
}

/** What the group carried: from the controller's history, and what it keeps none of as this page has seen it. */
function Traffic({ of: name }: { of: string }) {
  const state = useQuery(ask.groupState(name));
  const reads = useMay('read');
  const branches = (state.data?.nodes ?? []).flatMap((n) => n.branches ?? []);
  const lags = branches.map((b) => lag(b, branches)).filter((x) => x !== undefined);
  const seen = useSeen(
    `group ${name}`,
    state.data && {
      time: state.dataUpdatedAt,
      values: {
        behind: lags.length > 0 ? Math.max(...lags) : null,
        late: lags.filter((x) => x > notable).length,
        naks: branches.filter((b) => b.nakPending).length,
      },
    },
  );
  const { times, values } = useMemo(() => columnsOf(seen, ['behind', 'late', 'naks']), [seen]);
  const [behind = [], late = [], naks = []] = values;
  const note = 'Seen since this page was opened, at most 15 minutes.';
  return (
    <Section title="Over time" label={`Traffic of ${name}`} charts>
      {reads && <History kind="group" name={name} absent="The controller has no history of it yet." />}
      <Chart
        label={`PSNs behind in ${name}`}
        title="slowest branch"
        times={times}
        series={[{ label: 'PSNs behind the furthest', unit: '1', values: behind }]}
        note={note}
      />
      <Chart
        label={`Branches of ${name}`}
        title="branches"
        times={times}
        series={[
          { label: `behind by more than ${notable} PSNs`, unit: '1', values: late },
          { label: 'that ask for packets again (NAK)', unit: '1', values: naks },
        ]}
        note={note}
      />
    </Section>
  );
}

/** PSNs that a branch may be behind without being named: some packets are always on their way. */
const notable = 256;

type Row = Schemas['BranchState'] & { switch: string; key: string; nodeAnswered: boolean; lag?: number };

function Tree({ group: g }: { group: Group }) {
  const tree = g.status.tree!;
  const state = useQuery(ask.groupState(g.name));
  const names = useHostNames(),
    reads = useMay('read');
  const drawing = useMemo(
    () => drawTree(tree, g.spec.source?.address ?? '', names, state.data),
    [tree, g.spec.source?.address, names, state.data],
  );
  const rows = useMemo((): Row[] => {
    const all = (state.data?.nodes ?? []).flatMap((n) => n.branches ?? []);
    return (state.data?.nodes ?? []).flatMap((n) =>
      (n.branches ?? []).map((b) => ({
        ...b,
        switch: n.switch,
        nodeAnswered: n.answered,
        key: `${n.switch} ${b.index}`,
        lag: lag(b, all),
      })),
    );
  }, [state.data]);
  const held = g.status.stalledReceivers;
  const { vertices, edges } = useMemo(() => {
    const stalled = new Set((held ?? []).map((r) => `host ${r.address}`));
    const byEnd = new Map(rows.map((r) => [r.child ? r.child : `host ${r.receiver}`, r]));
    return {
      vertices: drawing.vertices.map((v): Vertex => ({
        ...v,
        state: stalled.has(v.id) ? 'down' : v.host ? 'none' : 'up',
      })),
      edges: drawing.edges.map((e): Edge => {
        const behind = byEnd.get(e.to)?.lag ?? 0;
        return {
          id: `${e.from} ${e.to}`,
          from: e.from,
          to: e.to,
          strong: true,
          state: stalled.has(e.to) ? 'down' : behind > notable ? 'suspect' : 'up',
          label:
            e.state?.answered && e.state.valid ? `ACK ${e.state.ackPsn}${behind ? ` (−${behind})` : ''}` : undefined,
        };
      }),
    };
  }, [drawing, rows, held]);
  const stuck = stalledBranches(held ?? [], rows);
  const columns: Column<Row>[] = [
    linked('Switch', 'switches', (r) => r.switch),
    counted('Branch', (r) => r.index, 0.5),
    { name: 'To', key: (r) => r.child || (names.get(r.receiver ?? '') ?? r.receiver ?? ''), width: 1.4 },
    {
      name: 'State',
      key: (r) => (stuck.has(r.key) ? 'stalled' : r.answered ? (r.valid ? 'acknowledges' : 'silent') : 'no answer'),
      width: 2,
      cell: (r) =>
        !r.answered ? (
          <Badge tone="quiet">no answer</Badge>
        ) : stuck.has(r.key) ? (
          <StalledFor since={stuck.get(r.key)!.since} />
        ) : !r.valid ? (
          <Badge tone="quiet">nothing yet</Badge>
        ) : r.nakPending ? (
          <Badge tone="warning">asks for {r.ePsn} again</Badge>
        ) : r.rnrTimer !== undefined ? (
          <Badge tone="warning">not ready, timer {r.rnrTimer}</Badge>
        ) : (
          <Badge tone="ok">acknowledges</Badge>
        ),
    },
    { name: 'Acknowledged PSN', key: (r) => r.ackPsn, number: true, cell: (r) => (r.valid ? r.ackPsn : '–') },
    shown('Behind', (r) => r.lag, String, { number: true, width: 0.6 }),
    counted('MSN', (r) => r.msn, 0.6),
    counted('CNPs in window', (r) => r.cnpCount, 0.8),
  ];
  return (
    <>
      <Picture
        label={`Tree of group ${g.name}`}
        vertices={vertices}
        edges={edges}
        spots={drawing.spots}
        arrows
        height={Math.max(260, Math.min(700, 46 * drawing.vertices.filter((v) => v.host).length + 40))}
        choose={
          reads
            ? (id) => go(id.startsWith('host ') ? ['hosts', names.get(id.slice(5)) ?? id.slice(5)] : ['switches', id])
            : undefined
        }
      />
      <h2>Acknowledgements</h2>
      {state.data && !state.data.complete && (
        <p>
          <Badge tone="warning">Not every switch has answered.</Badge>
        </p>
      )}
      <Answer of={state} what="the state of the branches">
        {() => (
          <Table rows={rows} columns={columns} id={(r) => r.key} label="Branches" empty="The tree has no branch." />
        )}
      </Answer>
    </>
  );
}

/** The age of a stall, which alone of a row changes with each second. */
function StalledFor({ since }: { since: string }) {
  return <Badge tone="fault">stalled for {formatAge(since, useNow())}</Badge>;
}
