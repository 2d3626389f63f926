import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Component, Fragment, lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import * as ask from './api/queries';
import { signIn, signOut } from './api/actions';
import {
  began,
  chooseProject,
  currentSession,
  may,
  refuse,
  useProject,
  useSession,
  useWholeSession,
  type Session,
} from './api/session';
import { useMade, type Made } from './api/undo';
import { Badge } from './components/badge';
import { Choose } from './components/choose';
import { Dialog } from './components/dialog';
import { To } from './components/link';
import { Brand, Rail } from './components/rail';
import { Replay } from './components/replay';
import { Search } from './components/search';
import { Empty, Failure, Loading } from './components/states';
import { formatAge, formatTime } from './domain/format';
import { pages, related, type Page, type PageName } from './domain/pages';
import { views } from './pages';
import { submits, useChange } from './store/change';
import { useLive } from './store/live';
import { useNow } from './store/now';
import { go, usePlace } from './store/place';
import { setTheme, useTheme, type Theme } from './store/theme';

const Inspector = lazy(() => import('./components/inspector'));
/** The pages in which something is looked at beside them. */
const looking: readonly PageName[] = ['overview', 'wall', 'fabric', 'switches', 'hosts'];

/** Tells the styles how high the header is, since the drawer begins below it. */
function measured(header: HTMLElement) {
  const { style } = document.documentElement;
  const observer = new ResizeObserver(() => style.setProperty('--top', `${header.offsetHeight}px`));
  observer.observe(header);
  return () => {
    observer.disconnect();
    style.removeProperty('--top');
  };
}

export function App() {
  const place = usePlace();
  const session = useSession();
  const allowed = pages.filter((p) => may(session, p.scope));
  const page = pages.find((p) => p.name === place.path[0]);
  const View = page && views[page.name];
  const [open, setOpen] = useState<'search' | 'keys'>();
  // On a narrow screen the menu is open at the place where it was opened: another place closes it.
  const [menu, setMenu] = useState<string>();
  const here = place.path.join('/'),
    shown = `menu${menu === here ? ' shown' : ''}`;
  useKeys(setOpen);
  useEffect(() => {
    document.title = `${[...place.path.slice(1), page?.title ?? 'Not found'].join(' · ')} · Weft`;
  }, [place, page]);
  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to the content
      </a>
      {page?.name !== 'wall' && (
        <>
          <header className="top" ref={measured}>
            <Brand />
            <button
              type="button"
              className="open"
              aria-expanded={menu === here}
              aria-controls="pages"
              onClick={() => setMenu(menu === here ? undefined : here)}
            >
              <span aria-hidden="true">☰ </span>
              {page?.title ?? 'Menu'}
            </button>
            <span className="grow" />
            <div className={shown}>{session && session.name !== '' && <ProjectChoice />}</div>
            {may(session, 'tenant:read') && <LiveState />}
            <button type="button" onClick={() => setOpen('search')}>
              Search <kbd>/</kbd>
            </button>
            <div className={shown}>
              <ThemeChoice />
              <button type="button" onClick={() => setOpen('keys')} aria-label="Keys">
                ?
              </button>
              {session && session.way !== 'none' && session.name && <User of={session} />}
            </div>
            {session?.name && (
              <div className={place.query.at ? undefined : shown}>
                <Replay />
              </div>
            )}
          </header>
          <Rail of={allowed} page={page} className={shown} />
        </>
      )}
      <main id="main" tabIndex={-1} className={page?.name}>
        {page && session?.name && <Related of={related(allowed, page)} page={page} />}
        {place.query.deleted && may(session, 'administer') && (
          <p role="status">
            {place.query.deleted.split('/').at(-1)} is deleted.{' '}
            <To path={place.query.deleted.split('/')}>Its history, and the way back</To>
          </p>
        )}
        <Boundary key={here}>
          {!session ? (
            <Loading what="your session" />
          ) : session.name === '' ? null : page && !may(session, page.scope) ? (
            <Failure
              error={`${session.name} has the role ${session.role}, which may not see the page ${page.title}.`}
            />
          ) : View ? (
            <Suspense fallback={<Loading what="the page" />}>
              <View path={place.path.slice(1)} />
            </Suspense>
          ) : (
            <Empty>
              There is no page {place.path.join('/')}. <To path={['overview']}>Overview</To>
            </Empty>
          )}
        </Boundary>
      </main>
      {page && looking.includes(page.name) && may(session, 'read') && (
        <Suspense>
          <Inspector />
        </Suspense>
      )}
      <Undo />
      {open === 'search' && <Search close={() => setOpen(undefined)} />}
      {open === 'keys' && <Keys of={allowed} close={() => setOpen(undefined)} />}
      {session?.name === '' && <SignIn of={session} page={page} />}
    </>
  );
}

