import { useMemo } from 'react';
import { Empty } from '../components/states';
import { Table, type Column } from '../components/table';
import { formatClock } from '../domain/format';
import type { Event } from '../api/stream';
import { To } from '../components/link';
import { placeOf } from '../domain/eventplace';
import { useLive } from '../store/live';
import { useParam } from '../store/place';

export const eventColumns: Column<Event>[] = [
  {
    name: 'Time',
    key: (e) => e.time,
    cell: (e) => (
      <time dateTime={e.time} title={e.time}>
        {formatClock(e.time)}
      </time>
    ),
    width: 0.7,
  },
  { name: 'Type', key: (e) => e.type, cell: (e) => <code>{e.type}</code>, width: 1.1 },
  {
    name: 'Object',
    key: (e) => e.object ?? '',
    width: 1.3,
    cell: (e) => {
      const place = placeOf(e);
      return place && e.object ? (
        <To path={place.path} query={place.query}>
          {e.object}
        </To>
      ) : (
        e.object
      );
    },
  },
  { name: 'Message', key: (e) => e.message ?? '', cell: (e) => <span title={e.message}>{e.message}</span>, width: 3.5 },
];

export function Events() {
  const live = useLive();
  const [family, setFamily] = useParam('family');
  const [search, setSearch] = useParam('q');
  const families = useMemo(() => [...new Set(live.events.map((e) => e.type.split('.')[0]!))].sort(), [live.events]);
  const rows = useMemo(
    () => live.events.filter((e) => !family || e.type.split('.')[0] === family).toReversed(),
    [live.events, family],
  );
  return (
    <>
      <h1>Events</h1>
      <p className="filters">
        <label>
          Family{' '}
          <select value={family} onChange={(e) => setFamily(e.target.value)}>
            <option value="">all</option>
            {[...new Set([...families, ...(family ? [family] : [])])].map((f) => (
              <option key={f}>{f}</option>
            ))}
          </select>
        </label>
        <label>
          Contains <input type="search" value={search} onChange={(e) => setSearch(e.target.value)} />
        </label>
        <span className="quiet">{live.events.length} events, newest first</span>
      </p>
      {live.state === 'connecting' && live.events.length === 0 ? (
        <Empty>Connecting to the stream of events…</Empty>
      ) : (
        <Table
          rows={rows}
          columns={eventColumns}
          id={(e) => `${e.seq} ${e.time}`}
          label="Events"
          search={search}
          empty="No event so far."
        />
      )}
    </>
  );
}
