import type { ComponentType } from 'react';
import { Controllers } from './controllers';
import { Events } from './events';
import { Evs } from './evs';
import { Fabric } from './fabric';
import { Groups } from './groups';
import { Hosts } from './hosts';
import { Overview } from './overview';
import { Peers } from './peers';
import { Pfc } from './pfc';
import { Switches } from './switches';

export interface Page {
  /** First segment of its path. */
  name: string;
  title: string;
  /** Pressed after g. */
  key: string;
  view: ComponentType<{ path: string[] }>;
}

export const pages: Page[] = [
  { name: 'overview', title: 'Overview', key: 'o', view: Overview },
  { name: 'fabric', title: 'Fabric', key: 'f', view: Fabric },
  { name: 'switches', title: 'Switches', key: 's', view: Switches },
  { name: 'hosts', title: 'Hosts', key: 'h', view: Hosts },
  { name: 'groups', title: 'Groups', key: 'm', view: Groups },
  { name: 'evs', title: 'EVs', key: 'e', view: Evs },
  { name: 'pfc', title: 'Tenants', key: 't', view: Pfc },
  { name: 'peers', title: 'BGP peers', key: 'b', view: Peers },
  { name: 'events', title: 'Events', key: 'v', view: Events },
  { name: 'controllers', title: 'Controllers', key: 'c', view: Controllers },
];
