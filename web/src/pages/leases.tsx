import { useQuery } from '@tanstack/react-query';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { Badge, Conditions, type Tone } from '../components/badge';
import { counted, ending, linked, named, rated } from '../components/columns';
import { Facts } from '../components/facts';
import { Confirm, type Described } from '../components/form';
import { To } from '../components/link';
import { pagesOf } from '../components/resource';
import type { Column } from '../components/table';
import { Paths } from '../components/tried';
import * as field from '../domain/fields';
import { capital, formatBitRate, formatDuration, formatUntil } from '../domain/format';
import { useAssigned } from '../store/assigned';
import { useNow } from '../store/now';

type Lease = Schemas['PathLease'];

export const Leases = pagesOf<Lease>({
  collection: 'leases',
  title: 'Leases of paths',
  label: 'Leases',
  all: ask.leases,
  one: ask.lease,
  useColumns,
  empty:
    'There is no lease. A lease holds paths between NICs for a client: of each link a bandwidth, or the link alone.',
  state: (l) => (
    <span className="badges">
      <Phase of={l} />
      <Conditions of={l.status.conditions} />
    </span>
  ),
  actions: ({ name, spec, status }) => (
    <>
      {spec.heartbeat && status.phase !== 'Ended' && (
        <Confirm
          scope="tenant:write"
          on={name}
          label="Renew"
          title={`Renew lease ${name}?`}
          act={() => act.operate('leases', name, 'renew')}
        >
          <p>It goes on for {formatDuration(spec.heartbeat)} from now, unless it is renewed again.</p>
        </Confirm>
      )}
      {status.phase === 'Moving' && (
        <Confirm
          scope="tenant:write"
          on={name}
          label="It has moved"
          title={`Does the client of lease ${name} use the new paths?`}
          act={() => act.operate('leases', name, 'moved')}
        >
          <p>The former paths are free from then on: what is still sent on them is in the way of others.</p>
        </Confirm>
      )}
    </>
  ),
  Page: One,
  useForm: useLeaseForm,
});

const tones: Record<NonNullable<Lease['status']['phase']>, Tone> = {
  Active: 'ok',
  Moving: 'warning',
  Broken: 'fault',
  Ended: 'quiet',
};

function Phase({ of: l }: { of: Lease }) {
  return l.status.phase ? (
    <Badge tone={tones[l.status.phase]} title={l.status.reason}>
      {l.status.phase.toLowerCase()}
    </Badge>
  ) : (
    <Badge tone="quiet">not known</Badge>
  );
}

function useColumns(): Column<Lease>[] {
  const now = useNow();
  return [
    named('Lease', 'leases'),
    { name: 'State', key: (l) => l.status.phase ?? '', cell: (l) => <Phase of={l} />, width: 0.7 },
    { name: 'Between', key: (l) => l.spec.pairs.map((p) => `${p.from} to ${p.to}`).join(', '), width: 2 },
    counted('Paths', (l) => l.status.paths?.length ?? 0, 0.5),
    rated('Bandwidth', (l) => Number(l.spec.bandwidth ?? 0), 0.8, '–'),
    { name: 'Links', key: (l) => l.spec.sharing ?? '', width: 0.7 },
    linked('For job', 'jobs', (l) => l.spec.job, 0.8),
    ending('Ends', (l) => l.status.ends, now, 0.7),
  ];
}

function useLeaseForm(lease?: Lease): Described {
  const assigned = useAssigned();
  const reads = useMay('read');
  const hosts = useQuery({ ...ask.hosts, enabled: reads }),
    jobs = useQuery(ask.jobs);
  const terms = [
    field.suggest('job', 'For job', field.names(jobs.data), { hint: 'It is not in the way of this one.' }),
    field.text('duration', 'For how long', {
      hint: 'Such as 8h, from when it is granted. Empty: the longest of its project, or until it is deleted.',
    }),
    field.text('heartbeat', 'Heartbeat', {
      hint: 'It ends when nobody renews it for so long, such as 30s. Empty: it need not be renewed.',
    }),
  ];
  const fields = (name: string) => {
    const own = assigned.of(name)?.hosts.map((h) => h.label.split(':')[0]!);
    const end = (name: string, label: string) =>
      field.choice(name, label, own ?? field.names(hosts.data), { required: true });
    return [
      field.list('pairs', 'Pair', 'Between which NICs', [end('from', 'From'), end('to', 'To')], {
        hint: 'In one direction each.',
      }),
      field.number('paths', 'Paths of each pair', { hint: '1 to 16. Empty: 1.' }),
      field.choice(
        'disjointness',
        'They have not in common',
        ['link', { value: 'node', label: 'node: a switch between the leaves' }, 'plane'],
        { empty: 'none: they are other paths (default)' },
      ),
      field.choice('sharing', 'Links', [{ value: 'exclusive', label: 'exclusive: no other lease has any of them' }], {
        empty: 'shared with other leases (default)',
      }),
      field.number('bandwidth', 'Bandwidth', { hint: 'bit/s of each path. Empty: none.' }),
      field.number('priority', 'Priority', {
        hint: 'It takes links from leases of lower ones. At most what the project has. Empty: 0.',
      }),
      ...terms,
    ];
  };
  return {
    first: { pairs: [{}] },
    fields: lease ? terms : fields,
    within: assigned.within,
    children: lease && <p className="quiet">Its paths stay as they are: other paths are another lease.</p>,
  };
}

function One({ of: l }: { of: Lease }) {
  const now = useNow();
  return (
    <>
      {l.status.reason && <p>{capital(l.status.reason)}.</p>}
      <h2>Its paths</h2>
      {l.status.paths?.length ? <Paths of={l.status.paths} /> : <p className="state">It holds no path.</p>}
      {(l.status.former?.length ?? 0) > 0 && (
        <>
          <h2>Its former paths</h2>
          <p>They are held until the client says that it has moved.</p>
          <Paths of={l.status.former!} />
        </>
      )}
      <h2>Its terms</h2>
      <Facts
        label={`Lease ${l.name}`}
        of={[
          ['Paths of each pair', l.spec.paths ?? 1],
          ['Not in common', l.spec.disjointness],
          ['Links', l.spec.sharing],
          ['Bandwidth of each', l.spec.bandwidth ? formatBitRate(Number(l.spec.bandwidth)) : undefined],
          ['Priority', l.spec.priority],
          ['Took links from', l.status.tookFrom?.join(', ') ?? (l.status.took && `${l.status.took} leases`)],
          ['For job', l.spec.job && <To path={['jobs', l.spec.job]}>{l.spec.job}</To>],
          ['For how long', l.spec.duration && formatDuration(l.spec.duration)],
          ['Heartbeat', l.spec.heartbeat && formatDuration(l.spec.heartbeat)],
          ['Ends', l.status.ends && formatUntil(l.status.ends, now)],
          ['Granted', l.status.granted],
          ['Version', l.version],
        ]}
      />
    </>
  );
}
