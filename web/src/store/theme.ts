import { useSyncExternalStore } from 'react';
import { kept } from './kept';
import { signal } from './signal';

export type Theme = 'system' | 'light' | 'dark';

const chosen = kept('weft.theme');
const read = (): Theme => (['light', 'dark'] as const).find((t) => t === chosen.get()) ?? 'system';

const theme = signal(read());
export const useTheme = theme.use;
const system = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (theme.get() === 'system' ? system.matches : theme.get() === 'dark');

/** Gives the page the theme that was chosen, or that of the system. Canvases take their colours when they draw. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
}
theme.subscribe(applyTheme);
system.addEventListener('change', () => theme.set(read()));

export function setTheme(next: Theme): void {
  chosen.set(next);
  theme.set(next);
}

/** What is on the screen. */
export function useDark(): boolean {
  return useSyncExternalStore(theme.subscribe, isDark);
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
