import type { ComponentType } from 'react';
import { Overview } from './overview';
import { Events } from './events';
import { Fabric } from './fabric';
import { Peers } from './peers';

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
  { name: 'peers', title: 'BGP peers', key: 'b', view: Peers },
  { name: 'events', title: 'Events', key: 'v', view: Events },
];
