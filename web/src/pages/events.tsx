import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { Badge, type Tone } from '../components/badge';
import { Empty } from '../components/states';
import { Table, type Column } from '../components/table';
import { formatTime } from '../domain/format';
import type { Event } from '../api/stream';
import { To } from '../components/link';
import { placeOf } from '../domain/eventplace';
import { sentence, type Sentence } from '../domain/sentence';
import { useHostNames } from '../store/assigned';
import { useLive } from '../store/live';
import { useNow } from '../store/now';
import { useParam } from '../store/place';

const tones: Record<Sentence['severity'], Tone> = {
  fault: 'fault',
  warning: 'warning',
  work: 'work',
  ok: 'ok',
  quiet: 'quiet',
};

/** The columns of a table of events, which are sentences with links to what they are about. */
export function useEventColumns(): Column<Event>[] {
  const reads = useMay('read');
  const nodes = useQuery({ ...ask.nodes, enabled: reads }),
    hosts = useHostNames(),
    now = useNow();
  const names = useMemo(
    () =>
      new Map([
        ...hosts,
        ...(nodes.data ?? []).flatMap((n) => (n.status.name ? [[n.id, n.status.name] as const] : [])),
      ]),
    [nodes.data, hosts],
  );
  const today = new Date(now).toDateString(); // columns change with the day, and not with every second
  return useMemo(
    () => [
      {
        name: 'Time',
        key: (e) => e.time,
        cell: (e) => (
          <time dateTime={e.time} title={e.time}>
            {formatTime(e.time, Date.parse(today))}
          </time>
        ),
        width: 0.8,
      },
      {
        name: 'What happened',
        key: (e) => `${e.type} ${sentence(e, names).text}`,
        width: 4.5,
        cell: (e) => {
          const s = sentence(e, names),
            place = placeOf(e);
          return (
            <span title={`${s.text} (${e.type})`}>
              <Badge tone={tones[s.severity]}>
                {place ? (
                  <To path={place.path} query={place.query}>
                    {s.text}
                  </To>
                ) : (
                  s.text
                )}
              </Badge>
            </span>
          );
        },
      },
    ],
    [names, today],
  );
}

export function Events() {
  const live = useLive(),
    columns = useEventColumns();
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
          columns={columns}
          id={(e) => `${e.seq} ${e.time}`}
          label="Events"
          search={search}
          empty="No event so far."
        />
      )}
    </>
  );
}
