import type { ReactNode } from 'react';
import type { Schemas } from '../api/client';
import { formatAge, formatBitRate, formatDuration, formatUntil } from '../domain/format';
import { Badge, Summary, type Tone } from './badge';
import { Time } from './facts';
import { To, type ToProps } from './link';
import type { Column } from './table';

// Columns that tables of several pages have. The last argument is a share of the width, as in Column.

/** What leads to a place, such as a name to its page; what there is none of is a dash. */
export const leading = <T,>(
  name: string,
  of: (row: T) => string | number | undefined,
  to: (row: T) => ToProps,
  width?: number,
): Column<T> => ({ name, key: (r) => of(r) ?? '', cell: (r) => (of(r) ? <To {...to(r)}>{of(r)}</To> : '–'), width });

/** A name that leads to its page. */
export const linked = <T,>(name: string, page: string, of: (row: T) => string | undefined, width?: number) =>
  leading<T>(name, of, (r) => ({ path: [page, of(r)!] }), width);

/** The name of a resource, which leads to its page. */
export const named = <T extends { name: string }>(name: string, page: string, width?: number): Column<T> =>
  linked(name, page, (r) => r.name, width);

/** The conditions of a resource as one badge. */
export const conditions = <T extends { status?: { conditions?: Schemas['GroupCondition'][] | null } }>(
  width = 1.4,
): Column<T> => ({
  name: 'State',
  key: (r) => JSON.stringify(r.status?.conditions ?? ''),
  cell: (r) => <Summary of={r.status?.conditions} />,
  width,
});

/** A text with a tone. */
export const toned = <T,>(
  name: string,
  of: (row: T) => readonly [tone: Tone, text: string],
  width?: number,
): Column<T> => ({ name, key: (r) => of(r)[1], cell: (r) => <Badge tone={of(r)[0]}>{of(r)[1]}</Badge>, width });

/** An address or another text of machines. */
export const coded = <T,>(name: string, of: (row: T) => string | undefined, width?: number): Column<T> => ({
  name,
  key: (r) => of(r) ?? '',
  cell: (r) => of(r) && <code>{of(r)}</code>,
  width,
});

/** A text that may be longer than its column: it is whole below the pointer. */
export const long = <T,>(name: string, of: (row: T) => string | undefined, width?: number): Column<T> => ({
  name,
  key: (r) => of(r) ?? '',
  cell: (r) => <span title={of(r)}>{of(r)}</span>,
  width,
});

/** A count, set right. */
export const counted = <T,>(name: string, key: (row: T) => number, width?: number): Column<T> => ({
  name,
  key,
  number: true,
  width,
});

/** What is sorted by a number or text, and shown by a function of it; what is not known is a dash. */
export const shown = <T, V extends string | number>(
  name: string,
  of: (row: T) => V | null | undefined,
  show: (value: V) => ReactNode,
  more: { number?: boolean; width?: number; none?: string } = {},
): Column<T> => ({
  name,
  key: (r) => of(r) ?? '',
  cell: (r) => {
    const value = of(r);
    return value === undefined || value === null ? (more.none ?? '–') : show(value) || (more.none ?? '–');
  },
  number: more.number,
  width: more.width,
});

/** How long something takes, which the API writes as 1m30s. */
export const lasting = <T,>(name: string, of: (row: T) => string | undefined, width?: number, none?: string) =>
  shown(name, of, formatDuration as (of: string) => string, { number: true, width, none });

/** When something is, in the time of the browser. */
export const timed = <T,>(name: string, of: (row: T) => string, width?: number): Column<T> => ({
  name,
  key: of,
  cell: (r) => <Time of={of(r)} />,
  width,
});

/** What can be done with a row, by so many buttons. */
export const actions = <T,>(width: number, cell: (row: T) => ReactNode): Column<T> => ({
  name: 'Actions',
  width,
  cell,
});

const apart =
  (say: (time: string, now: number) => string) =>
  <T,>(name: string, of: (row: T) => string | undefined, now: number, width?: number, none?: string): Column<T> =>
    shown(name, of, (at) => say(at, now), { width, none });
/** How long something has lasted, how long ago something was, and how long it is until something is. */
export const aged = apart(formatAge),
  ago = apart((at, now) => `${formatAge(at, now)} ago`),
  ending = apart(formatUntil);

/** A rate in bit/s; 0 is none. */
export const rated = <T,>(name: string, of: (row: T) => number | undefined, width?: number, none = '') =>
  shown(name, of, (rate) => rate > 0 && formatBitRate(rate), { number: true, width, none });
