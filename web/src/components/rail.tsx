import * as sign from 'lucide-react';
import type { ReactNode } from 'react';
import icon from '../icon.svg';
import { heads, type Page, type PageName } from '../domain/pages';
import { To } from './link';

/** A sign for each page of the rail, beside its name. */
const signs: Partial<Record<PageName, ReactNode>> = {
  overview: <sign.LayoutDashboard aria-hidden />,
  fabric: <sign.Network aria-hidden />,
  switches: <sign.Box aria-hidden />,
  hosts: <sign.Server aria-hidden />,
  evs: <sign.Route aria-hidden />,
  groups: <sign.GitFork aria-hidden />,
  jobs: <sign.Waypoints aria-hidden />,
  events: <sign.Activity aria-hidden />,
  pfc: <sign.Building2 aria-hidden />,
  projects: <sign.Users aria-hidden />,
  documents: <sign.FileText aria-hidden />,
  controllers: <sign.ServerCog aria-hidden />,
  access: <sign.KeyRound aria-hidden />,
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
