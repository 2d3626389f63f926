import type { Schemas } from '../api/client';
import { natural } from './natural';

/** What projects have together, as forms offer it. */
export interface Assigned {
  /** Names of the projects. */
  projects: string[];
  /** Addresses of hosts, with their names. */
  hosts: { value: string; label: string }[];
  /** SWITCH/PORT. */
  ports: { value: string }[];
  slices: { value: string }[];
  priorities: { value: string }[];
  srv6Policies: { value: string }[];
  /** Prefixes and ranges, as text. */
  proxies: string[];
  qpns: string[];
  /** Bit/s that are left; undefined: no limit. */
  bandwidth?: number;
}

const number = (n: number | bigint | undefined) => (n === undefined ? undefined : Number(n));

/** Reports whether a resource of a name is a project's by its name. */
export function covers(project: string, name: string): boolean {
  return name === project || name.startsWith(`${project}-`) || name.startsWith(`${project}.`);
}

/** Returns the project that a resource of a name is of, the one with the longest name; undefined: it is of none. */
export function projectOf(name: string, projects: readonly Schemas['Project'][]): Schemas['Project'] | undefined {
  return projects
    .filter((p) => covers(p.name, name))
    .reduce<Schemas['Project'] | undefined>((a, b) => (a && a.name.length >= b.name.length ? a : b), undefined);
}

/**
 * Reports whether a user may change the resource of a name: an administrator may change all, others
 * those of projects that they are editors of.
 */
export function changes(session: Schemas['Session'] | undefined, name: string): boolean {
  return (
    session?.role === 'admin' || (session?.projects ?? []).some((p) => p.role === 'editor' && covers(p.name, name))
  );
}

/** Returns what projects have together. */
export function assigned(projects: readonly Schemas['Project'][]): Assigned {
  const things = projects.flatMap((p) => p.status.things ?? []);
  const names = (kind: Schemas['ProjectThing']['kind']) =>
    [...new Set(things.filter((t) => t.kind === kind).map((t) => t.name))].sort(natural);
  const values = (kind: Schemas['ProjectThing']['kind']) => names(kind).map((value) => ({ value }));
  const hosts = new Map(things.filter((t) => t.kind === 'host' && t.address).map((t) => [t.address!, t]));
  return {
    projects: projects.map((p) => p.name),
    hosts: [...hosts].map(([value, t]) => ({
      value,
      label: `${t.name}: ${value}${t.ports?.[0] ? ` at ${t.ports[0].switch}` : ''}`,
    })),
    ports: values('port'),
    slices: values('slice'),
    priorities: values('priority'),
    srv6Policies: [...new Set(projects.flatMap((p) => p.status.srv6Policies ?? []))]
      .sort(natural)
      .map((value) => ({ value })),
    proxies: names('proxy'),
    qpns: names('designatedQpn'),
    bandwidth: projects.length === 1 ? number(projects[0]!.status.left.bandwidth) : undefined,
  };
}

/** Says what the name of a new resource must be like; undefined: any name will do. */
export function nameHint(projects: readonly string[]): string | undefined {
  if (projects.length === 0) return undefined;
  const one = projects.map((p) => `${p}, or ${p}- and more`).join('; or ');
  return `${one}.`;
}

/** A quota with what is used of it. */
export interface Quota {
  what: string;
  used: number;
  limit?: number;
  left?: number;
  unit: '' | 'bit/s';
}

/** What projects have a quota of, by the names of the API. */
const limited: [
  what: string,
  of: keyof Schemas['Project']['status']['used'] & keyof Schemas['Project']['status']['left'],
][] = [
  ['Multicast groups', 'groups'],
  ['Receivers', 'receivers'],
  ['Tenants', 'tenants'],
  ['PFC policies', 'policies'],
  ['Jobs', 'jobs'],
  ['Ranks of jobs', 'ranks'],
  ['Leases', 'leases'],
  ['Links of leases', 'leaseLinks'],
  ['Bandwidth of leases', 'leaseBandwidth'],
  ['Bandwidth', 'bandwidth'],
];

/** Returns what a project may make, has made, and may still make. */
export function quotas({ spec, status: { used, left } }: Schemas['Project']): Quota[] {
  const limits = { ...spec.quotas, bandwidth: spec.bandwidth };
  return limited.map(([what, of]) => ({
    what,
    used: Number(used[of]),
    limit: number(limits[of]),
    left: number(left[of]),
    unit: /bandwidth$/i.test(of) ? 'bit/s' : '',
  }));
}
