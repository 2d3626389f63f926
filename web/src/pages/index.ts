import type { ComponentType } from 'react';
import type { PageName } from '../domain/pages';
import { Audit } from './audit';
import { Controllers } from './controllers';
import { Events } from './events';
import { Evs } from './evs';
import { Fabric } from './fabric';
import { Groups } from './groups';
import { Hosts } from './hosts';
import { Jobs } from './jobs';
import { Leases } from './leases';
import { Maintenances } from './maintenances';
import { Overview } from './overview';
import { Peers } from './peers';
import { Pfc } from './pfc';
import { Projects } from './projects';
import { Switches } from './switches';

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
  projects: Projects,
  peers: Peers,
  events: Events,
  controllers: Controllers,
  audit: Audit,
};
