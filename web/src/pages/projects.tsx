import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { chooseProject, may, useMay, useProject, useWholeSession } from '../api/session';
import { Badge } from '../components/badge';
import { coded, counted, named } from '../components/columns';
import { Facts, made } from '../components/facts';
import type { Described } from '../components/form';
import { Resources } from '../components/link';
import { pagesOf } from '../components/resource';
import { Table, type Column } from '../components/table';
import * as field from '../domain/fields';
import { formatBitRate, formatCount, formatDuration } from '../domain/format';
import { quotas, type Quota } from '../domain/project';

type Project = Schemas['Project'];

type Amount = number | bigint;
const of = (used: Amount, limit: Amount | undefined, show: (n: Amount) => string = String) =>
  limit ? `${show(used)} of ${show(limit)}` : show(used);

/** How much of a quota each project uses. */
const used = (name: string, what: 'groups' | 'receivers' | 'tenants' | 'policies', width = 0.7): Column<Project> => ({
  name,
  key: (p) => p.status.used[what],
  cell: (p) => of(p.status.used[what], p.spec.quotas?.[what]),
  number: true,
  width,
});

export const Projects = pagesOf<Project>({
  collection: 'projects',
  title: 'Projects',
  all: ask.projects,
  one: ask.project,
  useColumns: () => [
    named('Project', 'projects'),
    counted('Members', (p) => p.spec.members?.length ?? 0, 0.6),
    counted('Hosts', (p) => p.spec.hosts?.length ?? 0, 0.5),
    counted('Ports', (p) => p.spec.ports?.length ?? 0, 0.5),
    used('Groups', 'groups'),
    used('Receivers', 'receivers'),
    used('Tenants', 'tenants'),
    used('PFC policies', 'policies', 0.8),
    {
      name: 'Bandwidth',
      key: (p) => Number(p.status.used.bandwidth),
      cell: (p) => of(p.status.used.bandwidth, p.spec.bandwidth, (n) => formatBitRate(Number(n))),
      number: true,
      width: 1.2,
    },
  ],
  empty:
    'There is no project. An administrator assigns hosts, ports, addresses and slices of the network to the members of a project.',
  actions: (p) => <Act name={p.name} />,
  Page: One,
  useForm: useProjectForm,
});

function One({ of: p }: { of: Project }) {
  return (
    <>
      <Assets of={p} />
      <h2>Members</h2>
      <Table
        rows={p.spec.members ?? []}
        id={(m) => `${m.way} ${m.name ?? ''} ${m.claim ?? ''} ${m.value ?? ''}`}
        label="Members"
        empty="It has no members: administrators alone use it."
        columns={[
          { name: 'Member', key: who, width: 2 },
          { name: 'Known by', key: (m) => m.way },
          { name: 'Role', key: (m) => m.role },
        ]}
      />
      <Facts
        label={`Project ${p.name}`}
        of={[
          ['Isolated', p.spec.isolated && 'switches drop what its hosts send to others, and what others send to them'],
          ['Exclusive leases', p.spec.exclusiveLeases && 'its leases may have links for themselves'],
          ['Priority of leases', p.spec.leasePriority && `at most ${p.spec.leasePriority}`],
          ['Longest lease', p.spec.quotas?.leaseDuration && formatDuration(p.spec.quotas.leaseDuration)],
          ['Requests', p.spec.quotas?.requests && `at most ${p.spec.quotas.requests} a second of all members`],
          ...made(p),
        ]}
      />
    </>
  );
}

const who = (m: Schemas['ProjectMember']) => (m.claim ? `${m.claim} = ${m.value}` : (m.name ?? ''));

/** A button to act as a member of a project alone, or no longer. */
function Act({ name }: { name: string }) {
  const chosen = useProject(),
    whole = useWholeSession();
  if (!may(whole, 'read') && (whole?.projects?.length ?? 0) < 2) return null;
  return (
    <button type="button" onClick={() => chooseProject(chosen === name ? '' : name)}>
      {chosen === name ? 'Act in all projects' : 'Act in this project alone'}
    </button>
  );
}

