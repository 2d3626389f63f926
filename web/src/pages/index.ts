import { lazy, type ComponentType } from 'react';
import type { PageName } from '../domain/pages';

type View = ComponentType<{ path: string[] }>;

/** A page that comes when somebody opens it. */
const page = <N extends string>(load: () => Promise<Record<N, View>>, name: N) =>
  lazy(async () => ({ default: (await load())[name] }));

/** The component of each page. It gets the path behind the name of the page. */
export const views: Record<PageName, View> = {
  overview: page(() => import('./overview'), 'Overview'),
  wall: page(() => import('./overview'), 'Wall'),
  gallery: page(() => import('./gallery'), 'Gallery'),
  fabric: page(() => import('./fabric'), 'Fabric'),
  switches: page(() => import('./switches'), 'Switches'),
  hosts: page(() => import('./hosts'), 'Hosts'),
  groups: page(() => import('./groups'), 'Groups'),
  jobs: page(() => import('./jobs'), 'Jobs'),
  leases: page(() => import('./leases'), 'Leases'),
  maintenances: page(() => import('./maintenances'), 'Maintenances'),
  'what-if': page(() => import('./whatif'), 'WhatIf'),
  journey: page(() => import('./journey'), 'Journey'),
  repairs: page(() => import('./repairs'), 'Repairs'),
  evs: page(() => import('./evs'), 'Evs'),
  pfc: page(() => import('./pfc'), 'Pfc'),
  tenants: page(() => import('./tenants'), 'Tenants'),
  'srv6-policies': page(() => import('./srv6'), 'Srv6Policies'),
  projects: page(() => import('./projects'), 'Projects'),
  peers: page(() => import('./peers'), 'Peers'),
  events: page(() => import('./events'), 'Events'),
  documents: page(() => import('./documents'), 'Documents'),
  controllers: page(() => import('./controllers'), 'Controllers'),
  audit: page(() => import('./audit'), 'Audit'),
  access: page(() => import('./access'), 'Access'),
  notifications: page(() => import('./notifications'), 'Notifications'),
};
