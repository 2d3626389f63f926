import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { Badge, type Tone } from '../components/badge';
import { Delete } from '../components/delete';
import { Documented } from '../components/documented';
import { Facts, Heading } from '../components/facts';
import { Form, Open, type Choice, type Field } from '../components/form';
import { To } from '../components/link';
import { Listing } from '../components/listing';
import { Answer } from '../components/states';
import type { Column } from '../components/table';
import { Losses } from '../components/tried';
import { formatDuration, formatTime } from '../domain/format';
import { linkName, reverse } from '../domain/network';
import { useEditing } from '../store/draft';
import { useNow } from '../store/now';
import { go } from '../store/place';

type Maintenance = Schemas['Maintenance'];

export function Maintenances({ path }: { path: string[] }) {
  return path[0] === undefined ? <List /> : <One name={path[0]} />;
}

const tones: Record<NonNullable<Maintenance['status']['phase']>, Tone> = {
  Planned: 'quiet',
  Draining: 'work',
  Active: 'work',
  Ended: 'quiet',
};

function Phase({ of: m }: { of: Maintenance }) {
  const phase = m.status.phase;
  const lose = m.status.jobs?.length ?? 0;
  return (
    <span className="badges">
      <Badge tone={phase ? tones[phase] : 'quiet'}>{phase?.toLowerCase() ?? 'not known'}</Badge>
      {lose > 0 && <Badge tone="warning">{lose === 1 ? '1 job loses' : `${lose} jobs lose`}</Badge>}
    </span>
  );
}

/** Says what an object of a maintenance is. */
function useObjectNames(): (o: Schemas['MaintenanceObject']) => string {
  const links = useQuery(ask.links);
  const names = useMemo(() => new Map((links.data ?? []).map((l) => [l.id, linkName(l)])), [links.data]);
  return (o) =>
    o.node
      ? `switch ${o.node}`
      : o.link
        ? `link ${names.get(o.link) ?? o.link}`
        : o.host
          ? `port ${o.port} of ${o.host}`
          : `plane ${o.plane}`;
}

function List() {
  const maintenances = useQuery(ask.maintenances);
  const now = useNow(),
    nameOf = useObjectNames();
  const columns: Column<Maintenance>[] = [
    { name: 'Maintenance', key: (m) => m.name, cell: (m) => <To path={['maintenances', m.name]}>{m.name}</To> },
    { name: 'State', key: (m) => m.status.phase ?? '', cell: (m) => <Phase of={m} />, width: 1.4 },
    { name: 'What', key: (m) => m.spec.objects.map(nameOf).join(', '), width: 2 },
    { name: 'From', key: (m) => m.spec.from, cell: (m) => <Time of={m.spec.from} now={now} />, width: 1.2 },
    { name: 'Until', key: (m) => m.spec.until, cell: (m) => <Time of={m.spec.until} now={now} />, width: 1.2 },
    { name: 'Priority', key: (m) => m.spec.priority ?? 0, number: true, width: 0.5 },
  ];
  return (
    <Listing
      collection="maintenances"
      title="Maintenances"
      of={maintenances}
      columns={columns}
      empty="There is no maintenance. A maintenance drains parts of the fabric before a window of time, and says what jobs lose by it."
      make={(close) => <MaintenanceForm close={close} />}
    />
  );
}

function Time({ of, now }: { of: string; now: number }) {
  return (
    <time dateTime={of} title={of}>
      {formatTime(of, now)}
    </time>
  );
}

