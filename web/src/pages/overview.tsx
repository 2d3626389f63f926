import { useQueries, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { silence, unsilence } from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay, useSession } from '../api/session';
import { Alive } from '../components/alive';
import { Badge, type Tone } from '../components/badge';
import { Choose } from '../components/choose';
import { counted, leading, rated, shown, toned } from '../components/columns';
import { Events } from '../components/events';
import { Heading, Section, Time } from '../components/facts';
import { Confirm } from '../components/form';
import { History } from '../components/history';
import { To } from '../components/link';
import { Replay } from '../components/replay';
import { Empty, Failures, Loading } from '../components/states';
import { Table } from '../components/table';
import { affected, hurt, type Cause, type Severity } from '../domain/causes';
import { countOf, formatAge, formatShare, formatTime } from '../domain/format';
import { formatValue } from '../domain/history';
import type { Then } from '../domain/past';
import { condition } from '../domain/network';
import type { PageName } from '../domain/pages';
import { pageOf } from '../domain/place';
import { useLive } from '../store/live';
import { useNow } from '../store/now';
import { useMoment, usePast } from '../store/past';
import { Assets } from './projects';

const tones: Record<Severity, Tone> = { fault: 'fault', warning: 'warning', work: 'work' };

/** The state of the network for who may see it, and for others that of their projects. */
export function Overview() {
  return useMay('read') ? <Network /> : <Own />;
}

function Own() {
  const session = useSession(),
    member = useMay('tenant:read');
  const enabled = { enabled: member };
  const projects = useQuery({ ...ask.projects, ...enabled }),
    causes = useQuery({ ...ask.causes, ...enabled });
  const all = causes.data ?? [];
  if (!member)
    return (
      <>
        <h1>Overview</h1>
        <Empty>{session?.name} is a member of no project: an administrator assigns that.</Empty>
      </>
    );
  const asked = [projects, causes];
  return (
    <>
      <h1>Overview</h1>
      <Failures of={asked} />
      <Verdict of={all} asked={asked} what="your projects" />
      <Causes of={all} />
      {projects.data?.length === 0 && (
        <Empty>
          There is no project {(session?.projects ?? []).map((p) => p.name).join(', ')} yet: an administrator makes it,
          and assigns what it may use.
        </Empty>
      )}
      {projects.data?.map((p) => (
        <section key={p.name} aria-label={`Project ${p.name}`}>
          <h2>
            <To path={['projects', p.name]}>Project {p.name}</To>
          </h2>
          <Assets of={p} />
        </section>
      ))}
    </>
  );
}

function Causes({ of }: { of: readonly Cause[] }) {
  if (of.length === 0) return null;
  return (
    <Section title="Causes">
      <ul className="causes">
        {of.map((c) => (
          <CauseItem key={c.id} of={c} />
        ))}
      </ul>
    </Section>
  );
}

/** The network on a whole screen, for those who look at it from afar: what is wrong, what moves, and what is lost. */
export function Wall() {
  const causes = useQuery(ask.causes),
    { then } = usePast(),
    at = useMoment();
  return (
    <>
      <Heading title="Weft">
        <To path={['overview']}>Back to the pages</To>
      </Heading>
      {at !== undefined && <Replay />}
      {then ? <Was of={then} /> : <Verdict of={causes.data ?? []} asked={[causes]} what="the network" />}
      <Alive height={Math.max(280, window.innerHeight - 520)} />
      <div className="charts">
        <History kind="fabric" name="all" absent="No switch reports what its ports carry." />
      </div>
    </>
  );
}

/** What the network is well but for. */
function exceptions(drains: number, silent: number): string {
  const parts = [drains > 0 && countOf(drains, 'drain'), silent > 0 && countOf(silent, 'silent cause')].filter(Boolean);
  return parts.length > 0 ? ` but for ${parts.join(' and ')}` : '';
}

interface VerdictProps {
  of: Cause[];
  /** What is asked to know it. */
  asked: readonly Pick<UseQueryResult, 'isPending' | 'isError'>[];
  what: string;
}

