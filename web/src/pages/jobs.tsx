import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { Badge, shapes } from '../components/badge';
import { counted, ending, named, shown } from '../components/columns';
import { Facts, Grid, made, Section } from '../components/facts';
import { Events } from '../components/events';
import { Confirm, type Described } from '../components/form';
import { History as Measured } from '../components/history';
import { JobFabric, Lanes } from '../components/jobfabric';
import { Names, To } from '../components/link';
import { pagesOf } from '../components/resource';
import { Answer, Empty } from '../components/states';
import type { Column } from '../components/table';
import * as field from '../domain/fields';
import { formatAge, formatCount, formatDuration, formatShare } from '../domain/format';
import { blockerPlace, meaning, patterns, trimmed, verdict } from '../domain/job';
import { plain } from '../domain/network';
import { useAssigned } from '../store/assigned';
import { useLive } from '../store/live';
import { useNow } from '../store/now';
import { usePast } from '../store/past';

type Job = Schemas['Job'];

export const Jobs = pagesOf<Job>({
  collection: 'jobs',
  title: 'Jobs',
  all: ask.jobs,
  one: ask.job,
  useColumns,
  empty:
    'There is no job. A job says where its ranks are and who talks to whom; the controller says whether the fabric is ready for it.',
  state: (j) => <Badge tone="quiet">{j.status.phase?.toLowerCase()}</Badge>,
  actions: ({ name, spec, status }) =>
    status.ends && (
      <Confirm
        scope="tenant:write"
        on={name}
        label="Renew"
        title={`Renew the lease of job ${name}?`}
        act={() => act.operate('jobs', name, 'renew')}
      >
        <p>It goes on for {formatDuration(spec.lease)} from now, unless it is renewed again.</p>
      </Confirm>
    ),
  Page: One,
  useForm: useJobForm,
});

function Verdict({ of: j }: { of: Job }) {
  const { then } = usePast();
  // What the controller keeps of the past is which jobs had something in their way.
  if (then)
    return then.state('job', j.name) ? <Badge tone="fault">NO-GO then</Badge> : <Badge tone="ok">GO then</Badge>;
  const v = verdict(j);
  return <Badge tone={v.tone}>{v.text}</Badge>;
}

function useColumns(): Column<Job>[] {
  const now = useNow();
  return [
    named('Job', 'jobs'),
    { name: 'Fabric', key: (j) => verdict(j).text, cell: (j) => <Verdict of={j} />, width: 1.2 },
    { name: 'Phase', key: (j) => j.status.phase ?? '', width: 0.7 },
    counted('Ranks', (j) => j.status.ranks, 0.5),
    counted('Racks', (j) => j.status.follows.racks, 0.5),
    shown('Paths left', (j) => j.status.left, formatShare, { number: true, width: 0.7 }),
    counted('Priority', (j) => j.spec.priority ?? 0, 0.6),
    ending('Lease ends', (j) => j.status.ends, now, 0.7),
  ];
}

function useJobForm(job?: Job): Described {
  const assigned = useAssigned();
  const listed = (job?.spec.ranks?.length ?? 0) > 0;
  const fields = (name: string) => {
    const own = assigned.of(job?.name ?? name)?.hosts.map((h) => h.label.split(':')[0]!);
    const from = !own ? '' : own.length > 0 ? ` From ${own.join(', ')}.` : ' No project of yours has any.';
    return [
      ...(listed
        ? []
        : [
            field.text('hosts', 'Hosts', {
              required: true,
              hint: `In the order of the ranks, as Slurm writes them: n[001-128],m7.${from}`,
            }),
            field.number('nicsPerHost', 'NICs a host', { hint: 'Ranks on each host. Empty: 1.' }),
          ]),
      field.text('nic', 'Name of a NIC', {
        hint: '{host} is the host, {nic} the number of the NIC from 0, {rail} from 1. Empty: {host}, or {host}-{nic} for several.',
      }),
      field.group(
        'layout',
        'Layout',
        [
          field.number('tp', 'Tensor (tp)'),
          field.number('cp', 'Context (cp)'),
          field.number('ep', 'Expert (ep)'),
          field.number('dp', 'Data (dp)'),
          field.number('pp', 'Pipeline (pp)'),
          field.text('order', 'Order', { hint: 'Empty: tp-cp-ep-dp-pp.' }),
        ],
        { hint: 'Sizes of the parallel groups: tp × cp × dp × pp is the number of ranks. Or communicators.' },
      ),
      field.list(
        'communicators',
        'Communicator',
        'Communicators',
        [
          field.text('name', 'Name', { required: true }),
          field.text('ranks', 'Ranks', { required: true, hint: '0-7,16, or 0-56:8 for every eighth.' }),
          field.choice('pattern', 'Pattern', patterns, { required: true }),
        ],
        {
          hint: 'In place of a layout: groups of ranks, and how each talks.',
          first: () => ({ name: 'all', ranks: '', pattern: 'ring' }),
        },
      ),
      field.choice('state', 'State', ['placed', 'running', 'done'], { empty: 'placed (default)' }),
      field.flag('exclusive', 'Its NICs are in no other job'),
      field.text('lease', 'Lease', {
        hint: 'The job is done when nobody has renewed it for so long, such as 10m. Empty: it has none.',
      }),
      field.number('priority', 'Priority', { hint: '0 to 1000, for those who read it.' }),
    ];
  };
  return {
    fields,
    within: assigned.within,
    sent: trimmed,
    children: listed && <p className="quiet">Its ranks are listed one by one; weft edit changes them.</p>,
  };
}

