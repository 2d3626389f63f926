import { useId, useMemo, useState } from 'react';

interface Choice {
  value: string;
  label?: string;
}

/** Most choices that are shown at once. */
const most = 100;

/**
 * Chooses several of many by a search: the arrow keys move, Enter chooses and takes back. All that are
 * found can be chosen together.
 */
export function Pick({
  label,
  from,
  chosen,
  add,
  remove,
}: {
  label: string;
  from: readonly Choice[];
  chosen: readonly string[];
  add: (values: string[]) => void;
  remove: (value: string) => void;
}) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState(false);
  const id = useId();
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return from.filter((c) => words.every((w) => `${c.value} ${c.label ?? ''}`.toLowerCase().includes(w)));
  }, [from, text]);
  const has = new Set(chosen);
  const rest = found.filter((c) => !has.has(c.value));
  const toggle = (c: Choice | undefined) => {
    if (!c) return;
    if (has.has(c.value)) remove(c.value);
    else add([c.value]);
  };
  return (
    <div className="pick">
      <p className="field">
        <label htmlFor={id}>{label}</label>
        <input
          id={id}
          type="search"
          role="combobox"
          autoComplete="off"
          placeholder="Search"
          value={text}
          aria-expanded={open}
          aria-controls={`${id}-list`}
          aria-activedescendant={open && found[at] ? `${id}-${at}` : undefined}
          onFocus={() => setOpen(true)}
          onChange={(e) => {
            setText(e.target.value);
            setAt(0);
            setOpen(true);
          }}
          onKeyDown={(e) => {
            const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
            if (step) {
              e.preventDefault();
              setOpen(true);
              setAt((i) => Math.min(Math.min(found.length, most) - 1, Math.max(0, i + step)));
            } else if (e.key === 'Enter') {
              e.preventDefault();
              toggle(found[at]);
            } else if (e.key === 'Escape' && open) {
              e.preventDefault();
              setOpen(false);
            }
          }}
        />
      </p>
      {open && (
        <>
          <ul id={`${id}-list`} role="listbox" aria-multiselectable="true" aria-label={label} className="found">
            {found.slice(0, most).map((c, i) => (
              <li
                key={c.value}
                id={`${id}-${i}`}
                role="option"
                aria-selected={has.has(c.value)}
                className={i === at ? 'at' : undefined}
                // The focus stays in the search.
                onMouseDown={(e) => {
                  e.preventDefault();
                  setAt(i);
                  toggle(c);
                }}
              >
                <span aria-hidden="true">{has.has(c.value) ? '☑' : '☐'}</span> {c.label ?? c.value}
              </li>
            ))}
          </ul>
          <p className="buttons">
            {rest.length > 1 && (
              <button type="button" onClick={() => add(rest.map((c) => c.value))}>
                Add all {rest.length}
              </button>
            )}
            <button type="button" onClick={() => setOpen(false)}>
              Close the list
            </button>
            <span className="quiet" role="status">
              {found.length === 0
                ? 'Nothing found.'
                : found.length > most
                  ? `the first ${most} of ${found.length}`
                  : `${found.length} found`}
              , {from.filter((c) => has.has(c.value)).length} chosen
            </span>
          </p>
        </>
      )}
    </div>
  );
}
