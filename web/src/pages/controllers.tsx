import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import { Badge, type Tone } from '../components/badge';
import { Answer } from '../components/states';
import { Table } from '../components/table';
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

export function Controllers() {
  const controllers = useQuery(ask.controllers),
    ready = useQuery(ask.ready),
    health = useQuery(ask.health);
  const now = useNow();
  return (
    <>
      <h1>Controllers</h1>
      <Answer of={controllers} what="controllers">
        {(all) => (
          <Table
            rows={all}
            id={(c) => c.name}
            label="Controllers"
            empty=""
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
                width: 1.4,
              },
              {
                name: 'Role',
                key: (c) => c.role,
                cell: (c) => <Badge tone={tones[c.role]}>{c.reason ? `${c.role}: ${c.reason}` : c.role}</Badge>,
              },
              { name: 'For', key: (c) => c.since ?? '', cell: (c) => formatAge(c.since, now), width: 0.6 },
              { name: 'Switches', key: (c) => c.switches, number: true, width: 0.6 },
              { name: 'Host streams', key: (c) => c.streams, number: true, width: 0.8 },
              { name: 'Lag', key: (c) => c.lag, cell: (c) => formatDuration(c.lag), number: true, width: 0.6 },
              {
                name: 'Disk',
                key: (c) => c.disk?.state ?? '',
                cell: (c) =>
                  c.disk && (
                    <Badge
                      tone={diskTone(c.disk)}
                    >{`${c.disk.state}${c.disk.slow ? ', slow' : ''}, ${formatOctets(c.disk.free)} free`}</Badge>
                  ),
              },
              {
                name: 'Last contact',
                key: (c) => c.lastContact ?? '',
                cell: (c) => c.lastContact && formatAge(c.lastContact, now),
                width: 0.8,
              },
              { name: 'Release', key: (c) => c.release, width: 0.8 },
              { name: 'Up for', key: (c) => c.started, cell: (c) => formatAge(c.started, now), width: 0.6 },
              { name: 'API', key: (c) => c.api ?? '', cell: (c) => <code>{c.api}</code> },
              { name: 'Message', key: (c) => c.message ?? c.alarm ?? '', width: 2 },
            ]}
          />
        )}
      </Answer>
      <h2>Readiness</h2>
      <Answer of={ready} what="checks">
        {(r) => (
          <Table
            rows={r.checks}
            id={(c) => c.name}
            label="Checks"
            empty=""
            columns={[
              { name: 'Check', key: (c) => c.name },
              {
                name: 'State',
                key: (c) => String(c.ok),
                cell: (c) => <Badge tone={c.ok ? 'ok' : 'fault'}>{c.ok ? 'ok' : 'not yet'}</Badge>,
                width: 0.6,
              },
              { name: 'Message', key: (c) => c.message ?? '', width: 4 },
            ]}
          />
        )}
      </Answer>
      {health.data && <p className="quiet">Weft {health.data.version}</p>}
    </>
  );
}
