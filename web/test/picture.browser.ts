import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, Lab, open, says, wellMade, type Schemas } from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('figure1', '--traffic'), browse()]);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

const picture = (page: Page) => page.getByRole('application', { name: /^Picture of the network/ });

/** The pixels of a picture that are not of its background, as a text. */
const drawn = (page: Page) =>
  picture(page)
    .locator('canvas')
    .first()
    .evaluate((c: HTMLCanvasElement) => c.toDataURL().length);

/** What the picture says of the node of a name, by keys. */
async function said(page: Page, name: string): Promise<string> {
  await picture(page).focus();
  const text = picture(page).locator('.said');
  for (let i = 0; i < 20 && !(await text.innerText()).startsWith(`${name},`); i++)
    await page.keyboard.press('ArrowRight');
  return text.innerText();
}

test('the picture has ports and what they carry, and is the same after a reload', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/fabric`);
  await picture(page).waitFor();
  await expect.poll(() => said(page, 'N6'), { timeout: 30_000 }).toMatch(/port \d+ to N4 [1-9]\S* [kM]b\/s/);
  await says(page, 'load, up to');
  const links = await lab.items<Schemas['FabricLink']>('/v1/links');
  for (const l of links.filter((l) => l.status.fromName === 'N6'))
    expect(await said(page, 'N6')).toContain(`port ${l.id.split('~')[0]!.split(',')[1]} to ${l.status.toName}`);
  await wellMade(page, wrong, 'picture');
  await page.context().close();
});

test('a picture of the past has the states of then, by the address', async () => {
  const port = { enabled: false };
  const link = (await lab.items<Schemas['FabricLink']>('/v1/links')).find(
    (l) => l.status.fromName === 'N4' && l.status.toName === 'N2',
  )!;
  const path = `/v1/switches/N4/ports/${link.id.split('~')[0]!.split(',')[1]}`;
  const { page, wrong } = await open(browser, `${lab.url}/#/fabric`);
  await picture(page).waitFor();
  const before = Math.floor(Date.now() / 1000) - 1;
  expect((await lab.send('PUT', path, { spec: port })).status).toBe(200);
  await expect.poll(() => said(page, 'N4'), { timeout: 30_000 }).toMatch(/1 of them not up/);
  await page.goto(`${lab.url}/#/fabric?at=${before}`);
  await says(page, 'Back to now');
  await expect.poll(() => said(page, 'N4'), { timeout: 20_000 }).not.toMatch(/not up/);
  await page.getByRole('button', { name: 'Back to now' }).click();
  await expect.poll(() => said(page, 'N4'), { timeout: 20_000 }).toMatch(/1 of them not up/);
  expect(await drawn(page)).toBeGreaterThan(1000);
  expect((await lab.send('PUT', path, { spec: { enabled: true } })).status).toBe(200);
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('pages of a switch and of a group show where it is', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/switches/N6`);
  await page.getByRole('heading', { name: 'Where it is' }).waitFor();
  await page.goto(`${lab.url}/#/groups/demo`);
  await page.getByRole('heading', { name: 'Where it is' }).waitFor();
  await wellMade(page, wrong, 'where');
  await page.context().close();
});

test('each state of the legend has a shape and a colour of its own', async () => {
  const { page } = await open(browser, `${lab.url}/#/fabric`);
  const cells = page.getByRole('group', { name: 'States' }).locator('.cell');
  await cells.first().waitFor();
  const shapes = await cells.evaluateAll((all) => all.map((c) => c.textContent));
  expect(new Set(shapes).size).toBe(shapes.length);
  await page.context().close();
});
