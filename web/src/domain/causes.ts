import type { components } from '../api/schema';

export type Cause = components['schemas']['Cause'];
export type Severity = Cause['severity'];

/** Counts what a cause concerns, such as "2 EV profiles and 1 multicast group". */
export function affected(c: Pick<Cause, 'counts'>): string {
  const parts = (c.counts ?? []).map(({ kind, count }) => `${count} ${count === 1 ? kind : plural(kind)}`);
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

const plural = (kind: string) =>
  kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : kind.endsWith('ch') ? `${kind}es` : `${kind}s`;

/** The page that shows the resource that a finding is about: object is its path below /v1. */
export function pageOf(object: string | undefined): { path: string[]; query?: Record<string, string> } {
  const at = (object ?? '').indexOf('/');
  const [kind, name] = at < 0 ? [object ?? '', ''] : [object!.slice(0, at), object!.slice(at + 1)];
  switch (kind) {
    case 'switches':
      return { path: name ? ['switches', name] : ['switches'] };
    case 'links':
      return { path: ['fabric'], query: name ? { link: name } : undefined };
    case 'nodes':
      return { path: ['fabric'], query: { node: name } };
    case 'planes':
      return { path: ['fabric'], query: { plane: name } };
    case 'bgp-peers':
      return { path: ['peers'], query: name ? { peer: name } : undefined };
    case 'hosts':
      return { path: ['hosts', name.split('/')[0]!] };
    case 'ev-profiles':
      return { path: ['evs', name] };
    case 'multicast-groups':
      return { path: ['groups', name] };
    case 'srv6-policies':
      return { path: ['pfc'], query: { srv6: name } };
    case 'tenants':
      return { path: ['pfc'], query: { tenant: name } };
    case 'pfc-policies':
      return { path: ['pfc', name] };
    case 'controllers':
      return { path: ['controllers'] };
    default:
      return { path: [kind || ''] };
  }
}
