import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, closed, Lab, open, rows, saveUntouched, says, type, wellMade, type Schemas } from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('pfc', '--traffic'), browse()]);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

test('a PFC policy shows its queues, marks and tunnels, as the API says them', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/pfc`);
  await page.getByRole('link', { name: 'lossless', exact: true }).click();
  await page.getByRole('heading', { name: 'PFC policy lossless' }).waitFor();
  await expect
    .poll(async () => (await rows(page, 'Tunnels')).map((r) => [r[0], r[1], r[2]]))
    .toEqual([
      ['R3', 'R1', '● up'],
      ['R1', 'R3', '● up'],
    ]);
  const policy = await lab.get<Schemas['PfcPolicy']>('/v1/pfc-policies/lossless');
  for (const n of policy.status.nodes!) {
    const queue = page.getByRole('region', { name: `Queue of ${n.switch}, port ${n.port}` });
    expect(n.watermarks.xoff).toBe(1 << 20);
    expect(await queue.locator('tr', { hasText: 'Stops upstream above' }).locator('td').innerText()).toBe('1 MiB');
  }
  // DC2 pauses the tenant now and then: R1 holds its packets, and nothing is dropped.
  const r1 = page.getByRole('region', { name: /Queue of R1/ });
  await expect
    .poll(async () => await r1.getByRole('row', { name: /^Held / }).innerText(), { timeout: 30_000 })
    .toMatch(/[1-9].* at most/);
  await expect
    .poll(
      async () =>
        Number(
          (
            await r1
              .getByRole('row', { name: /^Pauses received / })
              .locator('td')
              .innerText()
          ).replaceAll(',', ''),
        ),
      { timeout: 30_000 },
    )
    .toBeGreaterThan(0);
  expect(
    await r1
      .getByRole('row', { name: /^Dropped / })
      .locator('td')
      .innerText(),
  ).toBe('0');
  await wellMade(page, wrong, 'pfc-policy');
  await page.context().close();
});

test('an SRv6 policy, a tenant and a PFC policy are made and deleted by clicking', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/pfc`);
  await expect.poll(async () => (await rows(page, 'Tenants')).map((r) => r[0])).toEqual(['a', 'b']);
  await page.getByRole('button', { name: 'New SRv6 policy…' }).click();
  let form = page.getByRole('dialog', { name: 'New SRv6 policy' });
  await type(form.getByLabel('Name'), 'detour');
  await form.getByLabel('From').selectOption('R1');
  await form.getByLabel('To', { exact: true }).selectOption('R3');
  await form.getByRole('button', { name: 'Add a segment' }).click();
  await form.getByRole('group', { name: 'Segment 1' }).getByLabel('Switch').selectOption('R4');
  await form.getByRole('button', { name: 'Create' }).click();
  await closed(form);
  await expect
    .poll(async () => (await rows(page, 'SRv6 policies')).find((r) => r[0] === 'detour')?.[2])
    .toBe('R1 → R4 → R5 → R3');

  // Tenant b moves to the detour, and becomes lossless there.
  await page.getByRole('button', { name: 'Change b' }).click();
  form = page.getByRole('dialog', { name: 'Change tenant b' });
  await form.getByRole('combobox', { name: 'SRv6 policy 1' }).selectOption('detour');
  await form.getByRole('button', { name: 'Save' }).click();
  await closed(form);
  expect((await lab.get<Schemas['Tenant']>('/v1/tenants/b')).spec.policies).toEqual(['detour']);
  await page.getByRole('button', { name: 'New PFC policy…' }).click();
  form = page.getByRole('dialog', { name: 'New PFC policy' });
  await type(form.getByLabel('Name'), 'too');
  await form.getByLabel('SRv6 policy').selectOption('detour');
  await form.getByLabel('Tenant').selectOption('b');
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'PFC policy too' }).waitFor();
  await says(page, '● accepted');
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('heading', { name: 'Lossless tenants' }).waitFor();
  expect((await lab.send('GET', '/v1/pfc-policies/too')).status).toBe(404);

  // What is referred to is not deleted, and the page says why.
  await page
    .getByRole('row', { name: /^detour/ })
    .getByRole('button', { name: 'Delete…' })
    .click();
  const dialog = page.getByRole('dialog', { name: 'Delete SRv6 policy detour?' });
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  await page.getByRole('button', { name: 'New tenant…' }).click();
  form = page.getByRole('dialog', { name: 'New tenant' });
  await type(form.getByLabel('Name'), 'c');
  await type(form.getByLabel('Slice'), '1');
  await type(form.getByLabel('Priority'), '4');
  await form.getByRole('button', { name: 'Add a site' }).click();
  await type(form.getByRole('group', { name: 'Site 1' }).getByLabel('Port'), '1');
  await form.getByRole('button', { name: 'Create' }).click();
  await form.getByRole('alert').waitFor();
  expect(await form.getByLabel('Slice').getAttribute('aria-invalid')).toBe('true');
  await wellMade(page, wrong, 'tenant-refused');
  await form.getByRole('button', { name: 'Cancel' }).click();
  await wellMade(page, wrong, 'pfc');
  await page.context().close();
});

test('the forms of SRv6 policies, tenants and PFC policies save what they have got', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/pfc`);
  for (const kind of ['srv6-policies', 'tenants', 'pfc-policies']) {
    const all = await lab.items<{ name: string }>(`/v1/${kind}`);
    expect(all.length, kind).toBeGreaterThan(0);
    for (const { name } of all) await saveUntouched(page, lab, `Change ${name}`, `/v1/${kind}/${name}`);
  }
  await page.goto(`${lab.url}/#/switches/R1`);
  await saveUntouched(page, lab, 'Change port R1/1', '/v1/switches/R1/ports/1');
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('a tenant and an SRv6 policy have pages of their own, with their documents', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/pfc`);
  const tenant = (await lab.items<Schemas['Tenant']>('/v1/tenants'))[0]!;
  await page.getByRole('table', { name: 'Tenants' }).getByRole('link', { name: tenant.name, exact: true }).click();
  await page.getByRole('heading', { name: `Tenant ${tenant.name}` }).waitFor();
  await expect
    .poll(async () => (await rows(page, `Sites of ${tenant.name}`)).map((r) => r[3]))
    .toEqual(tenant.status.sites!.map((s) => s.sid));
  await page.getByText('kind: tenant').waitFor();
  await wellMade(page, wrong, 'tenant');
  const policy = (await lab.items<Schemas['Srv6Policy']>('/v1/srv6-policies')).find((p) =>
    tenant.spec.policies?.includes(p.name),
  )!;
  await page.getByRole('link', { name: policy.name, exact: true }).first().click();
  await page.getByRole('heading', { name: `SRv6 policy ${policy.name}` }).waitFor();
  expect(await page.getByRole('list', { name: 'Path' }).getByRole('listitem').allInnerTexts()).toEqual(
    policy.status.path,
  );
  await page.getByRole('tab', { name: 'Entries on switches' }).click();
  await page.getByText('It refuses this one').waitFor(); // the tenant refers to it
  await wellMade(page, wrong, 'srv6-policy');
  await page.setViewportSize({ width: 390, height: 800 });
  await wellMade(page, wrong, 'srv6-policy-phone');
  await page.goto(`${lab.url}/#/tenants/${tenant.name}?tab=entries`);
  await page.getByText(/It refuses this one|entries on/).waitFor();
  await wellMade(page, wrong, 'tenant-phone');
  await page.context().close();
});
