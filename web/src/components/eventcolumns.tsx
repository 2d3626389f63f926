import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import type { Event } from '../api/stream';
import { placeOf } from '../domain/eventplace';
import { formatTime } from '../domain/format';
import { sentence, type Sentence } from '../domain/sentence';
import { useHostNames } from '../store/assigned';
import { useNow } from '../store/now';
import { Badge, type Tone } from './badge';
import { To } from './link';
import type { Column } from './table';

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
