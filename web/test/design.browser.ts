import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { browse, open } from './kit';
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
  const rail = page.getByRole('navigation', { name: 'Pages' });
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
  expect(await rail.isVisible()).toBe(false);
});