function Verdict({ of: all, asked, what }: VerdictProps) {
  const live = useLive(),
    now = useNow(),
    loading = asked.some((q) => q.isPending),
    failed = asked.some((q) => q.isError);
  const silent = all.filter((c) => c.silence),
    faults = all.filter((c) => c.severity !== 'work' && !c.silence),
    drains = all.length - silent.length - faults.length;
  const verdict =
    live.state === 'lost' || faults.some((c) => c.severity === 'fault')
      ? 'fault'
      : loading || failed || faults.length > 0
        ? ''
        : 'ok';
  return (
    <section className={`verdict ${verdict}`} aria-live="polite">
      {live.state === 'lost' ? (
        <p>
          <Badge tone="fault">
            Not known: the controller was last heard of at {formatTime(new Date(live.since).toISOString(), now)}
          </Badge>
          <span className="quiet"> What is below was so then.</span>
        </p>
      ) : loading && !failed ? (
        <Loading what={`the state of ${what}`} />
      ) : faults.length > 0 ? (
        <>
          <p>
            <Badge tone={tones[faults[0]!.severity]}>{faults[0]!.what}</Badge>
            {faults.length > 1 && ` and ${countOf(faults.length - 1, 'more cause')}`}
          </p>
          <p className="quiet">
            {faults[0]!.since && (
              <>
                {begun(faults[0]!, now)
                  ? `For ${formatAge(faults[0]!.since, now)}, since ${formatTime(faults[0]!.since, now)}`
                  : `From ${formatTime(faults[0]!.since, now)} on`}
                .{' '}
              </>
            )}
            <Hurt of={faults} />
          </p>
        </>
      ) : failed ? null : (
        <p>
          <Badge tone="ok">All is well</Badge>
          {exceptions(drains, silent.length)}
        </p>
      )}
    </section>
  );
}

/** Whether a cause is one already: what a maintenance will take is known before. */
const begun = (of: Cause, now: number) => of.kind !== 'maintenance' || Date.parse(of.since!) <= now;

/** Whom causes hurt: jobs by name first, then what else by number. */
function Hurt({ of }: { of: readonly Cause[] }) {
  const { named, jobs, more } = hurt(of);
  if (jobs.length === 0 && !named) return <>Nothing that carries traffic is known to suffer from it.</>;
  return (
    <>
      It hurts{' '}
      {jobs.map((j, i) => (
        <span key={j.object}>
          {i > 0 && ', '}
          <strong>
            <To {...pageOf(j.object)}>{j.name}</To>
          </strong>
        </span>
      ))}
      {more && ', more jobs'}
      {jobs.length > 0 && named && ' and '}
      {named}.
    </>
  );
}

