import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, closed, Lab, open, rows, saveUntouched, says, type, wellMade, type Schemas } from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('../docs/examples/fabric.yaml', '--traffic'), browse()]);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

const plane = async (admin: 'up' | 'drained') =>
  expect((await lab.send('PUT', '/v1/planes/2', { spec: { admin } })).ok).toBe(true);

test('a job is made by clicking, and is GO, NO-GO with its causes, and GO again', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/jobs`);
  await says(page, 'There is no job.');
  await page.getByRole('button', { name: 'New job…' }).click();
  const form = page.getByRole('dialog', { name: 'New job' });
  await type(form.getByLabel('Name', { exact: true }), 'train');
  await type(form.getByLabel('Hosts', { exact: true }), 'H[1-4]');
  await type(form.getByLabel('Data (dp)'), '4');
  await type(form.getByLabel('Lease'), '1h');
  await form.getByRole('button', { name: 'Try without doing it' }).click();
  await form.getByText('The controller accepts it').waitFor();
  await form.getByRole('button', { name: 'Create' }).click();
  await closed(form);
  await page.getByRole('heading', { name: 'Job train' }).waitFor();
  await page.locator('.verdict', { hasText: '● GO' }).waitFor();
  const ranks = page.getByRole('region', { name: 'Ranks by rack' });
  await ranks.getByRole('img', { name: 'Rank 3, H4: good, 2 of 2 ports up' }).waitFor();
  await page.getByRole('region', { name: 'Traffic of train' }).locator('.u-over').first().waitFor();
  await wellMade(page, wrong, 'job-go');
  await saveUntouched(page, lab, 'Change…', '/v1/jobs/train');

  await plane('drained');
  await page.locator('.verdict', { hasText: '✕ NO-GO' }).waitFor();
  await page.getByRole('region', { name: 'switch P2-T0-1' }).getByText('2 ranks behind it').waitFor();
  await says(page, 'Every pair of racks has 50 % of its paths left');
  await expect
    .poll(async () => (await rows(page, 'History of train')).map((r) => r[1]).join())
    .toContain('The fabric is not ready for job train');
  await wellMade(page, wrong, 'job-nogo');
  await plane('up');
  await page.locator('.verdict', { hasText: '● GO' }).waitFor();

  const before = (await lab.get<Schemas['Job']>('/v1/jobs/train')).status.ends!;
  await page.getByRole('button', { name: 'Renew…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Renew', exact: true }).click();
  await expect.poll(async () => (await lab.get<Schemas['Job']>('/v1/jobs/train')).status.ends! > before).toBe(true);
  await page.goto(`${lab.url}/#/jobs`);
  await expect
    .poll(async () => (await rows(page, 'Jobs')).map((r) => r.slice(0, 4)))
    .toEqual([['train', '● GO', 'Ready', '4']]);
  await page.context().close();
});

test('pages of links, switches, hosts and drains name the jobs that depend on them', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/hosts/H3`);
  const hurt = page.getByRole('region', { name: 'Jobs that depend on it' });
  await hurt.getByText('train, 1 of 4 ranks').waitFor();
  await page.goto(`${lab.url}/#/switches/P1-T1-1`);
  await hurt.getByText('train, 4 of 4 ranks').waitFor();
  await page.getByRole('button', { name: 'Drain P1-T1-1…' }).click();
  await page.getByRole('dialog').getByText('train, 4 of 4 ranks').waitFor();
  await page.keyboard.press('Escape');
  const links = await lab.items<Schemas['LinkView']>('/v1/links?node=P1-T0-1');
  await page.goto(`${lab.url}/#/fabric?link=${encodeURIComponent(links[0]!.id)}`);
  await hurt.getByText('train, 2 of 4 ranks').waitFor();
  await wellMade(page, wrong, 'link-jobs');
  await page.context().close();
});

test('the page of a job fits a phone, and a job is deleted there', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/jobs/train`, { width: 390, height: 800 });
  await page.locator('.verdict', { hasText: '● GO' }).waitFor();
  await page.getByRole('img', { name: /^Rank 0/ }).waitFor();
  await wellMade(page, wrong, 'job-phone');
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await says(page, 'There is no job.');
  await page.context().close();
});
