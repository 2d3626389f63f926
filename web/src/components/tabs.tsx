import { useId, type ReactNode } from 'react';

export interface Tab {
  id: string;
  title: string;
  show: () => ReactNode;
}

/** Views of one thing, one at a time: the arrow keys go from one to the next. */
export function Tabs({
  of,
  chosen,
  choose,
  label,
}: {
  of: readonly Tab[];
  chosen: string;
  choose: (id: string) => void;
  label: string;
}) {
  const id = useId();
  const at = Math.max(
    0,
    of.findIndex((t) => t.id === chosen),
  );
  const tab = of[at];
  if (!tab) return null;
  return (
    <>
      <div
        role="tablist"
        aria-label={label}
        className="tabs"
        onKeyDown={(e) => {
          const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: of.length - 1 }[e.key];
          if (to === undefined) return;
          e.preventDefault();
          const next = (to + of.length) % of.length;
          choose(of[next]!.id);
          e.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
        }}
      >
        {of.map((t) => (
          <button
            key={t.id}
            id={`${id}-${t.id}`}
            type="button"
            role="tab"
            aria-selected={t === tab}
            aria-controls={t === tab ? `${id}-panel` : undefined}
            tabIndex={t === tab ? 0 : -1}
            onClick={() => choose(t.id)}
          >
            {t.title}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${tab.id}`}>
        {tab.show()}
      </div>
    </>
  );
}
