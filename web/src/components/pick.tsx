import { useMemo, useState } from 'react';
import { Autocomplete, Input, Label, ListBox, ListBoxItem, SearchField } from 'react-aria-components';
import type { Choice } from '../domain/fields';
import { matcher } from '../domain/search';

/** Most choices that are shown at once. */
const most = 100;

/**
 * Chooses several of many by a search: the arrow keys move, Enter chooses and takes back. All that are
 * found can be chosen together.
 */
export function Pick(props: {
  label: string;
  from: readonly Choice[];
  chosen: readonly string[];
  add: (values: string[]) => void;
  remove: (value: string) => void;
}) {
  const { label, from, chosen, add, remove } = props;
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const found = useMemo(() => {
    const matches = matcher(text);
    return from.filter((c) => matches(`${c.value} ${c.label ?? ''}`));
  }, [from, text]);
  const has = new Set(chosen);
  const rest = found.filter((c) => !has.has(c.value));
  return (
    <div
      className="pick"
      onKeyDownCapture={(e) => {
        if (e.key !== 'Escape' || !open) return;
        // It closes the list, and not the dialog around it.
        e.preventDefault();
        e.stopPropagation();
        setOpen(false);
      }}
    >
      <Autocomplete inputValue={text} onInputChange={setText}>
        <SearchField className="field" onFocus={() => setOpen(true)} onChange={() => setOpen(true)}>
          <Label>{label}</Label>
          <Input placeholder="Search" />
        </SearchField>
        {open && (
          <>
            <ListBox
              aria-label={label}
              className="found"
              selectionMode="multiple"
              selectedKeys={chosen}
              onSelectionChange={(keys) => {
                const now = new Set(keys);
                const more = found.filter((c) => now.has(c.value) && !has.has(c.value));
                if (more.length > 0) add(more.map((c) => c.value));
                for (const c of found) if (has.has(c.value) && !now.has(c.value)) remove(c.value);
              }}
            >
              {found.slice(0, most).map((c) => (
                <ListBoxItem key={c.value} id={c.value} textValue={c.label ?? c.value} className="">
                  <span aria-hidden="true">{has.has(c.value) ? '☑' : '☐'}</span> {c.label ?? c.value}
                </ListBoxItem>
              ))}
            </ListBox>
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
      </Autocomplete>
    </div>
  );
}
