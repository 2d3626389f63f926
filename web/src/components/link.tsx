import type { ReactNode } from 'react';
import { formatPlace } from '../domain/route';

/** A link to a place in the dashboard. */
export function To({ path, query, children, className, current }: {
  path: string[]; query?: Record<string, string | undefined>; children: ReactNode; className?: string; current?: boolean;
}) {
  return <a href={formatPlace(path, query)} className={className} aria-current={current ? 'page' : undefined}>{children}</a>;
}
