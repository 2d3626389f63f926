import { useEffect, useId, useMemo, useRef, useState } from 'react';
import { complete, type Completion, type OpenApi, type Schema } from '../domain/completion';

/** Most suggestions that are shown at once. */
const most = 40;

/**
 * A text area for documents. It keeps the indentation of the line before, and suggests the fields and
 * values that the schema has at the caret: while one types, or by Ctrl and the space bar. The arrow
 * keys choose, Enter and Tab take, and Escape closes the list.
 */
export function Editor({
  text,
  change,
  label,
  api,
  schema,
  wrong,
  line,
}: {
  text: string;
  change: (text: string) => void;
  label: string;
  api?: OpenApi;
  schema?: Schema;
  wrong: boolean;
  /** Where the caret is to go, anew with each object. */
  line?: { number: number };
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState(0);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const id = useId();
  const found = useMemo(
    (): Completion | undefined => (api && schema ? complete(api, schema, text, caret) : undefined),
    [api, schema, text, caret],
  );
  const list = open ? (found?.suggestions ?? []).slice(0, most) : [];
  useEffect(() => area.current?.focus(), []);
  useEffect(() => {
    const element = area.current;
    if (!line || !element) return;
    const lines = element.value.split('\n');
    const start = lines.slice(0, line.number - 1).reduce((n, l) => n + l.length + 1, 0);
    element.focus();
    element.setSelectionRange(start, start + (lines[line.number - 1]?.length ?? 0));
  }, [line]);

  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, at]);

  /** Puts text in the place of a part, so that the browser's undo knows of it. */
  const put = (insert: string, from: number, to: number) => {
    const element = area.current!;
    element.focus();
    element.setSelectionRange(from, to);
    if (!document.execCommand('insertText', false, insert)) {
      element.setRangeText(insert, from, to, 'end');
      change(element.value);
    }
    setCaret(element.selectionEnd);
  };
  /** Where the list is: below the line of the caret, which nothing wraps. */
  const place = (): React.CSSProperties => {
    const element = area.current;
    if (!element || !found) return {};
    const style = getComputedStyle(element);
    const before = text.slice(0, found.from).split('\n');
    const top = parseFloat(style.paddingTop) + before.length * parseFloat(style.lineHeight) - element.scrollTop;
    return {
      top: Math.max(0, Math.min(top, element.clientHeight)),
      left: `min(${before.at(-1)!.length}ch, 40%)`,
    };
  };
  const take = (i: number) => {
    const s = list[i];
    if (!s || !found) return;
    put(s.insert, found.from, found.to);
    setOpen(s.insert.endsWith(': '));
    setAt(-1);
  };
  return (
    <div className="editor">
      <textarea
        ref={area}
        aria-label={label}
        aria-invalid={wrong}
        aria-autocomplete="list"
        aria-controls={list.length > 0 ? `${id}-list` : undefined}
        aria-activedescendant={list[at] ? `${id}-${at}` : undefined}
        aria-describedby={`${id}-about`}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        wrap="off"
        rows={Math.min(30, Math.max(10, text.split('\n').length + 1))}
        value={text}
        onChange={(e) => {
          const typed = e.target.value.length > text.length;
          change(e.target.value);
          setCaret(e.target.selectionEnd);
          setOpen(typed && /[\w: ]/.test(e.target.value[e.target.selectionEnd - 1] ?? ''));
          setAt(-1);
        }}
        onSelect={(e) => setCaret(e.currentTarget.selectionEnd)}
        onBlur={() => setOpen(false)}
        onKeyDown={(e) => {
          const element = e.currentTarget;
          if (e.key === ' ' && e.ctrlKey) {
            e.preventDefault();
            setCaret(element.selectionEnd);
            setOpen(true);
            setAt(0);
          } else if (list.length > 0 && (e.key === 'ArrowDown' || e.key === 'ArrowUp')) {
            e.preventDefault();
            setAt((i) => Math.min(list.length - 1, Math.max(0, i + (e.key === 'ArrowDown' ? 1 : -1))));
          } else if (list[at] && (e.key === 'Enter' || e.key === 'Tab')) {
            e.preventDefault();
            take(at);
          } else if (open && e.key === 'Escape') {
            e.preventDefault();
            setOpen(false);
          } else if (e.key === 'Enter' && !e.shiftKey && !e.ctrlKey && !e.metaKey) {
            e.preventDefault();
            const before = element.value.slice(0, element.selectionStart).split('\n').pop()!;
            const indent = /^ */.exec(before)![0] + (/:\s*$/.test(before) ? '  ' : '');
            put(`\n${indent}`, element.selectionStart, element.selectionEnd);
          }
        }}
      />
      {list.length > 0 && (
        <ul id={`${id}-list`} role="listbox" aria-label="Suggestions" className="found suggestions" style={place()}>
          {list.map((s, i) => (
            <li
              key={s.text}
              id={`${id}-${i}`}
              role="option"
              aria-selected={i === at}
              // The focus stays in the text.
              onMouseDown={(e) => {
                e.preventDefault();
                take(i);
              }}
            >
              <code>{s.text}</code>
              {s.required && <span className="quiet"> required</span>}
              {s.about && <span className="quiet"> {s.about}</span>}
            </li>
          ))}
        </ul>
      )}
      <p id={`${id}-about`} className="quiet about">
        {list[at]?.about ?? found?.about ?? 'Ctrl and space suggest what may stand here.'}
      </p>
    </div>
  );
}
