import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { names } from '../domain/network';
import { cutOff } from '../domain/cutoff';
import { Badge } from './badge';
import { Failure, Loading } from './states';

/** Shows what a port cuts off when it goes out of service. */
export function CutOff({ port: p }: { port: Schemas['Port'] }) {
  const links = useQuery(ask.links),
    hosts = useQuery(ask.hosts),
    groups = useQuery(ask.groups),
    tenants = useQuery(ask.tenants);
  const asked = [links, hosts, groups, tenants];
  const c = useMemo(
    () =>
      links.data && hosts.data && groups.data && tenants.data
        ? cutOff(p.status, links.data, hosts.data, groups.data, tenants.data)
        : undefined,
    [p.status, links.data, hosts.data, groups.data, tenants.data],
  );
  const failed = asked.find((q) => q.isError);
  if (failed) return <Failure error={failed.error} />;
  if (!c) return <Loading what="what it cuts off" />;
  const nothing = c.hosts.length + c.switches.length + c.groups.length + c.tenants.length === 0;
  return (
    <div role="status" className="cutoff">
      {nothing ? (
        <p>
          <Badge tone="ok">It cuts off nobody</Badge>: every switch and host keeps another way.
        </p>
      ) : (
        <>
          <p>
            <Badge tone="fault">
              It cuts off{' '}
              {[
                c.hosts.length > 0 && `${c.hosts.length === 1 ? 'host' : 'hosts'} ${names(c.hosts)}`,
                c.switches.length > 0 && `${c.switches.length === 1 ? 'switch' : 'switches'} ${names(c.switches)}`,
                c.hosts.length + c.switches.length === 0 && 'what is connected there',
              ]
                .filter(Boolean)
                .join(' and ')}
            </Badge>
            {c.hosts.length + c.switches.length > 0 &&
              `: there is no other way to ${c.hosts.length + c.switches.length === 1 ? 'it' : 'them'}.`}
          </p>
          <ul>
            {c.groups.map((g) => (
              <li key={g.name}>
                Group {g.name} no longer reaches {names(g.receivers)}, and is held up until they are taken out.
              </li>
            ))}
            {c.tenants.map((t) => (
              <li key={t.name}>
                Tenant {t.name} loses its {t.sites.length === 1 ? 'site' : 'sites'} at {names(t.sites)}.
              </li>
            ))}
          </ul>
        </>
      )}
      {c.fewer.map((f) => (
        <p key={f.host}>
          Host {f.host} keeps {f.left} of its {f.all} ports.
        </p>
      ))}
      {c.moved.length > 0 && (
        <p>
          {c.moved.length === 1 ? 'The tree of group' : 'The trees of groups'} {names(c.moved)}{' '}
          {c.moved.length === 1 ? 'takes' : 'take'} another way.
        </p>
      )}
    </div>
  );
}
