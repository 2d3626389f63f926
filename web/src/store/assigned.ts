import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay, useSession } from '../api/session';
import { assigned, projectOf, type Assigned } from '../domain/project';

/** What a form may offer for the resource of a name; undefined: everything that there is. */
type AssignedTo = (name: string) => Assigned | undefined;

/** What is assigned to projects, as far as the user may know. */
export function useAssigned(): { of: AssignedTo; within: string[] } {
  const session = useSession(),
    everything = useMay('read');
  const projects = useQuery({ ...ask.projects, enabled: useMay('tenant:read') });
  return useMemo(() => {
    const all: Schemas['Project'][] = projects.data ?? [];
    const editor = (session?.projects ?? []).filter((p) => p.role === 'editor').map((p) => p.name);
    return {
      within: session?.role === 'admin' ? [] : editor,
      of: (name) => {
        const one = projectOf(name, all);
        if (one) return assigned([one]);
        return everything ? undefined : assigned(all.filter((p) => editor.includes(p.name)));
      },
    };
  }, [projects.data, session, everything]);
}

/** The names of hosts by their addresses: those of the topology, or of the user's projects. */
export function useHostNames(): Map<string, string> {
  const everything = useMay('read');
  const topology = useQuery({ ...ask.topology, enabled: everything }),
    projects = useQuery({ ...ask.projects, enabled: useMay('tenant:read') });
  return useMemo(
    () =>
      new Map([
        ...(projects.data ?? [])
          .flatMap((p) => p.status.things ?? [])
          .flatMap((t) => (t.kind === 'host' && t.address ? [[t.address, t.name] as const] : [])),
        ...(topology.data?.hosts ?? []).map((h) => [h.address, h.name] as const),
      ]),
    [topology.data, projects.data],
  );
}
