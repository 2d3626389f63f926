import {
  Activity,
  Box,
  Building2,
  FileText,
  GitFork,
  KeyRound,
  LayoutDashboard,
  Network,
  Route,
  Server,
  ServerCog,
  Users,
  Waypoints,
} from 'lucide-react';
import type { ReactNode } from 'react';
import icon from '../icon.svg';
import { heads, type Page, type PageName } from '../domain/pages';
import { To } from './link';

/** A sign for each page of the rail, beside its name. */
const signs: Partial<Record<PageName, ReactNode>> = {
  overview: <LayoutDashboard aria-hidden />,
  fabric: <Network aria-hidden />,
  switches: <Box aria-hidden />,
  hosts: <Server aria-hidden />,
  evs: <Route aria-hidden />,
  groups: <GitFork aria-hidden />,
  jobs: <Waypoints aria-hidden />,
  events: <Activity aria-hidden />,
  pfc: <Building2 aria-hidden />,
  projects: <Users aria-hidden />,
  documents: <FileText aria-hidden />,
  controllers: <ServerCog aria-hidden />,
  access: <KeyRound aria-hidden />,
};

export function Brand() {
  return (
    <To path={['overview']} className="brand">
      <img src={icon} alt="" /> Weft
    </To>
  );
}

/** The pages that a user may see, by their groups. */
export function Rail({ of, page, className }: { of: readonly Page[]; page?: Page; className: string }) {
  return (
    <nav aria-label="Pages" id="pages" className={`rail ${className}`}>
      <Brand />
      {heads(of).map(([group, list]) => (
        <div key={group} role="group" aria-label={group || undefined}>
          {group && <span aria-hidden="true">{group}</span>}
          {list.map((p) => (
            <To key={p.name} path={[p.name]} current={p === page || p.name === page?.under}>
              {signs[p.name]}
              {p.title}
            </To>
          ))}
        </div>
      ))}
    </nav>
  );
}
