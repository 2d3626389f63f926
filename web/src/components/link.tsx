import type { ReactNode } from 'react';
import { formatPlace } from '../domain/route';
import { pages } from '../pages';

/** A link to a place in the dashboard; plain text where that has no page. */
export function To({ path, query, children, className, current }: {
  path: string[]; query?: Record<string, string | undefined>; children: ReactNode; className?: string; current?: boolean;
}) {
  if (!pages.some((p) => p.name === path[0])) return <span className={className}>{children}</span>;
  return <a href={formatPlace(path, query)} className={className} aria-current={current ? 'page' : undefined}>{children}</a>;
}
