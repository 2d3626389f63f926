import type { ReactNode } from 'react';
import { formatPlace } from '../domain/route';
import { may, useSession } from '../api/session';
import { pages } from '../domain/pages';
import { pageOf } from '../domain/place';
import { looked, usePlace, type Look } from '../store/place';
import type { Schemas } from '../api/client';

export interface ToProps {
  path: string[];
  query?: Record<string, string | undefined>;
  className?: string;
  current?: boolean;
}

/** A link to a place in the dashboard; plain text where that has no page, or none that the user may see. */
export function To(props: ToProps & { children: ReactNode }) {
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

/** Links far enough from each other for a finger. */
function Links(props: { of: readonly string[]; to: (key: string) => ToProps; text?: (key: string) => ReactNode }) {
  return (
    <span className="names">
      {props.of.map((key) => (
        <To key={key} {...props.to(key)}>
          {props.text ? props.text(key) : key}
        </To>
      ))}
    </span>
  );
}

/** Links to several objects of one page. */
export const Names = ({ of, page }: { of: readonly string[]; page: string }) => (
  <Links of={of} to={(name) => ({ path: [page, name] })} />
);

/** Links to resources of several kinds, such as tenants/acme. */
export const Resources = ({ of }: { of: readonly string[] }) => (
  <Links of={of} to={pageOf} text={(key) => key.slice(key.indexOf('/') + 1)} />
);

/** Links to links of the fabric, by their ids. */
export const LinkNames = ({ of }: { of: readonly string[] }) => (
  <Links of={of} to={(link) => ({ path: ['fabric'], query: { link } })} text={(id) => <code>{id}</code>} />
);
