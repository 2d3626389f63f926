import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { behind, browse, closed, open, says, textOf, type, wellMade, type Schemas } from './kit';
import { MadeUp } from './madeup';

let browser: Browser;

beforeAll(async () => {
  browser = await browse();
});
afterAll(async () => {
  await browser?.close();
});

test('form and YAML are two tabs of one draft, which survives going to another page', async () => {
  const fabric = await new MadeUp(1, 2).start();
  const peers = { least: 1, most: 1 },
    follows = { communicators: 1, pairs: 4, rackPairs: 1, racks: 1, sendPeers: peers, receivePeers: peers };
  fabric.besides['/v1/jobs/trainer'] = {
    name: 'trainer',
    version: 1,
    spec: { hosts: 'H[1-4]' },
    status: { phase: 'Done', ranks: 4, follows },
  } satisfies Schemas['Job'];
  const { page, wrong } = await open(browser, `${fabric.url}/#/events`);
  await page.getByRole('link', { name: 'Jobs', exact: true }).first().click();
  await page.getByRole('button', { name: 'New job…' }).click();
  const dialog = page.getByRole('dialog', { name: 'New job' });
  await type(dialog.getByLabel('Name', { exact: true }), 'train');
  await type(dialog.getByLabel('Hosts', { exact: true }), 'H[1-4]');
  await type(dialog.getByLabel('Priority'), '7');
  // What the form has is in the YAML, and the other way round.
  await dialog.getByRole('tab', { name: 'YAML' }).click();
  const editor = dialog.getByRole('textbox', { name: 'New job as YAML' });
  await expect.poll(() => textOf(editor)).toMatch(/^kind: job\nname: train\nspec:\n {2}hosts: H\[1-4\]\n/);
  expect(await textOf(editor)).toContain('priority: 7');
  await behind(editor, 'name: train');
  await page.keyboard.type('er');
  await behind(editor, 'priority: 7');
  await page.keyboard.type('7');
  await wellMade(page, wrong, 'draft-yaml');
  await dialog.getByRole('tab', { name: 'Form' }).click();
  expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('trainer');
  expect(await dialog.getByLabel('Priority').inputValue()).toBe('77');
  // Back, and there again: the draft is open as it was left.
  await page.goBack();
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  await page.goForward();
  await expect.poll(() => textOf(editor)).toContain('name: trainer');
  // What cannot be read is not sent: the form says so, and the editor where.
  await dialog.getByRole('tab', { name: 'YAML' }).click();
  await behind(editor, 'priority: 77');
  await page.keyboard.type(': :');
  await dialog.getByRole('tab', { name: 'Form' }).click();
  await dialog.getByText('The YAML cannot be read').waitFor();
  expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await dialog.getByRole('tab', { name: 'YAML' }).click();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog
    .getByRole('button', { name: /^Line \d/ })
    .first()
    .waitFor();
  await dialog.getByRole('tab', { name: 'Form' }).click();
  await type(dialog.getByLabel('Priority'), '5');
  expect(await dialog.getByText('The YAML cannot be read').count()).toBe(0);
  // What is sent is what both show.
  const sent = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/v1/jobs'));
  await dialog.getByRole('button', { name: 'Create' }).click();
  expect((await sent).postDataJSON()).toEqual({ name: 'trainer', spec: { hosts: 'H[1-4]', priority: 5 } });
  await closed(dialog);
  await page.goto(`${fabric.url}/#/jobs`);
  await page.getByRole('button', { name: 'New job…' }).click();
  expect(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'what was sent is no draft').toBe('');
  // Who cancels has no draft either.
  await type(dialog.getByLabel('Name', { exact: true }), 'gone');
  await page.keyboard.press('Escape');
  await closed(dialog);
  await page.goto(`${fabric.url}/#/events`);
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  await page.goto(`${fabric.url}/#/jobs`);
  await says(page, 'There is no job.');
  expect(await dialog.count()).toBe(0);
  expect(wrong).toEqual([]);
  await page.context().close();
  await fabric.stop();
});