function One({ of: j }: { of: Job }) {
  const { name } = j;
  const reads = useMay('read'),
    { then } = usePast();
  const over = j.status.phase === 'Draining' || j.status.phase === 'Done';
  return (
    <>
      {then ? (
        <p className={`verdict ${then.state('job', name) ? 'fault' : 'ok'}`}>
          <Verdict of={j} />
        </p>
      ) : over ? (
        <Empty>The job has ended.</Empty>
      ) : (
        <Readiness name={name} />
      )}
      {!over && <JobFabric name={name} />}
      <Lanes job={name} />
      {!over && <Racks name={name} />}
      {!over && reads && <Traffic job={j} />}
      <History name={name} />
      <h2>What follows from it</h2>
      <Facts
        label={`Job ${name}`}
        of={[
          ['Phase', j.status.phase],
          ['Hosts', j.spec.hosts && <code>{j.spec.hosts}</code>],
          ['Ranks', formatCount(j.status.ranks)],
          ['Pairs of NICs that talk', formatCount(j.status.follows.pairs)],
          ['Pairs of racks that talk', formatCount(j.status.follows.rackPairs)],
          ['Communicators', j.status.follows.communicators],
          ['A NIC sends to', range(j.status.follows.sendPeers)],
          ['A NIC receives from', range(j.status.follows.receivePeers)],
          ['NICs that the network lacks', j.status.follows.unattached?.join(', ')],
          ['Exclusive', j.spec.exclusive && 'yes'],
          ['Lease', j.spec.lease && formatDuration(j.spec.lease)],
          ['Priority', j.spec.priority],
          ...made(j),
        ]}
      />
    </>
  );
}

const range = (p: Schemas['JobPeers']) => (p.least === p.most ? `${p.most} others` : `${p.least} to ${p.most} others`);

/** GO or NO-GO with its causes, as the controller finds it now. */
function Readiness({ name }: { name: string }) {
  const readiness = useQuery(ask.readiness(name));
  const now = useNow();
  return (
    <Answer of={readiness} what="its readiness">
      {(r) => (
        <>
          <p className={`verdict ${r.go ? 'ok' : 'fault'}`} role="status">
            <strong>{r.go ? '● GO' : '✕ NO-GO'}</strong>{' '}
            {r.go
              ? 'All that the job depends on is known to be good.'
              : `${r.blockers.length} ${r.blockers.length === 1 ? 'cause is' : 'causes are'} in the way.`}
            {r.left !== undefined &&
              (r.left >= 1
                ? ' Every pair of racks has all of its paths.'
                : ` Every pair of racks has ${formatShare(r.left)} of its paths left, or more.`)}
          </p>
          {r.blockers.map((b) => {
            const place = blockerPlace(b);
            const title = [b.kind, b.name ?? b.object].filter(Boolean).join(' ');
            return (
              <section key={title} className="blocker" aria-label={title}>
                <h3>
                  <Badge tone={b.state === 'bad' ? 'fault' : 'warning'}>
                    {place ? (
                      <To path={place.path} query={place.query}>
                        {title}
                      </To>
                    ) : (
                      title
                    )}
                  </Badge>{' '}
                  <span className="quiet">
                    {b.state === 'bad' ? 'bad' : 'not known'} for {formatAge(b.since, now)}; {formatCount(b.ranks)}{' '}
                    {b.ranks === 1 ? 'rank' : 'ranks'} behind it
                    {b.nics?.length ? `: ${b.nics.join(', ')}${b.nics.length < b.ranks ? '…' : ''}` : ''}
                  </span>
                </h3>
                <p>
                  {plain(b.why)} {meaning(b)}
                </p>
                <p>It would take: {b.want}.</p>
                {(b.also?.length ?? 0) > 0 && (
                  <details>
                    <summary>What follows from it</summary>
                    <ul>
                      {b.also!.map((a) => (
                        <li key={a}>{a}</li>
                      ))}
                    </ul>
                  </details>
                )}
              </section>
            );
          })}
          <Facts
            label="Checks"
            of={r.checks.map((c) => [
              c.name,
              <Badge tone={c.good === c.of && c.of > 0 ? 'ok' : 'fault'}>
                {formatCount(c.good)} of {formatCount(c.of)}
              </Badge>,
            ])}
          />
        </>
      )}
    </Answer>
  );
}

