import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import { Badge, type Tone } from '../components/badge';
import { aged, coded, counted, long, toned } from '../components/columns';
import { Answer } from '../components/states';
import { Rows, Table, type Column } from '../components/table';
import type { Schemas } from '../api/client';
import { formatAge, formatDuration, formatOctets } from '../domain/format';
import { useNow } from '../store/now';

const tones: Record<Schemas['Controller']['role'], Tone> = {
  decider: 'ok',
  member: 'ok',
  unreachable: 'fault',
  missing: 'fault',
};

const diskTone = (d: Schemas['ControllerDisk']): Tone => (d.state === 'ok' ? (d.slow ? 'warning' : 'ok') : 'fault');

/** The disk of a controller, where the store is one's own. */
const disk: Column<Schemas['Controller']> = {
  name: 'Disk',
  key: (c) => c.disk?.state ?? '',
  cell: ({ disk: d }) =>
    d && (
      <Badge tone={diskTone(d)}>
        {d.state}
        {d.slow && ', slow'}, {formatOctets(d.free)} free
      </Badge>
    ),
  width: 1.5,
};

export function Controllers() {
  const controllers = useQuery(ask.controllers),
    ready = useQuery(ask.ready),
    health = useQuery(ask.health);
  const now = useNow(),
    all = controllers.data ?? [];
  return (
    <>
      <h1>Controllers</h1>
      <Rows<Schemas['Controller']>
        of={controllers}
        what="controllers"
        id={(c) => c.name}
        label="Controllers"
        columns={[
          {
            name: 'Controller',
            key: (c) => c.name,
            cell: (c) => (
              <>
                {c.name}
                {c.self && ' (answers this page)'}
              </>
            ),
            width: 2.9,
          },
          toned('Role', (c) => [tones[c.role], c.reason ? `${c.role}: ${c.reason}` : c.role], 1.2),
          aged('For', (c) => c.since, now, 0.6, ''),
          counted('Switches', (c) => c.switches, 0.6),
          counted('Host streams', (c) => c.streams, 0.8),
          {
            name: 'Last word',
            key: (c) => c.lastContact ?? c.lag,
            cell: (c) => (c.lastContact ? `${formatAge(c.lastContact, now)} ago` : `lag ${formatDuration(c.lag)}`),
            width: 0.9,
          },
          ...(all.some((c) => c.disk) ? [disk] : []),
          {
            name: 'Release',
            key: (c) => c.release,
            cell: (c) => (
              <span title={c.release}>{`${c.release}${c.started ? `, up for ${formatAge(c.started, now)}` : ''}`}</span>
            ),
            width: 2,
          },
          coded('API', (c) => c.api, 1.9),
          ...(all.some((c) => c.message ?? c.alarm)
            ? [long<Schemas['Controller']>('Message', (c) => c.message ?? c.alarm, 1.4)]
            : []),
        ]}
      />
      <h2>Readiness</h2>
      <Answer of={ready} what="checks">
        {(r) => (
          <Table<Schemas['ReadinessView']['checks'][number]>
            rows={r.checks}
            id={(c) => c.name}
            label="Checks"
            columns={[
              long('Check', (c) => c.name, 1.8),
              toned('State', (c) => (c.ok ? ['ok', 'ok'] : ['fault', 'not yet']), 0.6),
              long('Message', (c) => c.message, 4),
            ]}
          />
        )}
      </Answer>
      {health.data && <p className="quiet">Weft {health.data.version}</p>}
    </>
  );
}
