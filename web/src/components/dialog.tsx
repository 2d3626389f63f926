import { useEffect, useRef, type ReactNode } from 'react';

/**
 * A modal dialog: Escape closes it, and the focus goes back to where it was. Without close it stays
 * until its parent removes it. The focus begins in the first field; of a question, at the answer that
 * takes nothing away.
 */
export function Dialog({ title, close, children }: { title: string; close?: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  // A selection that is dragged out of the dialog ends in a click on it, and closes nothing.
  const pressed = useRef(false);
  useEffect(() => {
    const dialog = element.current;
    if (!dialog) return undefined;
    const before = document.activeElement;
    if (!dialog.open) dialog.showModal();
    first(dialog).focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      else document.getElementById('main')?.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      tabIndex={-1}
      aria-label={title}
      onCancel={(e) => {
        e.preventDefault();
        close?.();
      }}
      onMouseDown={(e) => (pressed.current = e.target === element.current)}
      onClick={(e) => {
        if (pressed.current && e.target === element.current) close?.();
      }}
    >
      <div className="dialog">
        <header>
          <h2>{title}</h2>
          {close && (
            <button type="button" className="plain" onClick={close} aria-label="Close">
              ✕
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** The buttons of a dialog: what it asks for, perhaps without doing it, and the way out. */
export function Answers(props: {
  label: string;
  /** Absent: it submits the form that it is in. */
  act?: () => void;
  danger?: boolean;
  disabled: boolean;
  /** Asks what would follow. */
  trial?: { disabled: boolean; act: (form: HTMLFormElement | null) => void };
  close: () => void;
}) {
  const { label, act, danger, disabled, trial, close } = props;
  return (
    <p className="buttons">
      <button type={act ? 'button' : 'submit'} className={danger ? 'danger' : 'main'} disabled={disabled} onClick={act}>
        {label}
      </button>
      {trial && (
        <button type="button" disabled={trial.disabled} onClick={(e) => trial.act(e.currentTarget.form)}>
          Try without doing it
        </button>
      )}
      <button type="button" onClick={close}>
        Cancel
      </button>
    </p>
  );
}

/** Returns what gets the focus of a dialog when it opens: never what closes it, which comes first. */
function first(dialog: HTMLDialogElement): HTMLElement {
  // A dialog may lie among buttons itself.
  const find = (selector: string) => dialog.querySelector<HTMLElement>(`:scope > .dialog ${selector}`);
  return (
    find(':is(input:not([type=radio], :disabled), select:not(:disabled), textarea:not(:disabled))') ??
    (find('p.buttons .danger') ? find('p.buttons button:last-child') : find('p.buttons button:not(:disabled)')) ??
    dialog
  );
}
