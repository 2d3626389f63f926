import type { ComponentType } from 'react';
import type { Scope } from '../api/session';
import { Audit } from './audit';
import { Controllers } from './controllers';
import { Events } from './events';
import { Evs } from './evs';
import { Fabric } from './fabric';
import { Groups } from './groups';
import { Hosts } from './hosts';
import { Overview } from './overview';
import { Peers } from './peers';
import { Pfc } from './pfc';
import { Projects } from './projects';
import { Switches } from './switches';

export interface Page {
  /** First segment of its path. */
  name: string;
  title: string;
  /** Pressed after g. */
  key: string;
  /** What its user may at least do. */
  scope: Scope;
  view: ComponentType<{ path: string[] }>;
}

export const pages: Page[] = [
  { name: 'overview', title: 'Overview', key: 'o', scope: 'self', view: Overview },
  { name: 'fabric', title: 'Fabric', key: 'f', scope: 'read', view: Fabric },
  { name: 'switches', title: 'Switches', key: 's', scope: 'read', view: Switches },
  { name: 'hosts', title: 'Hosts', key: 'h', scope: 'read', view: Hosts },
  { name: 'groups', title: 'Groups', key: 'm', scope: 'tenant:read', view: Groups },
  { name: 'evs', title: 'EVs', key: 'e', scope: 'read', view: Evs },
  { name: 'pfc', title: 'Tenants', key: 't', scope: 'tenant:read', view: Pfc },
  { name: 'projects', title: 'Projects', key: 'p', scope: 'tenant:read', view: Projects },
  { name: 'peers', title: 'BGP peers', key: 'b', scope: 'read', view: Peers },
  { name: 'events', title: 'Events', key: 'v', scope: 'tenant:read', view: Events },
  { name: 'controllers', title: 'Controllers', key: 'c', scope: 'read', view: Controllers },
  { name: 'audit', title: 'Audit', key: 'a', scope: 'administer', view: Audit },
];
