/** What of the API an event of a family says is no longer as it was; the names are those of queries. */
export const families: Record<string, string[]> = {
  group: ['groups', 'multicast-groups', 'projects'],
  receiver: ['groups'],
  cause: ['causes'],
  silence: ['causes', 'silences'],
  lease: ['leases', 'jobs'],
  maintenance: ['maintenances', 'jobs'],
  notification: ['notifications'],
  switch: ['switches', 'ready', 'nodes', 'links', 'hosts', 'fabric'],
  topology: [
    'topology',
    'ready',
    'nodes',
    'links',
    'hosts',
    'planes',
    'fabric',
    'profiles',
    'srv6-policies',
    'pfc-policies',
    'peers',
  ],
  'bgp-peer': ['peers', 'ready', 'topology'],
  'srv6-policy': ['srv6-policies', 'tenants', 'pfc-policies', 'projects'],
  tenant: ['tenants', 'srv6-policies', 'pfc-policies', 'projects'],
  project: ['projects'],
  job: ['jobs', 'projects'],
  'pfc-policy': ['pfc-policies', 'srv6-policies', 'tenants', 'projects'],
  pfc: ['pfc-policies'],
  fabric: ['fabric', 'planes', 'nodes', 'links', 'hosts', 'profiles', 'ready'],
  link: ['links', 'nodes', 'planes', 'fabric', 'profiles', 'suspects'],
  drain: ['links', 'nodes', 'planes', 'hosts', 'fabric', 'profiles'],
  'ev-profile': ['profiles', 'ev-profiles', 'fabric'],
  suspect: ['suspects', 'links', 'fabric', 'profiles'],
  balance: ['balance'],
  orphan: ['switches'],
  port: ['switches', 'links', 'groups', 'pfc-policies'],
  entries: ['switches'],
  network: ['topology', 'networks'],
  controller: ['ready', 'health'],
  store: ['ready'],
  host: ['hosts', 'fabric', 'ready'],
};

/** Returns the queries that an event makes stale; undefined, for a gap and for what is not known here: all of them. */
export function stale(type: string): string[] | undefined {
  return families[type.split('.')[0]!];
}
