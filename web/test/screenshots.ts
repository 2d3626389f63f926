// Pictures of every page, in both themes, on a desktop and a phone: make screenshots.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pages, type PageName } from '../src/domain/pages';
import { browse, Lab, open, type Schemas } from './kit';

const folder = process.env.WEFT_SCREENSHOTS ?? '';
const screens = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
/** Pages of one object, and what is made for them, by lab; a lab has the pages of lists besides, unless it has some. */
const labs: Record<string, { lists?: PageName[]; pages: string[]; made: Record<string, unknown> }> = {
  figure1: {
    pages: [
      'groups/demo',
      'switches/N6',
      'hosts/S1',
      'projects/green',
      'notifications/pager',
      'journey?group=demo&caught=1',
    ],
    // The project has ports without hosts: group demo has every host, and would lose those of others.
    made: {
      'projects/green': {
        members: [{ way: 'user', name: 'ann', role: 'editor' }],
        ports: [
          { switch: 'N1', port: 4 },
          { switch: 'N3', port: 4 },
        ],
        slices: [{ slice: 2 }],
        priorities: [{ priority: 4 }],
      },
      'notifications/pager': {
        url: 'http://127.0.0.1:9/',
        severities: ['fault'],
        secret: `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
      },
    },
  },
  clos: {
    pages: [
      'fabric?view=picture',
      'switches/P1-T0-1',
      'jobs/train',
      'maintenances/firmware',
      'evs/P1-T0-1:P1-T0-2',
      'evs?from=H1&to=H5',
      'journey?from=H1&to=H5&caught=1',
    ],
    made: {
      'jobs/train': { hosts: 'H[1-8]', layout: { dp: 8 } },
      'maintenances/firmware': {
        from: '2036-01-01T22:00:00Z',
        until: '2036-01-01T23:00:00Z',
        // It takes nothing from the job.
        objects: [{ node: 'P1-T0-4' }],
      },
    },
  },
  pfc: { lists: ['overview', 'wall', 'pfc'], pages: ['pfc/lossless', 'tenants/a', 'srv6-policies/wan'], made: {} },
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

for (const [name, { lists = pages.map((p) => p.name), pages: more, made }] of Object.entries(labs))
  test(`pictures of ${name}`, { timeout: 1_800_000 }, async () => {
    const lab = await Lab.start(name, '--traffic');
    try {
      for (const [path, spec] of Object.entries(made)) {
        const answer = await lab.send('PUT', `/v1/${path}`, { spec });
        if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
      }
      const paths = [...lists, ...more];
      if (name === 'clos') {
        const profile = await lab.get<Schemas['EvProfile']>('/v1/ev-profiles/P1-T0-1:P1-T0-2');
        paths.push(`evs/${profile.name}?ev=${encodeURIComponent(profile.status.evs![0]!.ev)}`);
      }
      const blank = await browser.newPage();
      for (const [screen, size] of Object.entries(screens))
        for (const theme of ['light', 'dark']) {
          // Each theme has pages of its own: a page that is behind another one may not hear of a change.
          const { page, wrong } = await open(browser, lab.url, { ...size, dark: theme === 'dark' });
          await page.emulateMedia({ reducedMotion: 'reduce' });
          await page.reload();
          for (const path of paths) {
            await page.goto(`${lab.url}/#/${path}`);
            await page.getByRole('heading', { level: 1 }).waitFor();
            // The gallery shows what loading looks like.
            const loading = path === 'gallery' ? 1 : 0;
            await expect.poll(() => page.getByText(/^(Loading|Waiting) /).count(), { timeout: 40_000 }).toBe(loading);
            // The first picture has the page draw what is drawn by hand.
            await page.screenshot();
            const file = `${name}-${path.replace(/\W+/g, '-')}-${screen}-${theme}.webp`;
            mkdirSync(folder, { recursive: true });
            writeFileSync(join(folder, file), await webp(blank, await page.screenshot()));
          }
          expect(wrong).toEqual([]);
          await page.context().close();
        }
    } finally {
      await lab.stop();
    }
  });
