import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import { Badge } from './badge';
import { To } from './link';

/** The jobs that depend on a part of the network, with how many of their ranks; nothing where there is none. */
export function Dependents({ kind, name }: { kind: ask.PartKind; name: string }) {
  const jobs = useQuery(ask.dependents(kind, name));
  if (!jobs.data?.length) return null;
  return (
    <section className="dependents" aria-label="Jobs that depend on it">
      <p>Jobs that depend on it:</p>
      <ul>
        {jobs.data.map((j) => (
          <li key={j.name}>
            <To path={['jobs', j.name]}>{j.name}</To>, {j.affected} of {j.ranks} ranks, {j.phase.toLowerCase()}{' '}
            <Badge tone={j.go ? 'ok' : 'fault'}>{j.go ? 'GO' : 'NO-GO'}</Badge>
          </li>
        ))}
      </ul>
    </section>
  );
}
