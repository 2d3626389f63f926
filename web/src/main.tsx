import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError, base } from './api/client';
import { currentSession, readSession, subscribe } from './api/session';
import { App } from './app';
import { startLive } from './store/live';
import { applyTheme } from './store/theme';
import './font.css';
import './style.css';
import './charts.css';

applyTheme();

// Events say what is stale. What has no event, such as the hosts that a drain waits for, is asked
// for again now and then, as long as somebody looks.
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchInterval: 30_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
      retryDelay: (count) => 250 * 2 ** count,
    },
  },
});
queries.setQueryDefaults(['draft'], { gcTime: Infinity });
startLive(queries);
// In another project, and for another user, nothing of the one before may stay.
let user = '';
subscribe(() => {
  const name = currentSession()?.name;
  if (name === undefined || (name && user && name !== user)) queries.clear();
  user = name || user;
});
void startSession();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);

/** Reads the session, again and again until the controller answers. */
async function startSession(): Promise<void> {
  for (let wait = 250; ; wait = Math.min(5_000, wait * 2)) {
    try {
      await readSession(base + '/v1/session');
      return;
    } catch {
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}
