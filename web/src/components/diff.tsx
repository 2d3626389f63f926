import { useMemo } from 'react';
import { difference } from '../domain/document';

const says = { '+': 'added', '-': 'removed', ' ': '', '…': 'more lines' } as const;

/** What differs between two texts, line by line. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = useMemo(() => difference(before, after), [before, after]);
  if (lines.length === 0) return <p className="quiet">Nothing differs.</p>;
  return (
    <div className="trace diff" role="region" tabIndex={0} aria-label={label}>
      {lines.map((l, i) => (
        <div key={i} className={l.sign === '+' ? 'added' : l.sign === '-' ? 'removed' : undefined}>
          <span aria-hidden="true">{l.sign === '…' ? '⋯' : l.sign} </span>
          {says[l.sign] && <span className="said-only">{says[l.sign]}: </span>}
          {l.text}
        </div>
      ))}
    </div>
  );
}
