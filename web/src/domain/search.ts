import { natural } from './natural';

/** Returns what reports whether a text has each word that is searched for, in any case. */
export function matcher(search: string): (text: string) => boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => {
    const all = text.toLowerCase();
    return words.every((w) => all.includes(w));
  };
}

/** Something that "/" finds. */
export interface Target {
  kind: string;
  name: string;
  /** More words that it is found by: addresses, ids. */
  words?: string;
  path: string[];
  query?: Record<string, string>;
  /** What it is as the target of a drain: its page then asks before it drains it. */
  drains?: string;
  drained?: boolean;
  /** What two of it are compared by: the name of a parameter of the drawer, and its value. */
  looks?: readonly [kind: 'node' | 'host', id: string];
}

/**
 * Returns the targets that have every word of the text, the best first: names that are the text, that
 * begin with it, that contain it, and then those of which only other words match. After "drain" or "undrain" it
 * returns what of them can be, each at the page where that is done; after "compare" and two names, pairs.
 */
export function find(targets: readonly Target[], text: string, most = 20): Target[] {
  const [, verb, first, second] = /^\s*(drain|undrain|compare)\s+(\S+)(.*)$/i.exec(text) ?? [];
  const doing = verb?.toLowerCase();
  let done: Target[] = [];
  if (doing === 'compare') {
    const compared = targets.filter((t) => t.looks),
      [a] = find(compared, first!, 1);
    if (a?.looks) {
      const [kind, id] = a.looks;
      const others = compared.filter((t) => t !== a && t.looks![0] === kind);
      done = find(others, second!, most).map((b) => ({
        kind: b.kind,
        name: `compare ${a.name} ${b.name}`,
        path: ['fabric'],
        query: { pin: `${kind} ${id}`, [kind]: b.looks![1] },
      }));
    }
  } else if (doing) {
    const parts = targets.filter((t) => t.drains && !t.drained === (doing === 'drain')),
      query = (t: Target) => ({ ...t.query, do: `${doing} ${t.drains}` });
    done = find(parts, first! + second!, most).map((t) => ({ ...t, name: `${doing} ${t.name}`, query: query(t) }));
  }
  if (done.length > 0) return done;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const whole = words.join(' ');
  const scored: { score: number; target: Target }[] = [];
  for (const target of targets) {
    const name = target.name.toLowerCase();
    const all = `${target.kind} ${name} ${target.words ?? ''}`.toLowerCase();
    if (!words.every((w) => all.includes(w))) continue;
    const score = name === whole ? 0 : name.startsWith(whole) ? 1 : name.includes(whole) ? 2 : 3;
    scored.push({ score, target });
  }
  scored.sort(
    (a, b) => a.score - b.score || natural(a.target.name, b.target.name) || natural(a.target.kind, b.target.kind),
  );
  return scored.slice(0, most).map((s) => s.target);
}
