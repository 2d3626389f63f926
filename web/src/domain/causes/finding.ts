import type { components } from '../../api/schema';

export type S = components['schemas'];

/** What the API says, as far as it is known now. */
export interface Known {
  ready?: S['ReadinessView'];
  switches?: S['SwitchStatus'][];
  peers?: S['BgpPeerView'][];
  topology?: S['TopologyView'];
  links?: S['FabricLink'][];
  nodes?: S['FabricNode'][];
  planes?: S['FabricPlane'][];
  hosts?: S['FabricHost'][];
  suspects?: S['SuspectView'][];
  profiles?: S['EvProfile'][];
  groups?: S['Group'][];
  tenants?: S['Tenant'][];
  srv6Policies?: S['Srv6Policy'][];
  pfcPolicies?: S['PfcPolicy'][];
  fabric?: S['FabricView'] | null;
  balance?: S['PlaneBalance'][];
}

/** What things are counted as, in what follows from a cause. */
export type Kind =
  | 'controller'
  | 'BGP-LS peer'
  | 'switch'
  | 'link'
  | 'drain'
  | 'fabric'
  | 'host'
  | 'host port'
  | 'EV profile'
  | 'multicast group'
  | 'SRv6 policy'
  | 'tenant'
  | 'PFC policy';

/** Something that is not as it should be, or that somebody has taken out of use. */
export interface Finding {
  /** The same as long as it lasts, whatever becomes of it meanwhile. */
  id: string;
  kind: Kind;
  /** work: what an operator has drained. */
  severity: 'fault' | 'warning' | 'work';
  /** A sentence without numbers that change, so that it stays as it is. */
  what: string;
  /** What is known of it now. */
  detail: string;
  /** What it means for traffic. */
  means: string;
  /** What an operator does about it. */
  todo: string;
  /** Path of the page that shows it. */
  path: string[];
  query?: Record<string, string>;
  since?: string;
  /** Ids of the findings that this one follows from. */
  because: string[];
}

export function condition(
  all: S['GroupCondition'][] | null | undefined,
  type: S['GroupCondition']['type'],
): S['GroupCondition'] | undefined {
  return all?.find((c) => c.type === type);
}

/** Lists names, at most three of them. */
export function names(all: string[]): string {
  if (all.length <= 3) return all.join(', ');
  return `${all.slice(0, 3).join(', ')} and ${all.length - 3} more`;
}

/** The id of the other direction of a link: that of the topology is LOCAL,PORT~REMOTE,PORT. */
export function reverse(id: string): string {
  const [from, to] = id.split('~');
  return to === undefined ? id : `${to}~${from}`;
}

export function linkName(l: S['FabricLink']): string {
  return `${l.status.fromName ?? l.status.from} → ${l.status.toName ?? l.status.to}`;
}

/** Reports which switches are lost, by their names and nodes. */
export function lostSwitches({ switches = [] }: Known): { byNode: Map<string, string>; byName: Set<string> } {
  const lost = switches.filter((s) => s.managed && !s.connected);
  return {
    byNode: new Map(lost.flatMap((s) => (s.node ? [[s.node, s.name] as const] : []))),
    byName: new Set(lost.map((s) => s.name)),
  };
}
