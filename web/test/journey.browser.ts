import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, Lab, open, says, wellMade } from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('figure1', '--traffic'), browse()]);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

test('a packet is caught, and followed by the arrow keys to one of its receivers', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/journey`);
  const button = page.getByRole('button', { name: 'Catch one' });
  await button.waitFor();
  expect(await button.isDisabled()).toBe(true);
  await page.getByLabel('From').locator('option', { hasText: 'S1' }).waitFor({ state: 'attached' });
  await page.getByLabel('From').focus();
  await page.keyboard.type('S1');
  await page.getByLabel('To').focus();
  await page.keyboard.type('R4');
  await button.click();
  const way = page.getByRole('list', { name: 'Way of the packet' });
  await way.waitFor({ timeout: 30_000 });
  const names = way.getByRole('button');
  expect(await names.allInnerTexts()).toEqual(['N6', 'N5', 'N3']);
  const status = page.getByRole('group', { name: /^Steps of the packet/ }).getByRole('status');
  await expect.poll(() => status.innerText()).toMatch(/^Step 1 of \d+: N6, parser, ethernet$/);
  // The arrow keys go through all of it, and the way lights up.
  await page.getByRole('group', { name: /^Steps of the packet/ }).focus();
  const lit = () => way.locator('li.lit').allInnerTexts();
  expect(await lit()).toEqual(['S1', 'N6']);
  const seen: string[] = [];
  for (let i = 0; i < 400; i++) {
    const text = await status.innerText();
    seen.push(text);
    const [, at, of] = /^Step (\d+) of (\d+)/.exec(text)!;
    if (at === of) break;
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => status.innerText()).not.toBe(text);
  }
  expect(seen.join('\n')).toMatch(/N6, ingress, mt_source: hit/);
  expect(seen.join('\n')).toMatch(/N5, copies, 2 copies/);
  expect(seen.join('\n')).toMatch(/N3, egress, mt_replica: hit/);
  expect(seen.join('\n')).toMatch(/: miss/);
  expect(await lit()).toEqual(['S1', 'N6', 'N5', 'N3', 'R4']);
  // What the edge has changed in the packet is lit, and named.
  const headers = page.getByRole('region', { name: 'Headers that leave the switch' });
  const text = (await headers.innerText()).replace(/\s+/g, ' ');
  expect(text).toMatch(/bth . changed: DestQPN/);
  expect(text).toMatch(/icrc . changed: ICRC/);
  expect(text).toMatch(/ipv6 . changed: [^0]*destination address/);
  expect(text).toMatch(/srh . removed/);
  expect(await headers.locator('mark').count()).toBeGreaterThan(10);
  // A hit leads to the entry, and to the group that wanted it.
  await page
    .getByRole('region', { name: 'Egress' })
    .getByRole('button', { name: /mt_replica: hit/ })
    .click();
  const step = page.getByRole('region', { name: 'This step' });
  await step.getByRole('link', { name: 'group demo' }).waitFor({ timeout: 15_000 });
  expect(await step.innerText()).toMatch(/with receiver_qpn\s+0x000203/);
  const link = await step.getByRole('link', { name: 'Entries of mt_replica' }).getAttribute('href');
  expect(link).toBe('#/switches/N3?table=mt_replica');
  await wellMade(page, wrong, 'journey');
  // The address is a link to the pair, the copy and the step: it catches another packet, which may meet another
  // number of tables before it.
  const address = page.url();
  expect(address).toMatch(/step=N3\+egress\+mt_replica(&|$)/);
  await page.context().close();
  const again = await open(browser, address);
  const there = again.page.getByRole('group', { name: /^Steps of the packet/ });
  await there
    .getByRole('status')
    .filter({ hasText: /^Step \d+ of \d+: N3, egress, mt_replica: hit$/ })
    .waitFor({ timeout: 30_000 });
  await again.page.context().close();
  const missed = await open(browser, address.replace('mt_replica', 'mt_gone'));
  await says(missed.page, 'This packet does not meet N3 egress mt_gone: packets of one pair differ.');
  expect(
    await missed.page
      .getByRole('group', { name: /^Steps/ })
      .getByRole('status')
      .innerText(),
  ).toMatch(/: N3, egress/);
  await missed.page.context().close();
});
