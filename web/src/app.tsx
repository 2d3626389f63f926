import { useQuery } from '@tanstack/react-query';
import { Component, useEffect, useState, useSyncExternalStore, type ReactNode } from 'react';
import * as ask from './api/queries';
import { onSession, signIn, signInWanted } from './api/session';
import { Badge } from './components/badge';
import { Dialog } from './components/dialog';
import { To } from './components/link';
import { Search } from './components/search';
import { Empty, Failure } from './components/states';
import { formatAge } from './domain/format';
import { pages } from './pages';
import { useLive } from './store/live';
import { useNow } from './store/now';
import { go, usePlace } from './store/place';
import { setTheme, useTheme, type Theme } from './store/theme';

export function App() {
  const place = usePlace();
  const page = pages.find((p) => p.name === place.path[0]);
  const [open, setOpen] = useState<'search' | 'keys'>();
  useKeys(setOpen);
  const wanted = useSyncExternalStore(onSession, signInWanted);
  useEffect(() => {
    document.title = `${[...place.path.slice(1), page?.title ?? 'Not found'].join(' · ')} · Weft`;
  }, [place, page]);
  return (
    <>
      <a className="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById('main')?.focus(); }}>Skip to the content</a>
      <header className="top">
        <To path={['overview']} className="name">Weft</To>
        <nav aria-label="Pages">{pages.map((p) => <To key={p.name} path={[p.name]} current={p === page}>{p.title}</To>)}</nav>
        <span className="grow" />
        <LiveState />
        <button type="button" onClick={() => setOpen('search')}>Search <kbd>/</kbd></button>
        <ThemeChoice />
        <button type="button" onClick={() => setOpen('keys')} aria-label="Keys">?</button>
      </header>
      <main id="main" tabIndex={-1}>
        <Boundary key={place.path.join('/')}>
          {page ? <page.view path={place.path.slice(1)} /> : <Empty>There is no page {place.path.join('/')}. <To path={['overview']}>Overview</To></Empty>}
        </Boundary>
      </main>
      {open === 'search' && <Search close={() => setOpen(undefined)} />}
      {open === 'keys' && <Keys close={() => setOpen(undefined)} />}
      {wanted && <SignIn />}
    </>
  );
}

/** g and a letter goes to a page, / searches, ? helps. */
function useKeys(open: (what: 'search' | 'keys') => void) {
  useEffect(() => {
    let prefix = 0;
    const press = (e: KeyboardEvent) => {
      const at = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || at.closest('input, textarea, select, dialog')) return;
      const page = pages.find((p) => p.key === e.key);
      if (e.key === '/') { e.preventDefault(); open('search'); }
      else if (e.key === '?') { e.preventDefault(); open('keys'); }
      else if (e.key === 'g') { prefix = Date.now(); return; }
      else if (page && Date.now() - prefix < 1500) go([page.name]);
      prefix = 0;
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [open]);
}

function Keys({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <dl className="keys">
        <dt><kbd>/</kbd></dt><dd>search for anything</dd>
        <dt><kbd>?</kbd></dt><dd>this help</dd>
        {pages.map((p) => <div key={p.name}><dt><kbd>g</kbd> <kbd>{p.key}</kbd></dt><dd>{p.title}</dd></div>)}
        <dt><kbd>Esc</kbd></dt><dd>close a dialog</dd>
        <dt>arrow keys</dt><dd>move in matrices, pictures and lists; <kbd>Enter</kbd> chooses</dd>
      </dl>
    </Dialog>
  );
}

function LiveState() {
  const live = useLive();
  const now = useNow();
  const health = useQuery(ask.health);
  return (
    <span className="live" role="status">
      {live.state === 'live' ? <Badge tone="ok" title={health.data ? `Weft ${health.data.version}` : undefined}>live</Badge> :
        live.state === 'lost' ? <Badge tone="fault">no connection for {formatAge(new Date(live.since).toISOString(), now)}</Badge> :
        <Badge tone="quiet">connecting</Badge>}
    </span>
  );
}

function ThemeChoice() {
  const theme = useTheme();
  return (
    <select aria-label="Theme" value={theme} onChange={(e) => setTheme(e.target.value as Theme)}>
      <option value="system">Auto</option><option value="light">Light</option><option value="dark">Dark</option>
    </select>
  );
}

function SignIn() {
  const [token, setToken] = useState('');
  return (
    <Dialog title="Sign in" close={() => undefined}>
      <form onSubmit={(e) => { e.preventDefault(); signIn(token.trim()); window.location.reload(); }}>
        <p>This controller asks for a token: a line of its <code>--token-file</code>.</p>
        <label>Token <input type="password" autoFocus required autoComplete="current-password" value={token} onChange={(e) => setToken(e.target.value)} /></label>
        <p><button type="submit">Sign in</button></p>
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
    return this.state.error === undefined ? this.props.children : <Failure error={this.state.error} retry={() => this.setState({ error: undefined })} />;
  }
}
