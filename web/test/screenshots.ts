// Pictures of every page, in both themes, on a desktop and a phone: make screenshots.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pages } from '../src/domain/pages';
import { browse, Lab, open } from './kit';

const folder = process.env.WEFT_SCREENSHOTS ?? '';
const screens = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
/** Pages of one object, and what is made for them, by lab; every lab has the pages of lists besides. */
const labs: Record<string, { pages: string[]; made: Record<string, unknown> }> = {
  figure1: {
    pages: ['groups/demo', 'switches/N6', 'hosts/S1', 'tenants/blue', 'projects/green', 'notifications/pager'],
    made: {
      'projects/green': {
        members: [{ way: 'user', name: 'ann', role: 'editor' }],
        // Nothing of group demo, which has every host, or of tenant blue: the project would keep them out.
        ports: [
          { switch: 'N1', port: 4 },
          { switch: 'N3', port: 4 },
        ],
        slices: [{ slice: 2 }],
        priorities: [{ priority: 4 }],
      },
      'notifications/pager': { url: 'http://127.0.0.1:9/', severities: ['fault'] },
      'tenants/blue': {
        slice: 1,
        priority: 3,
        sites: [
          { switch: 'N1', port: 2, prefixes: ['2001:db8:1:2::1/128'] },
          { switch: 'N3', port: 2, prefixes: ['2001:db8:1:5::1/128'] },
        ],
      },
    },
  },
  clos: {
    pages: ['fabric?view=picture', 'switches/P1-T0-1', 'jobs/train', 'maintenances/firmware', 'evs/P1-T0-1:P1-T0-2'],
    made: {
      'jobs/train': { hosts: 'H[1-8]', layout: { dp: 8 } },
      'maintenances/firmware': {
        from: '2036-01-01T22:00:00Z',
        until: '2036-01-01T23:00:00Z',
        objects: [{ node: 'P1-T1-1' }],
      },
    },
  },
};

let browser: Browser;
beforeAll(async () => {
  browser = await browse();
});
afterAll(() => browser?.close());

/** Chromium writes WebP from a picture that it has drawn: a tenth of the size of PNG. */
async function webp(page: Page, png: Buffer): Promise<Buffer> {
  const url = await page.evaluate(
    async (bytes) => {
      const image = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: 'image/png' }));
      const canvas = document.createElement('canvas');
      canvas.width = image.width;
      canvas.height = image.height;
      canvas.getContext('2d')!.drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', 0.8);
    },
    [...png],
  );
  return Buffer.from(url.split(',')[1]!, 'base64');
}

for (const [name, { pages: more, made }] of Object.entries(labs))
  test(`pictures of ${name}`, { timeout: 900_000 }, async () => {
    const lab = await Lab.start(name, '--traffic');
    try {
      for (const [path, spec] of Object.entries(made)) {
        const answer = await lab.send('PUT', `/v1/${path}`, { spec });
        if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
      }
      for (const [screen, size] of Object.entries(screens)) {
        const { page, wrong } = await open(browser, lab.url, size);
        const blank = await page.context().newPage();
        for (const path of [...pages.map((p) => p.name), ...more]) {
          await page.goto(`${lab.url}/#/${path}`);
          await page.getByRole('heading', { level: 1 }).waitFor();
          // The gallery shows what loading looks like.
          const loading = path === 'gallery' ? 1 : 0;
          await expect.poll(() => page.getByText(/^Loading /).count(), { timeout: 20_000 }).toBe(loading);
          for (const theme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
            const file = `${name}-${path.replace(/\W+/g, '-')}-${screen}-${theme}.webp`;
            mkdirSync(folder, { recursive: true });
            writeFileSync(join(folder, file), await webp(blank, await page.screenshot()));
          }
        }
        expect(wrong).toEqual([]);
        await page.context().close();
      }
    } finally {
      await lab.stop();
    }
  });
