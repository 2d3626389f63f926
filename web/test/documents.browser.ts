import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { behind, browse, closed, Lab, open, says, wellMade, type Schemas } from './kit';

let lab: Lab, browser: Browser;

const va = 18446612682070000641n;
const spec = {
  proxyAddress: '2001:db8:ffff::1',
  designatedQpn: 4096,
  source: { address: '2001:db8:1:1::1', qpn: 256 },
  receivers: [{ address: '2001:db8:1:4::1', qpn: 512, va, rkey: 7 }],
};

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('../docs/examples/fabric.yaml'), browse()]);
  const made = await lab.send('PUT', '/v1/multicast-groups/g1', { spec });
  if (!made.ok) throw new Error(await made.text());
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

const group = () => lab.get<Schemas['Group']>('/v1/multicast-groups/g1');
const section = (page: Page) => page.getByRole('region', { name: 'Document of g1' });

const editor = (page: Page) => section(page).getByRole('textbox');

test('a document is read, copied and edited by keys, with suggestions, a diff and a dry run', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups/g1`);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const doc = section(page);
  await doc.getByText(`va: ${va}`).waitFor();
  await wellMade(page, wrong, 'document');
  await doc.getByRole('button', { name: 'Copy' }).click();
  await doc.getByText('Copied.').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toMatch(/^kind: multicast-group\nname: g1\nspec:\n/);

  await doc.getByRole('button', { name: 'Edit' }).click();
  await behind(editor(page), 'designatedQpn: 4096');
  await page.keyboard.press('Enter');
  await page.keyboard.type('evi');
  const list = doc.getByRole('listbox', { name: 'Suggestions' });
  await list.getByRole('option', { name: /^evictAfter/ }).waitFor();
  await wellMade(page, wrong, 'document-edit');
  // In the first 75 ms of a list the editor takes keys for the text: that time is over now.
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.keyboard.type('5s');
  await page.keyboard.press('Enter');
  await page.keyboard.type('mo');
  await page.keyboard.press('Control+Space');
  // A mode is there already, so there is no suggestion of it: the line goes again.
  expect(await list.count()).toBe(0);
  // An indentation goes by one key.
  for (let i = 0; i < 'mo\n'.length + 1; i++) await page.keyboard.press('Backspace');
  const diff = doc.getByRole('region', { name: 'What you change' });
  await expect.poll(async () => (await diff.locator('.added').allInnerTexts()).join()).toContain('evictAfter: 5s');
  expect(await diff.locator('.removed').count()).toBe(0);
  await doc.getByRole('button', { name: 'Try without doing it' }).click();
  await doc.getByText('The controller accepts it').waitFor();
  expect((await group()).spec.evictAfter).toBe(undefined);
  await doc.getByRole('button', { name: 'Apply' }).click();
  await doc.getByText('Applied.').waitFor();
  expect((await group()).spec.evictAfter).toBe('5s');
  expect((await group()).spec.receivers![0]!.va).toBe(va);
  await page.context().close();
});

test('what is wrong is named with its line, and nothing is changed', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups/g1`);
  const doc = section(page);
  const before = (await group()).version;
  await doc.getByRole('button', { name: 'Edit' }).click();
  await behind(editor(page), 'designatedQpn: 4096');
  await page.keyboard.type('000000');
  await doc.getByRole('button', { name: 'Apply' }).click();
  await doc.getByText('spec.designatedQpn is 4096000000: want at most 16777215').first().waitFor();
  await doc.getByRole('button', { name: 'Line 5' }).click();
  const chosen = () =>
    page.evaluate(() =>
      (document.querySelector('.editor')!.shadowRoot as never as Document).getSelection()!.toString(),
    );
  await expect.poll(chosen).toContain('designatedQpn');
  await behind(editor(page), 'kind: multicast-group');
  await page.keyboard.type(': {');
  await doc.getByRole('button', { name: 'Apply' }).click();
  await doc
    .getByRole('button', { name: /^Line / })
    .first()
    .waitFor();
  await wellMade(page, wrong, 'document-wrong');
  expect((await group()).version).toBe(before);
  await page.context().close();
});

