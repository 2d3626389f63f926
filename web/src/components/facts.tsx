import type { ReactNode } from 'react';
import { formatTime } from '../domain/format';
import { useNow } from '../store/now';

/** A time of the API as that of the browser. */
export function Time({ of }: { of: string }) {
  return (
    <time dateTime={of} title={of}>
      {formatTime(of, useNow())}
    </time>
  );
}

/** Names and values; those without a value are left out. */
export function Facts({ of, label }: { of: readonly (readonly [string, ReactNode])[]; label?: string }) {
  return (
    <table className="facts" aria-label={label}>
      <tbody>
        {of
          .filter(([, v]) => v !== undefined && v !== null && v !== '')
          .map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

/** The last facts of a resource: its version, and when it was made. */
export const made = (of: { version: number; created?: string }) =>
  [
    ['Version', of.version],
    ['Created', of.created && <Time of={of.created} />],
  ] as const;

/** A table of facts with a row each, whose first cell is its head; what is too wide scrolls in itself. */
export function Grid<T>(props: {
  label: string;
  heads: readonly string[];
  of: readonly T[];
  id: (row: T) => string;
  cells: (row: T) => readonly ReactNode[];
  /** The class of a row that stands out. */
  mark?: (row: T) => string | undefined;
  className?: string;
}) {
  return (
    <div className={props.className ?? 'scrolls'} role="region" aria-label={props.label} tabIndex={0}>
      <table className="facts" aria-label={props.label}>
        <thead>
          <tr>
            {props.heads.map((h) => (
              <th key={h} scope="col">
                {h}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.of.map((row) => {
            const [head, ...rest] = props.cells(row);
            return (
              <tr key={props.id(row)} className={props.mark?.(row)}>
                <th scope="row">{head}</th>
                {rest.map((cell, i) => (
                  <td key={i}>{cell}</td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Something that is looked at beside what it was chosen from, with a button that ends that. */
export function Chosen(props: { title: string; close: () => void; buttons?: ReactNode; children: ReactNode }) {
  return (
    <section className="chosen" aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        <span className="buttons">
          {props.buttons}
          <button type="button" className="plain" aria-label={`Close ${props.title}`} onClick={props.close}>
            ✕
          </button>
        </span>
      </header>
      {props.children}
    </section>
  );
}

/** A part of a page below its heading; label: what a screen reader calls it. charts: it has these beside each other. */
export function Section(props: { title: ReactNode; label?: string; charts?: boolean; children: ReactNode }) {
  return (
    <section aria-label={props.label}>
      <h2>{props.title}</h2>
      {props.charts ? <div className="charts">{props.children}</div> : props.children}
    </section>
  );
}

/** The head of a page or of a part of it: its name, its state, and what can be done with it. */
export function Heading(props: { title: string; part?: boolean; state?: ReactNode; children?: ReactNode }) {
  const { title, part, state, children } = props;
  return (
    <div className="heading">
      <div>
        {part ? <h2>{title}</h2> : <h1>{title}</h1>}
        {state}
      </div>
      {children && <div className="buttons">{children}</div>}
    </div>
  );
}
