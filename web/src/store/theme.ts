import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const key = 'weft.theme';
const listeners = new Set<() => void>();

function read(): Theme {
  const stored = localStorage.getItem(key);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function applyTheme(): void {
  const theme = read();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(key, theme);
  applyTheme();
  listeners.forEach((f) => f());
}

function subscribe(f: () => void): () => void {
  // Canvases take their colours when they draw, so they draw again when the system changes.
  const media = matchMedia('(prefers-color-scheme: dark)');
  listeners.add(f);
  media.addEventListener('change', f);
  return () => {
    listeners.delete(f);
    media.removeEventListener('change', f);
  };
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, read);
}

/** What is on the screen. */
export function useDark(): boolean {
  return useSyncExternalStore(subscribe, () => {
    const theme = read();
    return theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
  });
}
