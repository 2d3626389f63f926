import { expect, test } from 'vitest';
import charts from '../charts.css?raw';
import styles from '../style.css?raw';
import { channels } from './colour';

// The scales of text, space, density and colour are written down once, in :root of style.css.
const sheets = [styles, charts].map((text) => text.replace(/\/\*[^]*?\*\//g, ''));
const style = sheets[0]!;
const sources = Object.entries(
  import.meta.glob<string>('../{components,pages,store}/*.{ts,tsx}', { query: '?raw', import: 'default', eager: true }),
);

/** The tokens of a theme. */
function tokens(theme: '$1' | '$2'): Map<string, string> {
  const body = style.slice(style.indexOf('{') + 1, style.indexOf('}'));
  const all = body.replace(/light-dark\(((?:[^(),]|\([^)]*\))+), ((?:[^()]|\([^)]*\))+)\)/g, theme);
  return new Map([...all.matchAll(/--([\w-]+):\s*([^;]+);/g)].map((m) => [m[1]!, m[2]!.trim()]));
}
const light = tokens('$1'),
  dark = tokens('$2');

/** Every declaration outside of the tokens, as SELECTOR { NAME: VALUE }. */
function* declarations(): Generator<[rule: string, name: string, value: string]> {
  for (const sheet of sheets)
    for (const [, selector, body] of sheet.matchAll(/([^{}]+)\{([^{}]*)\}/g)) {
      if (/^\s*(@media[^{]*\{\s*)?:root/.test(selector!)) continue;
      for (const [, name, value] of body!.matchAll(/([\w-]+)\s*:\s*([^;]+);/g))
        yield [`${selector!.trim()} { ${name}: ${value} }`, name!, value!.replace(/\s+/g, ' ')];
    }
}

/** Sizes that are not of a token. */
const raw = /(?<![\w-])\d*\.?\d*[1-9]\d*\.?\d*(px|rem|em|pt|ch|ms|s)\b/;

test('sizes of text, spaces, corners, edges, times and colours are tokens', () => {
  const wrong: string[] = [];
  for (const [rule, name, value] of declarations()) {
    const scaled =
      /^(font|font-size|line-height|letter-spacing|padding|margin|gap|row-gap|column-gap|border|outline|box-shadow|transition|animation)(-|$)/.test(
        name,
      ) && !/^(border-collapse|font-family|font-weight|font-variant)/.test(name);
    if (scaled && raw.test(value)) wrong.push(rule);
    if (/^(font|font-size|line-height)$/.test(name) && !/var\(|^inherit$/.test(value)) wrong.push(rule);
    if (name === 'font-family' && !value.includes('var(')) wrong.push(rule);
    if (/#[0-9a-f]{3,8}\b|\b(rgb|hsl|oklch)a?\(/i.test(value)) wrong.push(rule);
    if (/\d(px|pt)\b/.test(value)) wrong.push(rule);
  }
  expect(wrong).toEqual([]);
});

test('there are sources to look at', () => {
  expect(sources.length).toBeGreaterThan(40);
  expect([...declarations()].length).toBeGreaterThan(400);
  expect(light.size).toBeGreaterThan(40);
});

test('every token that is used is there, and each that is there is used', () => {
  const used = new Set<string>();
  for (const [, , value] of declarations()) for (const m of value.matchAll(/var\(--([\w-]+)/g)) used.add(m[1]!);
  const own = new Set([...declarations()].filter(([, name]) => name.startsWith('--')).map(([, name]) => name.slice(2)));
  // Set by a table for itself, from the widths of its columns, and from the height of the header.
  own.add('share').add('least').add('top');
  expect([...used].filter((t) => !light.has(t) && !own.has(t))).toEqual([]);
  const code = sources.map(([, text]) => text);
  const drawn = (t: string) =>
    code.some((text) => new RegExp(`'(--)?${t}'`).test(text)) || /^(series|load)-\d$/.test(t) || t === 'cell-edge';
  expect([...light.keys()].filter((t) => !used.has(t) && !drawn(t) && !valuesUse(t))).toEqual([]);
});

const valuesUse = (t: string) => [...light.values()].some((v) => v.includes(`var(--${t})`));

test('components have no sizes of text, spaces and colours of their own', () => {
  const wrong: string[] = [];
  for (const [file, text] of sources)
    text.split('\n').forEach((line, i) => {
      if (
        /\b(fontSize|padding\w*|margin\w*|gap|lineHeight|borderRadius|color|background\w*):\s*(?!'(var\(--[\w-]+\)[ ']|none'))['"`\d]/.test(
          line,
        ) ||
        /\d+(\.\d+)?px (sans-serif|monospace)/.test(line) ||
        /['"`]#[0-9a-f]{6}['"`]/i.test(line)
      )
        // The padding of a chart is where uPlot draws: it is of its axes, not of a text.
        if (!/padding: \[8, right, 0, 0\]/.test(line)) wrong.push(`${file}:${i + 1}: ${line.trim()}`);
    });
  expect(wrong).toEqual([]);
});

test('the dark theme has every colour', () => {
  const colours = [...light].filter(([, v]) => v.startsWith('#') || v.startsWith('rgb')).map(([k]) => k);
  expect(colours.length).toBeGreaterThan(25);
  expect(colours.filter((c) => dark.get(c) === light.get(c))).toEqual([]);
});

/** The contrast of two colours as WCAG 2.2 defines it. */
function contrast(a: string, b: string): number {
  const luminance = (c: string) => {
    const [r, g, b] = channels(c).map((v) => {
      const s = v / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    }) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

test('texts have a contrast of 4.5 and lines of charts of 3 in both themes', () => {
  const low: string[] = [];
  for (const [theme, t] of [
    ['light', light],
    ['dark', dark],
  ] as const) {
    const check = (fore: string, back: string, least: number) => {
      const c = contrast(t.get(fore)!, t.get(back)!);
      if (c < least) low.push(`${theme}: ${fore} on ${back}: ${c.toFixed(2)}`);
    };
    for (const fore of ['ink', 'quiet', 'accent', 'ok', 'warning', 'fault', 'work'])
      for (const back of ['paper', 'raised', 'hover']) check(fore, back, 4.5);
    // Marks in cells, and names on them.
    for (const back of ['work', 'warning', 'fault']) check('raised', back, 4.5);
    for (const back of ['cell', 'cell-edge']) check('ink', back, 4.5);
    for (let i = 1; i <= 8; i++) check(`series-${i}`, 'raised', 3);
    // Little load is faint on purpose: its width and text have it too. Much of it is not.
    for (let i = 3; i <= 5; i++) check(`load-${i}`, 'raised', 3);
  }
  expect(low).toEqual([]);
});

test('what moves does so only where that is wanted', () => {
  const wanted = /@media \(prefers-reduced-motion: no-preference\) \{[^]*?\n\}/g;
  for (const sheet of sheets)
    expect(sheet.replace(wanted, '')).not.toMatch(/\b(transition|animation|scroll-behavior):/);
});
