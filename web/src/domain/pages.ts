import type { Scope } from '../api/session';
import { grouped } from './grouped';

/** The pages of the dashboard, in the order of the navigation. pages/index.ts has their components. */
const list = [
  { name: 'overview', title: 'Overview', key: 'o', scope: 'self' },
  { name: 'wall', title: 'Wall', key: '', scope: 'read', hidden: true },
  { name: 'gallery', title: 'Gallery', key: '', scope: 'self', hidden: true },
  { name: 'fabric', title: 'Fabric', key: 'f', scope: 'read', group: 'Fabric' },
  { name: 'switches', title: 'Switches', key: 's', scope: 'read', group: 'Fabric' },
  { name: 'hosts', title: 'Hosts', key: 'h', scope: 'read', group: 'Fabric' },
  { name: 'evs', title: 'EVs', key: 'e', scope: 'read', group: 'Fabric' },
  { name: 'what-if', title: 'What if', key: 'x', scope: 'read', under: 'fabric' },
  { name: 'journey', title: 'Journey', key: 'y', scope: 'operate', under: 'switches' },
  { name: 'repairs', title: 'Repairs', key: 'r', scope: 'read', under: 'fabric' },
  { name: 'groups', title: 'Groups', key: 'm', scope: 'tenant:read', group: 'Traffic' },
  { name: 'jobs', title: 'Jobs', key: 'j', scope: 'tenant:read', group: 'Traffic' },
  { name: 'leases', title: 'Leases', key: 'l', scope: 'tenant:read', under: 'jobs' },
  { name: 'maintenances', title: 'Maintenances', key: 'w', scope: 'read', under: 'jobs' },
  { name: 'events', title: 'Events', key: 'v', scope: 'tenant:read', group: 'Traffic' },
  { name: 'pfc', title: 'Tenants', key: 't', scope: 'tenant:read', group: 'Tenants' },
  { name: 'tenants', title: 'Tenants', key: '', scope: 'tenant:read', under: 'pfc', hidden: true },
  { name: 'srv6-policies', title: 'SRv6 policies', key: '', scope: 'read', under: 'pfc', hidden: true },
  { name: 'projects', title: 'Projects', key: 'p', scope: 'tenant:read', group: 'Tenants' },
  { name: 'documents', title: 'Documents', key: 'd', scope: 'tenant:read', group: 'Admin' },
  { name: 'controllers', title: 'Controllers', key: 'c', scope: 'read', group: 'Admin' },
  { name: 'peers', title: 'BGP peers', key: 'b', scope: 'read', under: 'controllers' },
  { name: 'notifications', title: 'Notifications', key: 'n', scope: 'administer', under: 'events' },
  { name: 'access', title: 'Access', key: 'u', scope: 'administer', group: 'Admin' },
  { name: 'audit', title: 'Audit', key: 'a', scope: 'administer', under: 'access' },
] as const satisfies readonly Page<string>[];

export type PageName = (typeof list)[number]['name'];

export interface Page<Name = PageName> {
  /** First segment of its path. */
  name: Name;
  title: string;
  /** Pressed after g. */
  key: string;
  /** What a user must at least be allowed to do to see it. */
  scope: Scope;
  /** What pages of the navigation stand below; absent: it stands by itself, or under another. */
  group?: string;
  /** The page of the navigation that it belongs to. */
  under?: Name;
  /** It shows one object, to which others have links: no menu has it. */
  hidden?: true;
}

export const pages: readonly Page[] = list;

/** Returns the pages of the navigation of those that a user may see, by their groups: others are one step further. */
export function heads(of: readonly Page[]): [group: string, pages: Page[]][] {
  const shown = of.filter((p) => !p.hidden && !(p.under && of.some((head) => head.name === p.under)));
  return [...grouped(shown, (p) => p.group ?? pages.find((head) => head.name === p.under)?.group ?? '')];
}

/** Returns a page and those that belong together with it; none where it stands alone. */
export function related(of: readonly Page[], page: Page): Page[] {
  const head = page.under ?? page.name;
  const all = of.filter((p) => !p.hidden && (p.name === head || p.under === head));
  return all.length > 1 ? all : [];
}
