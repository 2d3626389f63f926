import type { ComponentType } from 'react';
import type { PageName } from '../domain/pages';
import { Access } from './access';
import { Audit } from './audit';
import { Controllers } from './controllers';
import { Documents } from './documents';
import { Events } from './events';
import { Evs } from './evs';
import { Fabric } from './fabric';
import { Groups } from './groups';
import { Hosts } from './hosts';
import { Jobs } from './jobs';
import { Leases } from './leases';
import { Maintenances } from './maintenances';
import { Notifications } from './notifications';
import { Overview } from './overview';
import { Peers } from './peers';
import { Pfc } from './pfc';
import { Projects } from './projects';
import { Srv6Policies } from './srv6';
import { Switches } from './switches';
import { Tenants } from './tenants';

/** The component of each page. It gets the path behind the name of the page. */
export const views: Record<PageName, ComponentType<{ path: string[] }>> = {
  overview: Overview,
  fabric: Fabric,
  switches: Switches,
  hosts: Hosts,
  groups: Groups,
  jobs: Jobs,
  leases: Leases,
  maintenances: Maintenances,
  evs: Evs,
  pfc: Pfc,
  tenants: Tenants,
  'srv6-policies': Srv6Policies,
  projects: Projects,
  peers: Peers,
  events: Events,
  documents: Documents,
  controllers: Controllers,
  audit: Audit,
  access: Access,
  notifications: Notifications,
};
