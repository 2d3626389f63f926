import { lazy, Suspense, useState } from 'react';
import type { Intent } from '../api/queries';
import type { Collection } from '../domain/kinds';
import { Loading } from './states';

// What reads and writes YAML is as large as all other pages: it comes when somebody looks at one object.
const Document = lazy(() => import('./document').then((m) => ({ default: m.Document })));
const NewDocument = lazy(() => import('./document').then((m) => ({ default: m.NewDocument })));

interface About {
  collection: Collection;
  name: string;
  of?: Intent;
}

/** The document of an object, who changed it, what happened to it, and what it has on switches. */
export function Documented(props: About & { folded?: boolean }) {
  return (
    <section className="document" aria-label={`Document of ${props.name}`}>
      <Suspense fallback={<Loading what="its document" />}>
        <Document key={`${props.collection}/${props.name}`} {...props} />
      </Suspense>
    </section>
  );
}

/** The document of what is a part of what a page shows: it comes when somebody opens it. */
export function Folded({ title, ...props }: About & { title?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="folded" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{title ?? 'Document and history'}</summary>
      {open && <Documented {...props} folded />}
    </details>
  );
}

/** A new object as a document. */
export function NewlyDocumented(props: { collection: Collection; done: (name: string) => void; close: () => void }) {
  return (
    <section className="document" aria-label="New document">
      <Suspense fallback={<Loading what="the editor" />}>
        <NewDocument key={props.collection} {...props} />
      </Suspense>
    </section>
  );
}
