import type { UseQueryResult } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState, type ReactNode } from 'react';
import { natural } from '../domain/natural';
import { matcher } from '../domain/search';
import { useParam } from '../store/place';
import { Contains } from './contains';
import { Answer } from './states';

export interface Column<T> {
  name: string;
  /** What is shown; the text of key when absent. */
  cell?: (row: T) => ReactNode;
  /** What rows are sorted and searched by. */
  key?: (row: T) => string | number;
  /** Numbers are set right. */
  number?: boolean;
  /** Share of the width, in fr. Default 1. */
  width?: number;
}

interface TableProps<T> {
  rows: readonly T[];
  columns: Column<T>[];
  id: (row: T) => string;
  label: string;
  /** What is said where there is no row. */
  empty?: ReactNode;
  selected?: string;
  search?: string;
}

/** The table of what a query answers. */
export function Rows<T>(props: { of: UseQueryResult<T[]>; what: string } & Omit<TableProps<T>, 'rows'>) {
  const { of, what, ...table } = props;
  return (
    <Answer of={of} what={what}>
      {(rows) => <Table rows={rows} {...table} />}
    </Answer>
  );
}

/** A table below a field that searches its rows, for what a parameter of the address has. */
export function Searched<T>(props: { what: string; param?: string } & Omit<TableProps<T>, 'search'>) {
  const { what, param = 'q', ...table } = props;
  const [search, setSearch] = useParam(param);
  return (
    <>
      {table.rows.length > 0 && (
        <p className="filters">
          <Contains search={search} set={setSearch} what={what} />
        </p>
      )}
      <Table search={search} {...table} />
    </>
  );
}

/** Height of a row in pixels: --row of the style sheet, and the size of the text depends on the screen. */
function height(): number {
  const style = getComputedStyle(document.documentElement);
  return Math.round(parseFloat(style.fontSize) * parseFloat(style.getPropertyValue('--row')));
}

/**
 * A table of which only the rows on the screen exist, sortable by its headers. It is a grid of
 * elements with the roles of a table: rows of a table element cannot be placed one by one.
 */
export function Table<T>({ rows, columns, id, label, empty, selected, search }: TableProps<T>) {
  const [order, setOrder] = useState<{ column: string; down: boolean }>();
  const shown = useMemo(() => {
    const matches = matcher(search ?? '');
    const found = search ? rows.filter((row) => matches(columns.map((c) => c.key?.(row) ?? '').join(' '))) : rows;
    const by = columns.find((c) => c.name === order?.column)?.key;
    if (!by) return found;
    const sign = order!.down ? -1 : 1;
    return [...found].sort((a, b) => {
      const x = by(a),
        y = by(b);
      return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : natural(String(x), String(y)));
    });
  }, [rows, columns, order, search]);
  const rowHeight = height();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  // No header is cut off: a column is as wide as its name in bold, with the mark of its order.
  // That of actions is as wide as its buttons, of which its width says how many there are.
  const least = (c: Column<T>) => Math.max(0.66 * (c.name.length + 1.5), c.name === 'Actions' ? 6 * (c.width ?? 1) : 0);
  const template = {
    gridTemplateColumns: columns
      .map((c, i) => `minmax(${i === 0 ? `max(var(--first), ${least(c)}rem)` : `${least(c)}rem`}, ${c.width ?? 1}fr)`)
      .join(' '),
  };
  const gaps = columns.length + 1;
  if (rows.length === 0) return <p className="state">{empty}</p>;
  // On a narrow screen a table is wider than that: it scrolls sideways, and its first column stays.
  const share = columns.reduce((sum, c) => sum + (c.width ?? 1), 0);
  return (
    <div className="frame">
      <div
        className="table"
        role="table"
        aria-label={label}
        aria-rowcount={shown.length + 1}
        aria-colcount={columns.length}
        tabIndex={0}
        ref={scroller}
        style={
          {
            '--share': share,
            '--least': `calc(${columns.reduce((sum, c) => sum + least(c), 0)}rem + ${gaps} * var(--space-4))`,
            maxHeight: `max(8rem, min(60vh, ${rowHeight * shown.length}px + 4rem))`,
          } as React.CSSProperties
        }
      >
        <div role="rowgroup" className="heads">
          <div className="row head" role="row" style={template}>
            {columns.map((c) => {
              const is = order?.column === c.name;
              return (
                <div
                  key={c.name}
                  role="columnheader"
                  className={c.number ? 'number' : undefined}
                  aria-sort={is ? (order.down ? 'descending' : 'ascending') : c.key ? 'none' : undefined}
                >
                  {c.key ? (
                    <button
                      type="button"
                      className="plain"
                      onClick={() => setOrder(is && order.down ? undefined : { column: c.name, down: is })}
                    >
                      {c.name}
                      <span aria-hidden="true">{is ? (order.down ? ' ▾' : ' ▴') : ''}</span>
                    </button>
                  ) : (
                    c.name
                  )}
                </div>
              );
            })}
          </div>
        </div>
        <div className="rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = shown[item.index]!;
            return (
              <div
                key={id(row)}
                role="row"
                aria-rowindex={item.index + 2}
                className={`row${id(row) === selected ? ' selected' : ''}`}
                style={{ ...template, height: rowHeight, transform: `translateY(${item.start}px)` }}
              >
                {columns.map((c) => (
                  <div key={c.name} role="cell" className={c.number ? 'number' : undefined}>
                    {c.cell ? c.cell(row) : c.key?.(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {shown.length < rows.length && (
        <p className="quiet">
          {shown.length} of {rows.length} rows
        </p>
      )}
    </div>
  );
}
