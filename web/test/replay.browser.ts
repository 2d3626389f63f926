import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, open, rows, says, wellMade } from './kit';
import { MadeUp } from './madeup';

let browser: Browser;

beforeAll(async () => {
  browser = await browse();
});
afterAll(async () => {
  await browser?.close();
});

const bar = (page: Page) => page.getByRole('group', { name: 'Time', exact: true });
const moment = (page: Page) => bar(page).getByRole('slider', { name: 'Moment' });
const failure = 'Link P1-T0-1 – P1-T1-2 has failed';

/** What the picture says of a switch, by keys. */
async function said(page: Page, name: string): Promise<string> {
  const picture = page.getByRole('application', { name: /^Picture of the network/ });
  await picture.focus();
  const text = picture.locator('.said');
  for (let i = 0; i < 20 && !(await text.innerText()).startsWith(`${name},`); i++)
    await page.keyboard.press('ArrowRight');
  return text.innerText();
}

/** A fabric of which a link has failed while the page was open, and a page that shows it. */
async function failed(options: { width?: number } = {}) {
  const fabric = await new MadeUp(1, 2).start();
  const now = Math.floor(Date.now() / 1000);
  fabric.history = { from: now - 60, to: now, metrics: { offeredBits: 100e6, deliveredBits: 200e6 } };
  const { page, wrong } = await open(browser, `${fabric.url}/#/overview`, options);
  await says(page, 'All is well');
  fabric.fail(1, 0, 1);
  await says(page, failure);
  return {
    fabric,
    page,
    wrong,
    stop: () =>
      page
        .context()
        .close()
        .then(() => fabric.stop()),
  };
}

test('the arrow keys go back in time: causes, picture and charts are those of then, on every page', async () => {
  const { page, wrong, stop } = await failed();
  await moment(page).focus();
  for (let i = 0; i < 40; i++) await page.keyboard.press('ArrowLeft');
  await says(page, 'All was well');
  expect(await page.locator('main').getByText(failure).count(), 'what is wrong now is not said of then').toBe(0);
  await expect.poll(() => said(page, 'P1-T0-1')).not.toMatch(/not up/);
  // Each chart has its crosshair at the moment.
  const head = page.getByRole('table', { name: 'goodput of all' }).locator('th').nth(1);
  await expect.poll(() => head.innerText()).toMatch(/^\d\d:\d\d:\d\d$/);
  // The moment goes along to other pages, and stays after a reload: the address has it.
  const at = new URLSearchParams(page.url().split('?')[1]).get('at');
  expect(Number(at)).toBeLessThan(Date.now() / 1000 - 30);
  await page.getByRole('link', { name: 'Fabric', exact: true }).first().click();
  await page.getByRole('heading', { name: 'Fabric' }).waitFor();
  expect(page.url()).toContain(`at=${at}`);
  await page.reload();
  const link = async () => (await rows(page, 'Links')).find((r) => /^P1-T0-1 .* P1-T1-2$/.test(r[0]!))?.[2];
  await expect.poll(link).toMatch(/up/);
  await wellMade(page, wrong, 'replay-fabric');
  await bar(page).getByRole('button', { name: 'Back to now' }).click();
  await expect.poll(link).toMatch(/down/);
  expect(page.url()).not.toMatch(/at=/);
  await stop();
});

test('what is played goes by the speed, stops by a click and at the end, and marks are moments', async () => {
  const { page, wrong, stop } = await failed();
  await bar(page).getByRole('combobox', { name: 'Speed' }).selectOption('20×');
  await bar(page).getByRole('button', { name: 'Play' }).click();
  await says(page, 'All was well');
  const value = async () => Number(await moment(page).inputValue());
  const began = Date.now(),
    first = await value();
  await expect.poll(value).toBeGreaterThan(first + 20);
  const played = (await value()) - first,
    passed = (Date.now() - began) / 1000;
  expect(played, 'seconds of the past').toBeLessThan(20 * (passed + 3));
  await bar(page).getByRole('button', { name: 'Pause' }).click();
  await bar(page).getByRole('button', { name: 'Play' }).waitFor();
  const still = await value();
  // A mark is the moment of what it says.
  const mark = bar(page).getByRole('button', { name: new RegExp(failure) });
  await mark.click();
  expect(await value()).toBeGreaterThan(still);
  await page.locator('.verdict').getByText(failure).waitFor();
  await expect.poll(() => said(page, 'P1-T0-1')).toMatch(/1 of them not up/);
  await wellMade(page, wrong, 'replay');
  // To its end, and no further.
  await bar(page).getByRole('combobox', { name: 'Speed' }).selectOption('60×');
  await bar(page).getByRole('button', { name: 'Play' }).click();
  await bar(page).getByRole('button', { name: 'Play' }).waitFor();
  expect(await moment(page).inputValue()).toBe(await moment(page).getAttribute('max'));
  await stop();
});

test('a clip of the picture is a film that the browser saves', async () => {
  const { page, wrong, stop } = await failed();
  await moment(page).focus();
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowLeft');
  await bar(page).getByRole('button', { name: 'Clip' }).click();
  await bar(page).getByRole('button', { name: 'Pause' }).waitFor();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    // Frames take a while on a busy machine; it ends by itself where the time does.
    bar(page).getByRole('button', { name: 'Save the clip' }).click({ delay: 2000 }),
  ]);
  expect(file.suggestedFilename()).toMatch(/^weft-.*\.webm$/);
  const content = readFileSync(await file.path());
  expect(content.subarray(0, 4).toString('hex'), 'EBML, of which WebM is a kind').toBe('1a45dfa3');
  expect(content.length).toBeGreaterThan(2000);
  expect(wrong).toEqual([]);
  await stop();
});

test('on a phone the bar is in the menu, until it shows the past', async () => {
  const { page, wrong, stop } = await failed({ width: 390 });
  expect(await bar(page).isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Overview' }).click();
  await bar(page).getByRole('button', { name: 'Play' }).click();
  await bar(page).getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Overview' }).click();
  await says(page, 'All was well');
  expect(await bar(page).isVisible()).toBe(true);
  await wellMade(page, wrong, 'replay-phone');
  await stop();
});
