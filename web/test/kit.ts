// What browser tests share: a lab, a browser, and what must hold of every page.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { chromium, type Browser, type Locator, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { components } from '../src/api/schema';
import { formatExact, parseExact } from '../src/domain/json';

export type Schemas = components['schemas'];

export const weft = process.env.WEFT ?? join(import.meta.dirname, '../../bin/weft');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A network, or a controller, that runs in a process of its own until stop. */
export class Lab {
  /** A bearer token for the requests of the test itself. */
  token = '';
  private constructor(
    readonly url: string,
    private readonly process: ChildProcess,
    private readonly folder?: string,
  ) {}

  /** Starts "weft lab" and waits until every switch is programmed. */
  static async start(...args: string[]): Promise<Lab> {
    const [url, child] = await listen(
      ['lab', ...args, ...(args.includes('--listen') ? [] : ['--listen', '127.0.0.1:0'])],
      /^API: (\S+)/m,
    );
    return new Lab(url, child);
  }

  /** Starts "weft controller" with a topology, switches and hosts, and a token of an administrator. */
  static async controller(topology: string, inventory: string, token: string): Promise<Lab> {
    const folder = mkdtempSync(join(tmpdir(), 'weft-web-'));
    const at = (name: string) => join(folder, name);
    writeFileSync(at('topology.yaml'), topology);
    writeFileSync(
      at('controller.yaml'),
      `api: {listen: "127.0.0.1:0", loopbackWebhooks: true}\ntopology: {file: ${at('topology.yaml')}}\n${inventory}`,
    );
    writeFileSync(at('token'), token, { mode: 0o600 });
    const [address, child] = await listen(
      ['controller', '--config', at('controller.yaml'), '--data-dir', at('data'), '--token-file', at('token')],
      /controller is up.* api=(\S+)/,
    );
    const lab = new Lab(`http://${address}`, child, folder);
    lab.token = token;
    return lab;
  }

  async get<T>(path: string): Promise<T> {
    const answer = await fetch(this.url + path, { headers: this.credentials() });
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
    return parseExact(await answer.text()) as T;
  }

  async items<T>(path: string): Promise<T[]> {
    const all: T[] = [];
    let next = '';
    do {
      const page = await this.get<{ items: T[]; continue?: string }>(
        `${path}${path.includes('?') ? '&' : '?'}limit=1000${next && `&continue=${encodeURIComponent(next)}`}`,
      );
      all.push(...page.items);
      next = page.continue ?? '';
    } while (next);
    return all;
  }

  async send(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(this.url + path, {
      method,
      headers: { ...this.credentials(), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? undefined : formatExact(body),
    });
  }

  /** Has the process stand still: its connections stay open, and nothing answers. */
  pause(): void {
    this.process.kill('SIGSTOP');
  }

  resume(): void {
    this.process.kill('SIGCONT');
  }

  private credentials(): Record<string, string> {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (this.process.exitCode !== null) return resolve();
      this.process.on('exit', () => resolve());
      this.process.kill('SIGINT');
    });
    if (this.folder) rmSync(this.folder, { recursive: true });
  }
}

/** Starts weft, and waits until it says where it listens. */
async function listen(args: string[], where: RegExp): Promise<[string, ChildProcess]> {
  const child = spawn(weft, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const address = await new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said += String(chunk);
      const m = where.exec(said);
      if (m) resolve(m[1]!);
    };
    child.stdout!.on('data', hear);
    child.stderr!.on('data', hear);
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`weft ${args.join(' ')} ended with ${code}:\n${said}`)));
  });
  return [address, child];
}

/** Starts Debian's Chromium, or that of CHROMIUM: twice where it crashes before it has shown anything. */
export async function browse(): Promise<Browser> {
  const path = process.env.CHROMIUM ?? '/usr/bin/chromium';
  if (!existsSync(path)) throw new Error(`${path} is missing: apt-get install chromium`);
  const options = {
    executablePath: path,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--js-flags=--expose-gc', '--enable-precise-memory-info'],
  };
  return chromium.launch(options).catch((e: Error) => {
    console.warn(e.message);
    return chromium.launch(options);
  });
}

/** A page of the dashboard, and everything that went wrong in it. */
export async function open(
  browser: Browser,
  url: string,
  options: { dark?: boolean; width?: number; height?: number } = {},
): Promise<{ page: Page; wrong: string[] }> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    colorScheme: options.dark ? 'dark' : 'light',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(45_000);
  const wrong: string[] = [];
  page.on('pageerror', (e) => wrong.push(e.message));
  page.on('console', (m) => {
    // What the API refuses is on the page; the browser logs it besides.
    if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) wrong.push(m.text());
  });
  await page.goto(url);
  return { page, wrong };
}

