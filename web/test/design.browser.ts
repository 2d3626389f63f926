import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { browse, open, shot, violations } from './kit';
import { MadeUp } from './madeup';

// What every page has: the rail, the typeface, and what lies above the pages.
let browser: Browser, fabric: MadeUp;
beforeAll(async () => {
  [browser, fabric] = await Promise.all([browse(), new MadeUp(1, 2).start()]);
});
afterEach(() => Promise.all(browser.contexts().map((c) => c.close())));
afterAll(async () => {
  await browser?.close();
  await fabric?.stop();
});

/** Opens a page of the fabric, in which nothing may go wrong until the test ends. */
const at = async (place: string, options?: Parameters<typeof open>[2]): Promise<Page> => {
  const { page, wrong } = await open(browser, `${fabric.url}/#/${place}`, options);
  onTestFinished(() => expect(wrong).toEqual([]));
  return page;
};

test('the typeface comes from the controller, and its figures are as wide as each other', async () => {
  const page = await at('overview');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await expect
    .poll(() => page.evaluate(() => [...document.fonts].map((f) => `${f.family} ${f.status}`)))
    .toEqual(['Inter loaded']);
  const widths = await page.evaluate(() =>
    ['1111111111', '8888888888', '0123456789'].map((text) => {
      const line = document.body.appendChild(document.createElement('span'));
      line.textContent = text;
      const { width } = line.getBoundingClientRect();
      line.remove();
      return width;
    }),
  );
  expect(new Set(widths).size, String(widths)).toBe(1);
});

test('the rail has the pages by groups at the left, and on a phone behind one button', async () => {
  const page = await at('overview');
  const rail = page.getByRole('navigation', { name: 'Pages', exact: true });
  const fabricPages = rail.getByRole('group', { name: 'Fabric' }).getByRole('link');
  await expect.poll(() => fabricPages.allInnerTexts()).toEqual(['Fabric', 'Switches', 'Hosts', 'EVs']);
  const box = (await rail.boundingBox())!;
  expect([box.x, box.y]).toEqual([0, 0]);
  expect((await page.locator('main').boundingBox())!.x).toBeGreaterThanOrEqual(box.width);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => rail.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Overview' }).click();
  await rail.getByRole('link', { name: 'Switches' }).click();
  await page.getByRole('heading', { name: 'Switches' }).waitFor();
  await expect.poll(() => rail.isVisible()).toBe(false);
});

/** Chooses a switch of the picture of the network by keys. */
async function choose(page: Page, name: string): Promise<void> {
  const picture = page.getByRole('application', { name: /^Picture of the network/ });
  await picture.focus();
  const said = picture.locator('.said');
  for (let i = 0; i < 20 && !(await said.innerText()).startsWith(name); i++) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
}

test('what is chosen on the front page opens beside it, nothing moves, and two switches are compared', async () => {
  fabric.besides = {
    '/v1/switches': {
      items: ['P1-T0-1', 'P1-T0-2'].map((name, i) => ({
        name,
        node: `64512:10.1.0.${i}`,
        connected: true,
        synced: true,
        pending: 0,
        entries: 100 + i,
        ports: { up: 2 - i, down: i ? ['2'] : [] },
      })),
    },
  };
  const page = await at('overview');
  const before = await page.getByRole('application', { name: /^Picture of the network/ }).boundingBox();
  await choose(page, 'P1-T0-1');
  const drawer = page.getByRole('complementary', { name: 'Inspector' });
  await drawer.getByRole('region', { name: 'Switch P1-T0-1' }).waitFor();
  expect(await page.getByRole('application', { name: /^Picture of the network/ }).boundingBox()).toEqual(before);
  await drawer.getByRole('button', { name: 'Pin Switch P1-T0-1' }).click();
  await choose(page, 'P1-T0-2');
  const table = drawer.getByRole('table', { name: 'P1-T0-1 and P1-T0-2 compared' });
  await expect
    .poll(() => table.locator('.differs').allInnerTexts())
    .toEqual(['Ports up\t2 of 2\t1 of 2', 'Entries\t100\t101']);
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    expect(await violations(page)).toEqual([]);
  }
  // The address has both.
  await page.reload();
  await table.waitFor();
  await drawer.getByRole('button', { name: 'Close Switch P1-T0-1' }).click();
  await drawer.getByRole('button', { name: 'Close Switch P1-T0-2' }).click();
  await expect.poll(() => drawer.count()).toBe(0);
});

test('the gallery has each component in its states, by keys too, in both themes', async () => {
  const page = await at('gallery');
  await page.getByRole('heading', { name: 'Gallery' }).waitFor();
  expect((await page.locator('.badges .badge').allInnerTexts()).map((t) => t.slice(0, 1)).join('')).toBe('●▲✕◆○○');
  await page.getByRole('tab', { name: 'YAML' }).click();
  await page.keyboard.press('ArrowRight');
  await page.getByText('What the tab History shows.').waitFor();
  const several = page.getByRole('searchbox', { name: 'Several of many' });
  await several.click();
  await page.keyboard.type('t0-2');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByText('1 found, 2 chosen').count()).toBe(1);
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await shot(page, `gallery-${theme}`);
    expect(await violations(page)).toEqual([]);
  }
});

test('from the cause of a link that has left the topology one comes to its ends by clicks', async () => {
  const left = '64512:10.1.0.0,9~64512:10.1.16.1,8';
  fabric.besides = {
    '/v1/causes': {
      items: [
        {
          id: `link/${left}`,
          kind: 'link',
          object: `links/${left}`,
          severity: 'fault',
          what: 'Link P1-T0-1 – P1-T1-2 has failed',
          means: 'Made up.',
          todo: 'Nothing.',
          total: 0,
        },
      ],
    },
  };
  onTestFinished(() => void (fabric.besides = {}));
  const page = await at('overview');
  await page.locator('.causes').getByRole('link', { name: 'Link P1-T0-1 – P1-T1-2 has failed' }).click();
  const link = page.getByRole('region', { name: 'Link P1-T0-1 → P1-T1-2' });
  await link.getByText('has left the topology').waitFor();
  expect(await violations(page)).toEqual([]);
  const far = link.getByRole('link', { name: 'P1-T1-2, port 8' });
  expect(await far.getAttribute('href')).toBe('#/switches/P1-T1-2?port=8');
});