/** What was wrong at the moment that is shown. */
function Was({ of }: { of: Then }) {
  const at = useMoment()!,
    now = useNow();
  const order: (string | undefined)[] = ['fault', 'warning', 'work'];
  const all = of.all('cause').sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const wrong = all.filter((c) => c.state !== 'work');
  return (
    <section className={`verdict ${all[0]?.state === 'fault' ? 'fault' : wrong.length > 0 ? '' : 'ok'}`}>
      <p>
        <Badge tone={(wrong[0]?.state as Tone | undefined) ?? 'ok'}>
          {wrong[0]?.what ?? 'All was well'}
          {wrong.length > 1 && ` and ${countOf(wrong.length - 1, 'more cause')}`}
        </Badge>{' '}
        <span className="quiet">at {formatTime(new Date(1000 * at).toISOString(), now)}</span>
      </p>
      {all.length > 1 && (
        <ul aria-label="Causes then">
          {all.map((c) => (
            <li key={c.id}>
              <Badge tone={c.state as Tone}>{c.what}</Badge>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Network() {
  const asked = useQueries({
    queries: [
      ask.causes,
      ask.switches,
      ask.peers,
      ask.links,
      ask.planes,
      ask.hosts,
      ask.groups,
      ask.tenants,
      ask.pfcPolicies,
      ask.fabric,
      ask.balance,
    ],
  });
  const [causes, switches, peers, links, planes, hosts, groups, tenants, pfcPolicies, fabric, balance] = asked;
  const live = useLive(),
    { then } = usePast();
  const all = causes.data ?? [];
  // A profile with EVs denied is not whole, though it has as many as it needs.
  const denied = (fabric.data?.links.bad ?? 0) > 0;
  const profilesOf = useQuery({ ...ask.profiles, enabled: denied });
  const count = <T,>(of: T[] | undefined, good: (x: T) => boolean) =>
    of && { good: of.filter(good).length, all: of.length };
  const well = ({ status: { conditions: c } }: { status: { conditions?: Schemas['GroupCondition'][] | null } }) =>
    !condition(c, 'Degraded')?.status &&
    condition(c, 'Accepted')?.status !== false &&
    condition(c, 'Programmed')?.status !== false;
  const managed = switches.data?.filter((s) => s.managed),
    up = (l: Schemas['FabricLink']) =>
      l.status.phase === 'up' && !l.status.denied && l.status.fromPort !== 'down' && l.status.toPort !== 'down',
    f = fabric.data;
  const cards: [title: string, page: PageName, says: string, n: { good: number; all: number } | undefined][] = [
    ['Switches', 'switches', 'connected and programmed', count(managed, (s) => s.connected && s.synced)],
    ['Link directions', 'fabric', 'up', count(links.data, up)],
    ['BGP-LS peers', 'peers', 'established', count(peers.data, (p) => p.state === 'established')],
    f
      ? ['Hosts', 'hosts', 'hold what they should', { good: f.hosts.current, all: f.hosts.all }]
      : ['Hosts', 'hosts', 'with a usable port', count(hosts.data, (h) => h.ports.some((p) => p.status.usable))],
    ...(f ? [['EV profiles', 'evs', 'whole', whole(f, profilesOf.data)] satisfies (typeof cards)[number]] : []),
    ['Multicast groups', 'groups', 'well', count(groups.data, well)],
    ['Tenants', 'pfc', 'well', count(tenants.data, well)],
    ['PFC policies', 'pfc', 'well', count(pfcPolicies.data, well)],
  ];
  // The leaf of a plane that uses its links least evenly.
  const uneven = (plane: number) =>
    balance.data
      ?.filter((b) => b.plane === plane && b.index > 0)
      .reduce<PlaneBalance | undefined>((a, b) => (a && a.index >= b.index ? a : b), undefined);
  return (
    <>
      <Heading title="Overview">
        <To path={['wall']}>On the whole screen</To>
      </Heading>
      <Failures of={asked} />
      {then ? (
        <Was of={then} />
      ) : (
        <>
          <Verdict of={all} asked={asked} what="the network" />
          <Causes of={all} />
        </>
      )}
      <Alive height={360} />
      <section className="cards" aria-label="Counts">
        {cards.map(([title, page, says, n]) => (
          <To key={title} path={[page]} className={`card${n && n.good < n.all ? ' less' : ''}`}>
            <span className="title">{title}</span>
            <span className="figure">{n ? (n.good === n.all ? n.all : `${n.good} / ${n.all}`) : '…'}</span>
            {n?.all !== 0 && <span className="quiet">{says}</span>}
          </To>
        ))}
      </section>
      <Section title="Traffic" label="Traffic of the network" charts>
        <History kind="fabric" name="all" absent="No switch reports what its ports carry." />
      </Section>
      {planes.data && planes.data.length > 0 && (
        <Section title="Planes">
          <Table<Schemas['FabricPlane']>
            rows={planes.data}
            id={(p) => String(p.plane)}
            label="Planes"
            columns={[
              leading(
                'Plane',
                (p) => `Plane ${p.plane}`,
                (p) => ({ path: ['fabric'], query: { plane: String(p.plane) } }),
              ),
              toned('Wanted', (p) => [p.spec.admin === 'up' ? 'ok' : 'work', p.spec.admin]),
              counted('Link directions', (p) => p.status.links),
              counted('Denied', (p) => p.status.deniedLinks),
              {
                name: 'Balance',
                key: (p) => uneven(p.plane)?.index ?? 0,
                number: true,
                cell: (p) => <Balance of={uneven(p.plane)} />,
              },
              {
                name: 'Capacity left',
                key: (p) => p.status.links - p.status.deniedLinks,
                number: true,
                cell: (p) =>
                  p.status.links ? formatShare((p.status.links - p.status.deniedLinks) / p.status.links) : '',
              },
            ]}
          />
        </Section>
      )}
      <Busiest />
      <Section title="What happened last">
        <Events of={live.events.slice(-12).toReversed()} label="Latest events" empty="No event so far." />
      </Section>
    </>
  );
}

/** Counts the EV profiles of which every EV may be used; all is undefined while that is not known. */
function whole(f: Schemas['FabricView'], profiles: Schemas['EvProfile'][] | undefined) {
  if (f.links.bad === 0) return { good: f.evProfiles.all - f.evProfiles.bad, all: f.evProfiles.all };
  if (!profiles) return undefined;
  const less = profiles.filter(
    (p) =>
      p.status.active < p.status.count ||
      (p.status.replaced ?? 0) > 0 ||
      condition(p.status.conditions, 'Degraded')?.status,
  ).length;
  return { good: f.evProfiles.all - less, all: f.evProfiles.all };
}

type PlaneBalance = Schemas['PlaneBalance'];

function Balance({ of: b }: { of?: PlaneBalance }) {
  if (!b) return <span className="quiet">no traffic</span>;
  const bad = condition(b.conditions, 'Unbalanced')?.status;
  return (
    <Badge
      tone={bad ? 'warning' : 'ok'}
      title={`${b.leaf}: its busiest link, to ${b.busiest ?? '?'}, by the mean of its links`}
    >
      {b.index.toFixed(2)}
    </Badge>
  );
}

/** Names of what ports are sorted by. */
const metrics: Record<string, string> = { utilization: 'Utilization', outBits: 'Sends', inBits: 'Receives' };

/** The ports that carry most now, where the controller measures ports. */
function Busiest() {
  const top = useQuery(ask.top);
  const items = top.data?.items ?? [];
  if (items.length === 0) return null;
  const at = (name: string) => [name.slice(0, name.lastIndexOf('/')), name.slice(name.lastIndexOf('/') + 1)] as const;
  return (
    <Section title="Busiest ports">
      <Table<Schemas['TopItem']>
        rows={items}
        id={(i) => i.name}
        label="Busiest ports"
        columns={[
          leading(
            'Port',
            (i) => i.name,
            (i) => ({ path: ['switches', at(i.name)[0]], query: { port: at(i.name)[1] } }),
          ),
          {
            name: metrics[top.data!.metric] ?? top.data!.metric,
            key: (i) => i.value,
            number: true,
            cell: (i) => formatValue(i.value, top.data!.metric === 'utilization' ? 'share' : top.data!.unit),
          },
          ...(items.some((i) => i.in !== undefined || i.out !== undefined)
            ? [
                shown<Schemas['TopItem'], number>('In', (i) => i.in, formatShare, { number: true, none: '' }),
                shown<Schemas['TopItem'], number>('Out', (i) => i.out, formatShare, { number: true, none: '' }),
              ]
            : []),
          rated('Speed', (i) => i.speed),
        ]}
      />
    </Section>
  );
}

function CauseItem({ of }: { of: Cause }) {
  const now = useNow();
  const also = affected(of),
    follows = of.follows ?? [],
    { change } = of;
  const facts: [name: string, text: ReactNode][] = [
    ['Now', of.detail],
    ['Traffic', `${of.means}${also && ` It touches ${also}.`}`],
    [
      'Changed',
      change?.by && (
        <>
          <To {...pageOf(change.object)}>{change.object}</To> by {change.by}
          {change.at && ` at ${formatTime(change.at, now)}`}
        </>
      ),
    ],
    ['What to do', of.todo],
  ];
  return (
    <li>
      <Badge tone={of.silence ? 'quiet' : tones[of.severity]}>
        <To {...pageOf(of.object)}>{of.what}</To>
      </Badge>
      {of.since && (
        <span className="quiet">
          {' '}
          {begun(of, now) ? 'since' : 'from'} <Time of={of.since} />
          {begun(of, now) ? `, for ${formatAge(of.since, now)}` : ' on'}
        </span>
      )}
      <dl>
        {facts.map(
          ([name, text]) =>
            text && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{text}</dd>
              </div>
            ),
        )}
      </dl>
      <Notice of={of} />
      {follows.length > 0 && (
        <details open={follows.length <= 5}>
          <summary>{of.total === 1 ? '1 thing follows from it' : `${of.total} things follow from it`}</summary>
          <ul>
            {follows.map((x) => (
              <li key={x.id}>
                <Badge tone={tones[x.severity]}>
                  <To {...pageOf(x.object)}>{x.what}</To>
                </Badge>{' '}
                <span className="quiet">{x.detail}</span>
              </li>
            ))}
          </ul>
          {of.total > follows.length && <p className="quiet">and {of.total - follows.length} more</p>}
        </details>
      )}
    </li>
  );
}

/** For how long a cause is silenced. */
const spans: Record<string, number> = { '1 hour': 1, '8 hours': 8, '1 day': 24, '1 week': 7 * 24 };

/** Who has taken notice of a cause, and how to. */
function Notice({ of }: { of: Cause }) {
  const [note, setNote] = useState(''),
    [span, setSpan] = useState('8 hours');
  const allowed = useMay('operate');
  if (of.silence)
    return (
      <p className="quiet">
        Silent until <Time of={of.silence.spec.until} />
        {of.silence.status.by && ` by ${of.silence.status.by}`}
        {of.silence.spec.note && `: ${of.silence.spec.note}`}{' '}
        <Confirm
          scope="operate"
          label="End the silence"
          title="End the silence?"
          act={() => unsilence(of.silence!.name)}
        >
          <p>{of.what} comes before what is silent again, and makes alerts.</p>
        </Confirm>
      </p>
    );
  if (!allowed || of.severity === 'work') return null;
  return (
    <p>
      <Confirm
        scope="operate"
        label="Silence"
        title={`Silence: ${of.what}`}
        act={() =>
          silence({
            cause: of.id,
            ...(note.trim() && { note: note.trim() }),
            until: new Date(Date.now() + spans[span]! * 3_600_000).toISOString(),
          })
        }
      >
        <p>It comes after the other causes, and makes no alert for a while.</p>
        <label>
          Note <input value={note} maxLength={500} onChange={(e) => setNote(e.target.value)} />
        </label>
        <Choose label="For" value={span} set={setSpan} of={Object.keys(spans)} />
      </Confirm>
    </p>
  );
}
