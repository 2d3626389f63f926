import type { ReactNode } from 'react';

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

/** The head of a page of one object: its name, its state, and what can be done with it. */
export function Heading({ title, state, children }: { title: string; state?: ReactNode; children?: ReactNode }) {
  return (
    <div className="heading">
      <div>
        <h1>{title}</h1>
        {state}
      </div>
      {children && <div className="buttons">{children}</div>}
    </div>
  );
}

/** The names of the columns of a table of facts. */
export function Heads({ of }: { of: readonly string[] }) {
  return (
    <thead>
      <tr>
        {of.map((h) => (
          <th key={h} scope="col">
            {h}
          </th>
        ))}
      </tr>
    </thead>
  );
}
