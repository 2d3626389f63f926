import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { Badge, type Tone } from '../components/badge';
import { counted, named, timed } from '../components/columns';
import { Facts, made, Time } from '../components/facts';
import type { Described } from '../components/form';
import { To } from '../components/link';
import { pagesOf } from '../components/resource';
import type { Column } from '../components/table';
import { Losses } from '../components/tried';
import * as field from '../domain/fields';
import { formatDuration } from '../domain/format';
import { linkName, reverse } from '../domain/network';
import type { Spec } from '../domain/spec';

type Maintenance = Schemas['Maintenance'];

export const Maintenances = pagesOf<Maintenance>({
  collection: 'maintenances',
  title: 'Maintenances',
  all: ask.maintenances,
  one: ask.maintenance,
  useColumns,
  empty:
    'There is no maintenance. A maintenance drains parts of the fabric before a window of time, and says what jobs lose by it.',
  state: (m) => <Phase of={m} />,
  Page: One,
  useForm: useMaintenanceForm,
});

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

function useColumns(): Column<Maintenance>[] {
  const nameOf = useObjectNames();
  return [
    named('Maintenance', 'maintenances'),
    { name: 'State', key: (m) => m.status.phase ?? '', cell: (m) => <Phase of={m} />, width: 1.4 },
    { name: 'What', key: (m) => m.spec.objects.map(nameOf).join(', '), width: 1.5 },
    timed('From', (m) => m.spec.from, 1.7),
    timed('Until', (m) => m.spec.until, 1.7),
    counted('Priority', (m) => m.spec.priority ?? 0, 0.5),
  ];
}

function useMaintenanceForm(): Described {
  const nodes = useQuery(ask.nodes),
    links = useQuery(ask.links),
    planes = useQuery(ask.planes),
    hosts = useQuery(ask.hosts);
  const numbers = (planes.data ?? []).map((p) => String(p.plane));
  const switches = field.choices((nodes.data ?? []).map((n) => n.status.name ?? n.id));
  const pairs = useMemo(() => {
    const seen = new Set<string>();
    return (links.data ?? []).flatMap((l) => {
      if (seen.has(reverse(l.id))) return [];
      seen.add(l.id);
      return [{ value: l.id, label: linkName(l) }];
    });
  }, [links.data]);
  /** An object that is known by the field first. */
  const object = (label: string, first: string, begins: Spec, ...fields: field.Field[]): field.Way => ({
    label,
    is: (of) => of[first] !== undefined,
    make: () => begins,
    fields,
  });
  const zone = new Date().getTimezoneOffset() === 0 ? 'UTC' : 'Your local time';
  const required = true;
  const parts = [
    object('a switch', 'node', { node: '' }, field.choice('node', 'Switch', switches, { required })),
    object('a link, in both directions', 'link', { link: '' }, field.choice('link', 'Link', pairs, { required })),
    object('a plane', 'plane', { plane: 1 }, field.choice('plane', 'Plane', numbers, { number: true, required })),
    object(
      'a port of a host',
      'host',
      { host: '', port: 1 },
      field.choice('host', 'Host', field.names(hosts.data), { required }),
      field.number('port', 'Port', { required, at: 'host' }),
    ),
  ];
  const fields = [
    field.list('objects', 'Object', 'What is not used', [field.way('kind', 'What', parts)], {
      add: 'Add something else',
      first: () => ({ node: '' }),
      pick: { field: 'node', from: switches, label: 'Switches' },
    }),
    field.time('from', 'From', { required: true, hint: `${zone}.` }),
    field.time('until', 'Until', { required: true, hint: 'Its objects are used again from then on.' }),
    field.text('lead', 'Lead', { hint: 'So long before they are drained, such as 10m. Empty: none.' }),
    field.number('priority', 'Priority', {
      hint: '0 to 1000. It is refused where a running job of a higher one loses something.',
    }),
  ];
  return { first: { objects: [] }, fields };
}

function One({ of: m }: { of: Maintenance }) {
  const nameOf = useObjectNames();
  return (
    <>
      <p>
        From <Time of={m.spec.from} /> until <Time of={m.spec.until} />
        {m.status.drains && (
          <>
            , drained at <Time of={m.status.drains} />
          </>
        )}
        .
      </p>
      <h2>What is not used</h2>
      <ul className="spaced">
        {m.spec.objects.map((o) => {
          const text = nameOf(o),
            part = o.node ? { node: o.node } : o.link ? { link: o.link } : { plane: String(o.plane) };
          return (
            <li key={text}>
              <To path={o.host ? ['hosts', o.host] : ['fabric']} query={o.host ? undefined : part}>
                {text}
              </To>
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
        label={`Maintenance ${m.name}`}
        of={[['Lead', m.spec.lead && formatDuration(m.spec.lead)], ['Priority', m.spec.priority], ...made(m)]}
      />
    </>
  );
}