function MaintenanceForm({ maintenance, close }: { maintenance?: Maintenance; close: () => void }) {
  const nodes = useQuery(ask.nodes),
    links = useQuery(ask.links),
    planes = useQuery(ask.planes),
    hosts = useQuery(ask.hosts);
  const switches: Choice[] = (nodes.data ?? []).map((n) => ({ value: n.status.name ?? n.id }));
  const pairs = useMemo(() => {
    const seen = new Set<string>();
    return (links.data ?? []).flatMap((l): Choice[] => {
      if (seen.has(reverse(l.id))) return [];
      seen.add(l.id);
      return [{ value: l.id, label: linkName(l) }];
    });
  }, [links.data]);
  const zone = new Date().getTimezoneOffset() === 0 ? 'UTC' : 'Your local time';
  const fields: Field[] = [
    {
      kind: 'list',
      name: 'objects',
      label: 'Object',
      plural: 'What is not used',
      add: 'Add something else',
      first: () => ({ node: '' }),
      pick: { field: 'node', from: switches, label: 'Switches' },
      item: [
        {
          kind: 'variant',
          name: 'kind',
          label: 'What',
          of: [
            {
              label: 'a switch',
              first: { node: '' },
              fields: [{ kind: 'choice', name: 'node', label: 'Switch', required: true, from: switches }],
            },
            {
              label: 'a link, in both directions',
              first: { link: '' },
              fields: [{ kind: 'choice', name: 'link', label: 'Link', required: true, from: pairs }],
            },
            {
              label: 'a plane',
              first: { plane: 1 },
              fields: [
                {
                  kind: 'choice',
                  name: 'plane',
                  label: 'Plane',
                  number: true,
                  required: true,
                  from: (planes.data ?? []).map((p) => ({ value: String(p.plane) })),
                },
              ],
            },
            {
              label: 'a port of a host',
              first: { host: '', port: 1 },
              fields: [
                {
                  kind: 'choice',
                  name: 'host',
                  label: 'Host',
                  required: true,
                  from: (hosts.data ?? []).map((h) => ({ value: h.name })),
                },
                { kind: 'number', name: 'port', label: 'Port', required: true, at: 'host' },
              ],
            },
          ],
        },
      ],
    },
    { kind: 'time', name: 'from', label: 'From', required: true, hint: `${zone}.` },
    { kind: 'time', name: 'until', label: 'Until', required: true, hint: 'Its objects are used again from then on.' },
    { kind: 'text', name: 'lead', label: 'Lead', hint: 'So long before they are drained, such as 10m. Empty: none.' },
    {
      kind: 'number',
      name: 'priority',
      label: 'Priority',
      hint: '0 to 1000. It is refused where a running job of a higher one loses something.',
    },
  ];
  return (
    <Form
      collection="maintenances"
      of={maintenance}
      first={{ objects: [] }}
      fields={fields}
      close={close}
      done={(name) => go(['maintenances', name])}
    />
  );
}

function One({ name }: { name: string }) {
  const maintenance = useQuery(ask.maintenance(name));
  const [editing, setEditing] = useEditing('form', 'maintenances', name);
  const now = useNow(),
    nameOf = useObjectNames();
  return (
    <Answer of={maintenance} what={`maintenance ${name}`} gone={<Documented collection="maintenances" name={name} />}>
      {(m) => (
        <>
          <Heading title={`Maintenance ${name}`} state={<Phase of={m} />}>
            <Open scope="operate" label="Change…" open={() => setEditing(true)} />
            <Delete collection="maintenances" name={name} />
          </Heading>
          <p>
            From <Time of={m.spec.from} now={now} /> until <Time of={m.spec.until} now={now} />
            {m.status.drains && (
              <>
                , drained at <Time of={m.status.drains} now={now} />
              </>
            )}
            .
          </p>
          <h2>What is not used</h2>
          <ul className="spaced">
            {m.spec.objects.map((o) => {
              const text = nameOf(o);
              return (
                <li key={text}>
                  {o.node ? (
                    <To path={['fabric']} query={{ node: o.node }}>
                      {text}
                    </To>
                  ) : o.link ? (
                    <To path={['fabric']} query={{ link: o.link }}>
                      {text}
                    </To>
                  ) : o.host ? (
                    <To path={['hosts', o.host]}>{text}</To>
                  ) : (
                    <To path={['fabric']} query={{ plane: String(o.plane) }}>
                      {text}
                    </To>
                  )}
                </li>
              );
            })}
          </ul>
          {(m.status.objects?.length ?? 0) > 0 && (
            <Facts
              label="Drains"
              of={m.status.objects!.map((o) => [
                o.object,
                <Badge tone={o.drained ? 'work' : o.why ? 'fault' : 'warning'}>
                  {o.drained ? 'drained' : (o.why ?? 'hosts still use it')}
                </Badge>,
              ])}
            />
          )}
          <h2>What jobs lose</h2>
          <Losses of={m.status.jobs} />
          <Facts
            label={`Maintenance ${name}`}
            of={[
              ['Lead', m.spec.lead && formatDuration(m.spec.lead)],
              ['Priority', m.spec.priority],
              ['Version', m.version],
              ['Created', m.created],
            ]}
          />
          <Documented collection="maintenances" name={name} of={m} />
          {editing && <MaintenanceForm maintenance={m} close={() => setEditing(false)} />}
        </>
      )}
    </Answer>
  );
}
