import { useState } from 'react';

/** A button that copies text, and says so. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState<string>();
  return (
    <>
      <button
        type="button"
        onClick={() => {
          void copy(text).then((ok) => setDone(ok ? 'Copied.' : 'The browser does not allow it.'));
        }}
      >
        {label}
      </button>
      <span role="status" className="quiet">
        {done}
      </span>
    </>
  );
}

async function copy(text: string): Promise<boolean> {
  // There is a clipboard only where the page came over TLS or from this machine.
  if (window.isSecureContext)
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Forbidden: the old way may do.
    }
  const area = document.createElement('textarea');
  area.value = text;
  area.readOnly = true;
  document.body.append(area);
  area.select();
  const ok = document.execCommand('copy');
  area.remove();
  return ok;
}
