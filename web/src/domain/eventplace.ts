import { pageOf, type Place } from './place';

/** The collections of the API that have the objects of events, by the family of these. */
const collections: Record<string, string> = {
  group: 'multicast-groups',
  receiver: 'multicast-groups',
  connection: 'multicast-groups',
  switch: 'switches',
  balance: 'switches',
  'bgp-peer': 'bgp-peers',
  link: 'links',
  'ev-profile': 'ev-profiles',
  host: 'hosts',
  'pfc-policy': 'pfc-policies',
  'srv6-policy': 'srv6-policies',
  tenant: 'tenants',
  project: 'projects',
  silence: 'silences',
  notification: 'notifications',
  network: 'networks',
  job: 'jobs',
  lease: 'leases',
  maintenance: 'maintenances',
};

/** Where the object of an event is shown; undefined when it has no page. */
export function placeOf(e: { type: string; object?: string }): Place | undefined {
  const object = e.object;
  if (!object || e.type === 'host.refused') return undefined; // its object is an address that no host has got
  const family = e.type.split('.')[0]!;
  const collection = collections[family];
  if (collection) return pageOf(`${collection}/${object}`);
  switch (family) {
    case 'pfc':
      return { path: ['pfc'] };
    case 'cause':
      return { path: [] };
    case 'suspect':
      return { path: ['fabric'] };
    case 'drain':
      return drained(object);
    default:
      return undefined;
  }
}

/** The target of a drain is a kind and a name, such as "link ID". */
function drained(target: string): Place {
  const space = target.indexOf(' ');
  const kind = target.slice(0, space),
    name = target.slice(space + 1);
  return { path: ['fabric'], query: kind === 'link' || kind === 'node' || kind === 'plane' ? { [kind]: name } : {} };
}
