import type { ReactNode } from 'react';
import { formatPlace } from '../domain/route';
import { may, useSession } from '../api/session';
import { pages } from '../domain/pages';
import { pageOf } from '../domain/place';
import { looked, usePlace, type Look } from '../store/place';
import type { Schemas } from '../api/client';

/** A link to a place in the dashboard; plain text where that has no page, or none that the user may see. */
export function To(props: {
  path: string[];
  query?: Record<string, string | undefined>;
  children: ReactNode;
  className?: string;
  current?: boolean;
}) {
  const { path, query, children, className, current } = props;
  const session = useSession();
  if (!pages.some((p) => p.name === path[0] && may(session, p.scope)))
    return <span className={className}>{children}</span>;
  return (
    <a href={formatPlace(path, query)} className={className} aria-current={current ? 'page' : undefined}>
      {children}
    </a>
  );
}

/** A link that opens something in the drawer beside the page. */
export function See({ kind, id, children }: { kind: Look; id: string; children: ReactNode }) {
  const { path, query } = usePlace();
  return (
    <To path={path} query={{ ...query, ...looked(kind, id) }}>
      {children}
    </To>
  );
}

/** The resource that wanted an entry of a table. */
export function Intent({ of }: { of: NonNullable<Schemas['EntryView']['intent']> }) {
  const page = { 'multicast-group': 'groups', 'pfc-policy': 'pfc', topology: 'fabric' }[of.kind];
  return (
    <To path={of.name ? [page, of.name] : [page]}>
      {of.name ? `group ${of.name}` : of.kind === 'topology' ? 'the topology' : 'PFC policies'}
    </To>
  );
}

/** Links to several objects of one page, far enough from each other for a finger. */
export function Names({ of, page }: { of: readonly string[]; page: string }) {
  return (
    <span className="names">
      {of.map((name) => (
        <To key={name} path={[page, name]}>
          {name}
        </To>
      ))}
    </span>
  );
}

/** Links to resources of several kinds, such as tenants/acme. */
export function Resources({ of }: { of: readonly string[] }) {
  return (
    <span className="names">
      {of.map((key) => (
        <To key={key} {...pageOf(key)}>
          {key.slice(key.indexOf('/') + 1)}
        </To>
      ))}
    </span>
  );
}

/** Links to links of the fabric, by their ids. */
export function LinkNames({ of }: { of: readonly string[] }) {
  return (
    <span className="names">
      {of.map((id) => (
        <To key={id} path={['fabric']} query={{ link: id }}>
          <code>{id}</code>
        </To>
      ))}
    </span>
  );
}
