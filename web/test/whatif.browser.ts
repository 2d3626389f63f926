import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, Lab, open, wellMade, type Schemas } from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('clos'), browse()]);
  const ranks = { hosts: 'H[1-16]', communicators: [{ name: 'all', ranks: '0-15', pattern: 'ring' }] };
  expect((await lab.send('PUT', '/v1/jobs/train', { spec: ranks })).ok).toBe(true);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

test('planes and switches that are clicked change the step of a job on the page, and nothing in the fabric', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/what-if`);
  const job = page.getByRole('table', { name: 'What jobs get' }).locator('tbody tr').first().locator('td');
  const longer = async () => (await job.allInnerTexts()).slice(3, 5);
  await expect.poll(longer, { timeout: 20_000 }).toEqual(['0.0 %', '0']);
  await page.getByRole('button', { name: 'Plane 1', exact: true }).click();
  await expect.poll(async () => Number.parseFloat((await longer())?.[0] ?? '')).toBeGreaterThan(80);
  await wellMade(page, wrong, 'what-if');
  await page.getByRole('button', { name: 'Plane 2', exact: true }).click();
  await expect.poll(async () => (await longer())?.[1]).toMatch(/^16: /);
  await page.getByRole('button', { name: 'Do not choose plane 2' }).click();
  await page.getByRole('button', { name: 'Do not choose plane 1' }).click();
  await expect.poll(longer).toEqual(['0.0 %', '0']);
  // The keyboard goes through the picture, and Enter chooses what a click would.
  const picture = page.getByRole('application', { name: /^Picture of the network/ });
  await picture.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page
    .getByRole('list', { name: 'What is chosen' })
    .getByText(/^switch P/)
    .waitFor();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save as YAML' }).click();
  expect((await saved).suggestedFilename()).toBe('what-if.yaml');
  const all = await lab.items<Schemas['FabricNode']>('/v1/nodes');
  expect(all.every((n) => n.spec.admin === 'up')).toBe(true);
  await page.context().close();
});
