import { useMemo } from 'react';
import type { Event } from '../api/stream';
import { placeOf } from '../domain/eventplace';
import { formatTime } from '../domain/format';
import { useNow } from '../store/now';
import { Badge } from './badge';
import { To } from './link';
import { Table, type Column } from './table';

/** The columns of a table of events, which are sentences with links to what they are about. */
function useEventColumns(): Column<Event>[] {
  const now = useNow();
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
        key: (e) => `${e.type} ${e.sentence}`,
        width: 4.5,
        cell: (e) => {
          const place = placeOf(e);
          return (
            <span title={`${e.sentence} (${e.type})`}>
              <Badge tone={e.severity}>
                {place ? (
                  <To path={place.path} query={place.query}>
                    {e.sentence}
                  </To>
                ) : (
                  e.sentence
                )}
              </Badge>
            </span>
          );
        },
      },
    ],
    [today],
  );
}

/** Events as a table, in the order that they have. */
export function Events({ of, label, empty, search }: { of: Event[]; label: string; empty: string; search?: string }) {
  const columns = useEventColumns();
  return <Table rows={of} columns={columns} id={(e) => `${e.seq} ${e.time}`} {...{ label, empty, search }} />;
}