/** Links to the pages that belong together with this one. */
function Related({ of, page }: { of: readonly Page[]; page: Page }) {
  if (of.length === 0) return null;
  return (
    <nav aria-label="Related pages" className="tabs related">
      {of.map((p) => (
        <To key={p.name} path={[p.name]} current={p === page}>
          {p.title}
        </To>
      ))}
    </nav>
  );
}

/** g and a letter goes to a page, / searches, ? helps. */
function useKeys(open: (what: 'search' | 'keys') => void) {
  useEffect(() => {
    let prefix = 0;
    const press = (e: KeyboardEvent) => {
      const at = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || at.closest('input, textarea, select, dialog, .editor')) return;
      const page = pages.find((p) => p.key === e.key);
      if (e.key === '/') {
        e.preventDefault();
        open('search');
      } else if (e.key === '?') {
        e.preventDefault();
        open('keys');
      } else if (e.key === 'u') {
        document.querySelector<HTMLElement>('.undo button')?.click();
      } else if (e.key === 'g') {
        prefix = Date.now();
        return;
      } else if (page && Date.now() - prefix < 1500) go([page.name]);
      prefix = 0;
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [open]);
}

function Keys({ of, close }: { of: readonly Page[]; close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <dl className="keys">
        {[
          ['/', 'search for anything'],
          ['?', 'this help'],
          ['u', 'take back what was changed just now'],
          ...of.filter((p) => !p.hidden).map((p) => [`g ${p.key}`, p.title]),
          ['Esc', 'close a dialog'],
        ].map(([keys, text]) => (
          <div key={keys}>
            <dt>
              {keys!.split(' ').map((k) => (
                <Fragment key={k}>
                  <kbd>{k}</kbd>{' '}
                </Fragment>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
        <dt>arrow keys</dt>
        <dd>
          move in matrices, pictures and lists; <kbd>Enter</kbd> chooses
        </dd>
      </dl>
    </Dialog>
  );
}

/** The change that was made last, and the way back while it is offered. */
function Undo() {
  const made = useMade();
  const back = useChange((m: Made) => m.back());
  return (
    <div className="undo" role="status">
      {made && (
        <p className="chosen">
          Done: {made.what}.{' '}
          <button type="button" aria-keyshortcuts="u" disabled={back.isPending} onClick={() => back.mutate(made)}>
            Undo <kbd>u</kbd>
          </button>
        </p>
      )}
      {back.isError && <Failure error={back.error} />}
    </div>
  );
}

function LiveState() {
  const live = useLive();
  const now = useNow();
  const health = useQuery(ask.health);
  return (
    <span className="live" role="status">
      {live.state === 'live' ? (
        <Badge tone="ok" title={health.data ? `Weft ${health.data.version}` : undefined}>
          live
        </Badge>
      ) : live.state === 'lost' ? (
        <Badge tone="fault" title={`Last word at ${formatTime(new Date(live.since).toISOString(), now)}`}>
          silent for {formatAge(new Date(live.since).toISOString(), now)}
        </Badge>
      ) : (
        <Badge tone="quiet">connecting</Badge>
      )}
    </span>
  );
}

function ThemeChoice() {
  const theme = useTheme();
  return (
    <Choose
      name="Theme"
      value={theme}
      set={(t) => setTheme(t as Theme)}
      of={{ system: 'Auto', light: 'Light', dark: 'Dark' }}
    />
  );
}

/** The project that the user acts in. Who sees everything may choose any, others one of their own. */
function ProjectChoice() {
  const whole = useWholeSession(),
    chosen = useProject();
  const everywhere = may(whole, 'read');
  const all = useQuery({ ...ask.projectNames, enabled: everywhere });
  const names = everywhere ? (all.data ?? []) : (whole?.projects ?? []).map((p) => p.name);
  if (!chosen && (names.length === 0 || (!everywhere && names.length === 1))) return null;
  return (
    <Choose
      label="Project"
      value={chosen}
      set={chooseProject}
      of={names}
      none={everywhere ? 'everything' : 'all of mine'}
    />
  );
}

/** Who is signed in, and the way out. */
function User({ of: s }: { of: Session }) {
  const queries = useQueryClient();
  const out = useMutation({
    mutationFn: signOut,
    onSuccess: () => {
      refuse();
      queries.clear();
    },
  });
  return (
    <span className="user">
      <span title={`role ${s.role}${s.tenant ? ` of ${s.tenant}` : ''}${s.expires ? `, until ${s.expires}` : ''}`}>
        {s.name} ({s.tenant ? `${s.role} ${s.tenant}` : s.role})
      </span>{' '}
      {s.csrf && (
        <button type="button" disabled={out.isPending} onClick={() => out.mutate()}>
          Sign out
        </button>
      )}
      {out.isError && <span className="wrong">{out.error.message}</span>}
    </span>
  );
}

function SignIn({ of: s, page }: { of: Session; page: Page | undefined }) {
  const queries = useQueryClient();
  const ways = s.ways ?? [];
  const tokens = ways.includes('token') || ways.includes('token-file');
  const [by, setBy] = useState<'user' | 'token'>(ways.includes('user') || !tokens ? 'user' : 'token');
  const [user, setUser] = useState(''),
    [secret, setSecret] = useState('');
  const sign = useMutation({
    mutationFn: () => signIn(by === 'user' ? { user, password: secret } : { token: secret.trim() }),
    onSuccess: async (session) => {
      await began(session);
      if (page && !may(currentSession(), page.scope)) go(['overview']);
      void queries.invalidateQueries();
    },
    onSettled: () => setSecret(''),
  });
  return (
    <Dialog title="Sign in">
      <form onSubmit={submits(() => sign.mutate())}>
        {ways.includes('oidc') && (
          <p>
            <a
              className="main"
              href={`v1/oidc/login?return=${encodeURIComponent(window.location.pathname + window.location.hash)}`}
            >
              Sign in with the provider of your organization
            </a>
          </p>
        )}
        {ways.includes('user') && tokens && (
          <p className="filters" role="radiogroup" aria-label="By">
            <label>
              <input type="radio" name="by" checked={by === 'user'} onChange={() => setBy('user')} /> name and password
            </label>
            <label>
              <input type="radio" name="by" checked={by === 'token'} onChange={() => setBy('token')} /> token
            </label>
          </p>
        )}
        {by === 'user' && (
          <p className="field">
            <label htmlFor="user">User</label>
            <input
              id="user"
              autoFocus
              required
              autoComplete="username"
              value={user}
              onChange={(e) => setUser(e.target.value)}
            />
          </p>
        )}
        <p className="field">
          <label htmlFor="secret">{by === 'user' ? 'Password' : 'Token'}</label>
          <input
            id="secret"
            type="password"
            required
            autoFocus={by === 'token'}
            autoComplete="current-password"
            value={secret}
            onChange={(e) => setSecret(e.target.value)}
          />
        </p>
        {sign.isError && <Failure error={sign.error} />}
        <p>
          <button type="submit" className="main" disabled={sign.isPending}>
            Sign in
          </button>
        </p>
      </form>
    </Dialog>
  );
}

/** A page that fails leaves the others alone. */
class Boundary extends Component<{ children: ReactNode }, { error?: unknown }> {
  override state: { error?: unknown } = {};
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override render() {
    return this.state.error === undefined ? (
      this.props.children
    ) : (
      // A file of a page that did not come would not be asked for again: the controller may be another by now.
      <Failure error={this.state.error} retry={() => window.location.reload()} />
    );
  }
}