test('a document that somebody else has changed is not overwritten', async () => {
  const { page } = await open(browser, `${lab.url}/#/groups/g1`);
  const doc = section(page);
  await doc.getByRole('button', { name: 'Edit' }).click();
  await behind(editor(page), 'evictAfter: 5');
  await page.keyboard.type('0');
  const theirs = await lab.send('PATCH', '/v1/multicast-groups/g1', { spec: { evictAfter: '7s' } });
  expect(theirs.ok).toBe(true);
  await doc.getByText('Somebody has changed it meanwhile').waitFor();
  await doc.getByRole('button', { name: 'Apply' }).click();
  await doc.getByRole('alert').filter({ hasText: 'version_mismatch' }).waitFor();
  expect((await group()).spec.evictAfter).toBe('7s');
  await doc.getByRole('button', { name: /^Begin again/ }).click();
  await behind(editor(page), 'evictAfter: 7');
  await page.keyboard.type('0');
  await doc.getByRole('button', { name: 'Apply' }).click();
  await doc.getByText('Applied.').waitFor();
  expect((await group()).spec.evictAfter).toBe('1m10s');
  await page.context().close();
});

test('the history says who changed what, and a change is taken back as a new one, also a deletion', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups/g1?tab=history`);
  const changes = page.getByRole('list', { name: 'Changes of g1' }).locator('> li');
  await expect.poll(() => changes.count(), { timeout: 10_000 }).toBe(4);
  expect(await changes.first().innerText()).toMatch(/^anybody changed it/);
  await changes.first().locator('.added').getByText('evictAfter: 1m10s').waitFor();
  await wellMade(page, wrong, 'document-history');
  await changes.first().getByRole('button', { name: 'Undo…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Undo the change?' });
  await dialog.locator('.added').getByText('evictAfter: 7s').waitFor();
  await dialog.getByRole('button', { name: 'Try without doing it' }).click();
  await dialog.getByText('The controller accepts it').waitFor();
  await dialog.getByRole('button', { name: 'Undo', exact: true }).click();
  await closed(dialog);
  expect((await group()).spec.evictAfter).toBe('7s');
  await expect.poll(() => changes.count(), { timeout: 10_000 }).toBe(5);

  expect((await lab.send('DELETE', '/v1/multicast-groups/g1')).ok).toBe(true);
  await says(page, 'There is no group g1 (any more)');
  await expect.poll(() => changes.first().innerText(), { timeout: 10_000 }).toMatch(/^anybody deleted it/);
  await changes.first().getByRole('button', { name: 'Undo…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Undo', exact: true }).click();
  await expect.poll(async () => (await lab.send('GET', '/v1/multicast-groups/g1')).status).toBe(200);
  expect((await group()).spec.receivers![0]!.va).toBe(va);
  await page.context().close();
});

test('arrow keys go to the events and to the entries on switches, and a phone has room for them', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups/g1`, { width: 390, height: 800 });
  const doc = section(page);
  await doc.getByRole('tab', { name: 'YAML' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await doc.getByRole('table', { name: 'Events of g1' }).waitFor();
  await doc
    .getByText(/^Group g1/)
    .first()
    .waitFor();
  await wellMade(page, wrong, 'document-phone-events');
  await page.keyboard.press('End');
  await doc.getByText(/entries on \d switches/).waitFor();
  await doc.getByText('mt_group').first().waitFor();
  await wellMade(page, wrong, 'document-phone-entries');
  await page.keyboard.press('Home');
  await doc.getByRole('button', { name: 'Edit' }).click();
  await behind(editor(page), 'mode: provisioned');
  await page.keyboard.press('Control+Space');
  await wellMade(page, wrong, 'document-phone-edit');
  await page.context().close();
});

test('a deletion is taken back by one key while it is offered', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups/g1`);
  const before = (await group()).spec;
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await says(page, 'Done: group g1 is deleted.');
  expect((await fetch(`${lab.url}/v1/multicast-groups/g1`)).status).toBe(404);
  await page.keyboard.press('u');
  await says(page, 'Done: group g1 is made.');
  expect((await group()).spec).toEqual(before);
  // It is offered for ten seconds, and not for longer.
  await expect.poll(() => page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
  expect(wrong.filter((w) => !/404/.test(w))).toEqual([]);
  await page.context().close();
});
