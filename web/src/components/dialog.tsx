import { useEffect, useRef, type ReactNode } from 'react';

/**
 * A modal dialog: Escape closes it, and the focus goes back to where it was. Without close it stays
 * until its parent removes it.
 */
export function Dialog({ title, close, children }: { title: string; close?: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={title}
      onCancel={(e) => {
        e.preventDefault();
        close?.();
      }}
      onClick={(e) => {
        if (e.target === element.current) close?.();
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
