/** Where something is shown: a page, and what of it is chosen. */
export interface Place {
  path: string[];
  query?: Record<string, string>;
}

/** The page that shows a resource, or its collection: object is its path below /v1. */
export function pageOf(object: string | undefined): Place {
  const at = (object ?? '').indexOf('/');
  const [kind, name] = at < 0 ? [object ?? '', ''] : [object!.slice(0, at), object!.slice(at + 1)];
  switch (kind) {
    case 'links':
      return { path: ['fabric'], query: name ? { link: name } : undefined };
    case 'nodes':
      return { path: ['fabric'], query: { node: name } };
    case 'planes':
      return { path: ['fabric'], query: { plane: name } };
    case 'bgp-peers':
      return { path: ['peers'], query: name ? { peer: name } : undefined };
    case 'hosts': // and their ports
      return { path: name ? [kind, name.split('/')[0]!] : [kind] };
    case 'switches': {
      const [sw, , port] = name.split('/');
      return { path: sw ? [kind, sw] : [kind], query: port ? { port } : undefined };
    }
    case 'ev-profiles':
      return { path: ['evs', name] };
    case 'multicast-groups':
      return { path: ['groups', name] };
    case 'silences':
    case 'networks':
    case 'cc-profiles':
      return { path: name ? ['documents', kind, name] : ['documents', kind] };
    case 'pfc-policies':
      return { path: ['pfc', name] };
    default: // the page has the name of the collection
      return { path: name ? [kind, name] : [kind] };
  }
}
