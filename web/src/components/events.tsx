import type { Event } from '../api/stream';
import { placeOf } from '../domain/eventplace';
import { Badge } from './badge';
import { timed } from './columns';
import { To } from './link';
import { Table, type Column } from './table';

/** The columns of a table of events, which are sentences with links to what they are about. */
const columns: Column<Event>[] = [
  timed('Time', (e) => e.time, 0.8),
  {
    name: 'What happened',
    key: (e) => `${e.type} ${e.sentence}`,
    width: 4.5,
    cell: (e) => {
      const place = placeOf(e);
      return (
        <span title={`${e.sentence} (${e.type})`}>
          <Badge tone={e.severity}>{place ? <To {...place}>{e.sentence}</To> : e.sentence}</Badge>
        </span>
      );
    },
  },
];

/** Events as a table, in the order that they have. */
export function Events({ of, label, empty, search }: { of: Event[]; label: string; empty: string; search?: string }) {
  return <Table rows={of} columns={columns} id={(e) => `${e.seq} ${e.time}`} {...{ label, empty, search }} />;
}