/** Racks that are shown before the rest is asked for. */
const mostRacks = 64;

const rankTones = { good: 'ok', bad: 'fault', unknown: 'quiet' } as const;

function Racks({ name }: { name: string }) {
  const racks = useQuery(ask.jobRacks(name));
  const [all, setAll] = useState(false);
  const reads = useMay('read');
  return (
    <>
      <h2>Ranks by rack</h2>
      <Answer of={racks} what="its ranks">
        {(r) => (
          <>
            <p className="legend">
              <Badge tone="ok">good</Badge> <Badge tone="fault">bad</Badge> <Badge tone="quiet">not known</Badge>
            </p>
            <Grid
              className="racks"
              label="Ranks by rack"
              heads={['Rack', 'Good', 'Paths left', 'Ranks']}
              of={all ? r.racks : r.racks.slice(0, mostRacks)}
              id={(k) => k.name}
              cells={(k) => [
                k.switches?.length && reads ? <Names of={k.switches} page="switches" /> : k.name || 'no rack',
                `${k.good} of ${k.ranks}`,
                k.left === undefined ? '–' : formatShare(k.left),
                <span className="ranks">
                  {(k.nics ?? []).map((n) => (
                    <To key={n.rank} path={['hosts', n.name]} className={`rank ${rankTones[n.state]}`}>
                      <span role="img" title={rankText(n)} aria-label={rankText(n)}>
                        {shapes[rankTones[n.state]]} {n.rank}
                      </span>
                    </To>
                  ))}
                </span>,
              ]}
            />
            {!all && r.racks.length > mostRacks && (
              <button type="button" onClick={() => setAll(true)}>
                All {formatCount(r.racks.length)} racks
              </button>
            )}
          </>
        )}
      </Answer>
    </>
  );
}

const rankText = (n: Schemas['JobNIC']) =>
  `Rank ${n.rank}, ${n.name}: ${n.state === 'unknown' ? 'not known' : n.state}, ${n.up} of ${n.ports} ports up${n.why ? `; ${n.why}` : ''}`;

/** What its NICs send and receive, and its groups carry. */
function Traffic({ job }: { job: Schemas['Job'] }) {
  const groups = [...new Set((job.status.groups ?? []).flatMap((g) => (g.group ? [g.group] : [])))];
  return (
    <Section title="Traffic" label={`Traffic of ${job.name}`}>
      <div className="charts">
        <Measured kind="fabric" name={`job/${job.name}`} absent="No switch reports what the ports of its NICs carry." />
        {groups.slice(0, mostGroups).map((g) => (
          <Measured key={g} kind="group" name={g} absent={`The controller has no history of group ${g} yet.`} />
        ))}
      </div>
      {groups.length > mostGroups && (
        <p className="quiet">
          It has {groups.length - mostGroups} more groups: see <a href="#/groups">Groups</a>.
        </p>
      )}
    </Section>
  );
}

const mostGroups = 4;

/** What the job lost and when: its events. */
function History({ name }: { name: string }) {
  const live = useLive();
  const rows = useMemo(
    () => live.events.filter((e) => e.type.startsWith('job.') && e.object === name).toReversed(),
    [live.events, name],
  );
  return (
    <>
      <h2>History</h2>
      <Events of={rows} label={`History of ${name}`} empty="No event of it is kept." />
    </>
  );
}
