/** Where the object of an event is shown; undefined when it has no page. */
export function placeOf(e: {
  type: string;
  object?: string;
}): { path: string[]; query?: Record<string, string> } | undefined {
  const object = e.object;
  if (!object) return undefined;
  switch (e.type.split('.')[0]) {
    case 'group':
    case 'receiver':
      return { path: ['groups', object] };
    case 'switch':
    case 'balance':
      return { path: ['switches', object] };
    case 'bgp-peer':
      return { path: ['peers'], query: { peer: object } };
    case 'link':
      return { path: ['fabric'], query: { link: object } };
    case 'ev-profile':
      return { path: ['evs', object] };
    case 'host':
      return { path: ['hosts', object] };
    case 'pfc-policy':
      return { path: ['pfc', object] };
    case 'srv6-policy':
      return { path: ['pfc'], query: { srv6: object } };
    case 'tenant':
      return { path: ['pfc'], query: { tenant: object } };
    case 'pfc':
      return { path: ['pfc'] };
    case 'cause':
    case 'silence':
      return { path: [] };
    case 'project':
      return { path: ['projects', object] };
    case 'job':
      return { path: ['jobs', object] };
    case 'suspect':
      return { path: ['fabric'] };
    case 'drain':
      return drained(object);
    default:
      return undefined;
  }
}

/** The target of a drain is a kind and a name, such as "link ID". */
function drained(target: string): { path: string[]; query?: Record<string, string> } {
  const space = target.indexOf(' ');
  const kind = target.slice(0, space),
    name = target.slice(space + 1);
  return { path: ['fabric'], query: kind === 'link' || kind === 'node' || kind === 'plane' ? { [kind]: name } : {} };
}
