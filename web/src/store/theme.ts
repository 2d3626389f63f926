import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const key = 'weft.theme';
const listeners = new Set<() => void>();

function read(): Theme {
  const stored = localStorage.getItem(key);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

const system = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (read() === 'system' ? system.matches : read() === 'dark');

/** Gives the page the theme that was chosen, or that of the system. Canvases take their colours when they draw. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  listeners.forEach((f) => f());
}
system.addEventListener('change', applyTheme);

export function setTheme(theme: Theme): void {
  localStorage.setItem(key, theme);
  applyTheme();
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, read);
}

/** What is on the screen. */
export function useDark(): boolean {
  return useSyncExternalStore(subscribe, isDark);
}

const motion = matchMedia('(prefers-reduced-motion: reduce)');
function onMotion(f: () => void): () => void {
  motion.addEventListener('change', f);
  return () => motion.removeEventListener('change', f);
}

/** Whether motion disturbs who looks. */
export function useStill(): boolean {
  return useSyncExternalStore(onMotion, () => motion.matches);
}