/** Everything of WCAG 2.2 A and AA that axe finds on a page. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const run = (
      window as unknown as {
        axe: {
          run: (
            o: object,
          ) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
        };
      }
    ).axe.run;
    const found = await run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] });
    return found.violations.flatMap((v) =>
      v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 200)}: ${n.failureSummary.replace(/\s+/g, ' ')}`),
    );
  });
}

/** Types a text into a field by keys, in place of what is there. */
export async function type(field: Locator, text: string): Promise<void> {
  await field.click();
  await field.press('ControlOrMeta+a');
  await field.pressSequentially(text);
}

/** The text of an editor of documents. */
export async function textOf(editor: Locator): Promise<string> {
  return (await editor.locator('.cm-line').allInnerTexts()).map((l) => l.replace('\n', '')).join('\n');
}

/** Puts the caret behind a text of an editor by a click on its line and keys. */
export async function behind(editor: Locator, text: string): Promise<void> {
  const line = editor.locator('.cm-line', { hasText: text });
  await line.click();
  await editor.press('End');
  const left = (await line.innerText()).trimEnd();
  for (let i = left.indexOf(text) + text.length; i < left.length; i++) await editor.press('ArrowLeft');
}

/** Waits until a page says something. The error has what it says instead. */
export async function says(page: Page, text: string | RegExp): Promise<void> {
  try {
    await page.getByText(text).first().waitFor();
  } catch {
    throw new Error(`the page does not say ${text}, but:\n${await page.locator('main').innerText()}`);
  }
}

/** Waits until a dialog is closed. The error has what it says instead. */
export async function closed(dialog: Locator): Promise<void> {
  try {
    await dialog.waitFor({ state: 'detached' });
  } catch {
    throw new Error(`the dialog is still open, and says:\n${await dialog.innerText()}`);
  }
}

/** Saves the form that a button opens as it is, and compares the spec of its resource with the one before. */
export async function saveUntouched(page: Page, lab: Lab, button: string, path: string): Promise<void> {
  const spec = async () => formatExact((await lab.get<{ spec: unknown }>(path)).spec);
  const before = await spec();
  await page.getByRole('button', { name: button, exact: true }).click();
  const form = page.getByRole('dialog');
  await form.getByRole('button', { name: 'Save', exact: true }).click();
  await closed(form);
  expect(await spec(), path).toBe(before);
}

/** Every text that the first element of a selector has had since the call; the function returns them. */
export async function texts(page: Page, selector: string): Promise<() => Promise<string[]>> {
  await page.evaluate((s) => {
    const seen: string[] = [];
    (window as never as { seen: string[] }).seen = seen;
    const look = () => {
      const text = document.querySelector(s)?.textContent ?? '';
      if (text && seen.at(-1) !== text) seen.push(text);
    };
    look();
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
  }, selector);
  return () => page.evaluate(() => (window as never as { seen: string[] }).seen);
}

/** Keeps a picture of a page, where WEFT_SHOTS names a folder. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env.WEFT_SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Tables of a page that are wider than their place, and states in them that are not shown whole. */
export const cutOff = (page: Page): Promise<string[]> =>
  page.locator('main .table, main .scrolls').evaluateAll((tables) =>
    tables.flatMap((table) => [
      ...(table.scrollWidth > table.clientWidth + 1
        ? [`${table.ariaLabel} is ${table.scrollWidth} pixels wide, in ${table.clientWidth}`]
        : []),
      ...[...table.querySelectorAll('.badge')].flatMap((badge) => {
        const cell = badge.closest('[role=cell]');
        return cell && cell.scrollWidth > cell.clientWidth + 1 ? [`${table.ariaLabel}: ${badge.textContent}`] : [];
      }),
    ]),
  );

/** Checks a page as a whole, in both themes. */
export async function wellMade(page: Page, wrong: string[], name: string): Promise<void> {
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme as 'light' | 'dark', reducedMotion: 'reduce' });
    await shot(page, `${name}-${theme}`);
    expect(await violations(page), `${name}, ${theme}`).toEqual([]);
  }
  expect(
    await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    `${name} is wider than the screen`,
  ).toBe(true);
  expect(wrong, name).toEqual([]);
}

/** The text of the figure of a card of the overview. */
export async function card(page: Page, title: string): Promise<string> {
  return (
    (await page
      .locator('.card', { has: page.locator('.title', { hasText: new RegExp(`^${title}$`) }) })
      .locator('.figure')
      .textContent()) ?? ''
  );
}

/** The texts of the cells of a table on the screen, row by row. */
export async function rows(page: Page, label: string): Promise<string[][]> {
  const all = page.getByRole('table', { name: label, exact: true }).locator('.rows [role=row]');
  return all.evaluateAll((list) =>
    list.map((row) => [...row.querySelectorAll('[role=cell]')].map((c) => c.textContent ?? '')),
  );
}
