import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { cutOff } from '../domain/cutoff';
import { nounOf } from '../domain/format';
import { names } from '../domain/network';
import { Badge } from './badge';
import { Failure, Loading } from './states';

/** Shows what a port cuts off when it goes out of service. */
export function CutOff({ port: p }: { port: Schemas['Port'] }) {
  const asked = useQueries({ queries: [ask.links, ask.hosts, ask.groups, ask.tenants] }),
    [{ data: links }, { data: hosts }, { data: groups }, { data: tenants }] = asked;
  const c = useMemo(
    () => links && hosts && groups && tenants && cutOff(p.status, links, hosts, groups, tenants),
    [p.status, links, hosts, groups, tenants],
  );
  const failed = asked.find((q) => q.isError);
  if (failed) return <Failure error={failed.error} />;
  if (!c) return <Loading what="what it cuts off" />;
  const { length: moved } = c.moved;
  const away = c.hosts.length + c.switches.length;
  const named = (noun: string, all: string[]) => all.length > 0 && `${nounOf(all.length, noun)} ${names(all)}`;
  const what = [named('host', c.hosts), named('switch', c.switches)].filter(Boolean).join(' and ');
  return (
    <div role="status" className="cutoff">
      {away + c.groups.length + c.tenants.length === 0 ? (
        <p>
          <Badge tone="ok">It cuts off nobody</Badge>: every switch and host keeps another way.
        </p>
      ) : (
        <>
          <p>
            <Badge tone="fault">It cuts off {what || 'what is connected there'}</Badge>
            {away > 0 && `: there is no other way to ${away === 1 ? 'it' : 'them'}.`}
          </p>
          <ul>
            {c.groups.map((g) => (
              <li key={g.name}>
                Group {g.name} no longer reaches {names(g.receivers)}, and is held up until they are taken out.
              </li>
            ))}
            {c.tenants.map((t) => (
              <li key={t.name}>
                Tenant {t.name} loses its {nounOf(t.sites.length, 'site')} at {names(t.sites)}.
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
      {moved > 0 && (
        <p>
          The {nounOf(moved, 'tree')} of {nounOf(moved, 'group')} {names(c.moved)} {moved === 1 ? 'takes' : 'take'}{' '}
          another way.
        </p>
      )}
    </div>
  );
}