/** What a project has, uses, and has left. */
export function Assets({ of: p }: { of: Project }) {
  const all = quotas(p);
  const amount = (q: Quota, n: number) => (q.unit === 'bit/s' ? formatBitRate(n) : formatCount(n));
  const things = p.status.things ?? [];
  return (
    <>
      <section className="cards" aria-label={`Quotas of ${p.name}`}>
        {all.map((q) => (
          <div key={q.what} className={`card${q.left === 0 ? ' less' : ''}`}>
            <span className="title">{q.what}</span>
            <span className="figure">
              {q.limit === undefined ? amount(q, q.used) : `${amount(q, q.used)} / ${amount(q, q.limit)}`}
            </span>
            <span className="quiet">
              {q.limit === undefined ? 'no limit' : q.left === 0 ? '▲ none left' : `${amount(q, q.left ?? 0)} left`}
            </span>
          </div>
        ))}
      </section>
      <h2>What it has</h2>
      <Table<Schemas['ProjectThing']>
        rows={things}
        id={(t) => `${t.kind} ${t.name}`}
        label={`What ${p.name} has`}
        empty="Nothing is assigned to it: an administrator does that."
        columns={[
          { name: 'Kind', key: (t) => kinds[t.kind] },
          { name: 'Name', key: (t) => t.name, width: 1.4 },
          coded('Address', (t) => t.address, 1.3),
          { name: 'At', key: (t) => (t.ports ?? []).map((x) => `${x.switch}/${x.port}`).join(', '), width: 1 },
          { name: 'Others', key: (t) => (t.shared ? 'may have it too' : ''), width: 0.9 },
          {
            name: 'Used by',
            key: (t) => (t.usedBy ?? []).join(', '),
            width: 2,
            cell: (t) => (t.usedBy?.length ? <Resources of={t.usedBy} /> : <Badge tone="quiet">free</Badge>),
          },
        ]}
      />
      {(p.status.srv6Policies?.length ?? 0) > 0 && (
        <p>SRv6 policies between its ports: {p.status.srv6Policies!.join(', ')}.</p>
      )}
    </>
  );
}

const kinds: Record<Schemas['ProjectThing']['kind'], string> = {
  host: 'host',
  port: 'port',
  proxy: 'proxy addresses',
  designatedQpn: 'designated QPNs',
  slice: 'slice',
  priority: 'priority',
};

const ways: field.Choice[] = [
  { value: 'user' },
  { value: 'token', label: 'token, by its id' },
  { value: 'certificate' },
  { value: 'oidc', label: 'OpenID Connect' },
];

function useProjectForm(): Described {
  const reads = useMay('read');
  const topology = useQuery({ ...ask.topology, enabled: reads }),
    switches = useQuery({ ...ask.switches, enabled: reads });
  const hosts = (topology.data?.hosts ?? []).map((h) => ({
    value: h.name,
    label: `${h.name}: ${h.address} at ${h.switch}`,
  }));
  const nodes = field.names(switches.data?.filter((s) => s.managed));
  const shared = field.flag('shared', 'shared');
  const needed = (name: string, label: string) => field.number(name, label, { required: true });
  const fields = [
    field.list(
      'members',
      'Member',
      'Members',
      [
        field.choice('way', 'Known by', ways, { required: true }),
        field.text('name', 'Name'),
        field.text('claim', 'Claim'),
        field.text('value', 'Value'),
        field.choice('role', 'Role', ['editor', 'viewer'], { required: true }),
      ],
      {
        first: () => ({ way: 'user', role: 'editor' }),
        hint: 'A name, or for OpenID Connect a claim and its value.',
      },
    ),
    field.list('hosts', 'Host', 'Hosts', [field.choice('name', 'Host', hosts, { required: true }), shared], {
      first: () => ({ name: hosts[0]?.value ?? '' }),
      hint: 'Their queue pairs are for its groups. What is shared, other projects may have too.',
      pick: { field: 'name', from: hosts, label: 'Several hosts' },
    }),
    field.list(
      'ports',
      'Port',
      'Ports',
      [
        field.choice('switch', 'Switch', nodes, { required: true }),
        field.number('port', 'Port', { required: true, at: 'switch' }),
        shared,
      ],
      { first: () => ({ switch: nodes[0]?.value ?? '' }), hint: 'Sites of its tenants.' },
    ),
    field.list('proxies', 'Prefix', 'Proxy addresses', [field.text('prefix', 'Prefix', { required: true }), shared]),
    field.list('qpns', 'Range', 'Designated QPNs', [needed('first', 'First'), needed('last', 'Last'), shared]),
    field.list('slices', 'Slice', 'Slices', [needed('slice', 'Slice'), shared]),
    field.list('priorities', 'Priority', 'Priorities', [needed('priority', 'Priority'), shared]),
    field.number('bandwidth', 'Bandwidth', { hint: 'bit/s of all its tenants together. Empty: no limit.' }),
    field.flag('isolated', 'isolated', {
      hint: 'Switches keep its hosts apart from all others, but for what is shared.',
    }),
    field.group('quotas', 'Quotas, empty: no limit', [
      field.number('groups', 'Multicast groups'),
      field.number('receivers', 'Receivers'),
      field.number('tenants', 'Tenants'),
      field.number('policies', 'PFC policies'),
      field.number('jobs', 'Jobs'),
      field.number('ranks', 'Ranks of jobs'),
      field.number('leases', 'Leases'),
      field.number('leaseLinks', 'Links of leases'),
      field.number('leaseBandwidth', 'Bandwidth of leases', { hint: 'bit/s of all paths together.' }),
      field.text('leaseDuration', 'Longest lease', { hint: 'Such as 8h. Empty: 24h.' }),
      field.number('requests', 'Requests a second'),
    ]),
    field.flag('exclusiveLeases', 'exclusive leases', { hint: 'Its leases may have links for themselves.' }),
    field.number('leasePriority', 'Highest priority of leases', {
      hint: 'Its leases take links from leases of lower priorities. Empty: 0.',
    }),
  ];
  return { fields };
}
