import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, Lab, open, rows, says, wellMade, type Schemas } from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('clos'), browse()]);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

test('a link is drained and undrained by clicking, with its cost shown first', async () => {
  const link = (await lab.items<Schemas['FabricLink']>('/v1/links'))[0]!;
  const path = `/v1/links/${encodeURIComponent(link.id)}`;
  const { page, wrong } = await open(browser, `${lab.url}/#/fabric?link=${encodeURIComponent(link.id)}`);
  await page.getByRole('button', { name: 'Drain this link…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Drain this link?' });
  await dialog.getByText('2 directions of links will carry no new packets').waitFor();
  await dialog.getByText('32 of 32').waitFor();
  await dialog.getByText('The controller accepts it').waitFor();
  expect((await lab.get<Schemas['FabricLink']>(path)).spec.admin, 'the preview changes nothing').toBe('up');
  await wellMade(page, wrong, 'drain');
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click();
  await page.getByRole('button', { name: 'Undrain this link' }).waitFor();
  expect((await lab.get<Schemas['FabricLink']>(path)).spec.admin).toBe('drained');
  await says(page, '15 up, 1 drained');
  await wellMade(page, wrong, 'fabric');
  await page.getByRole('button', { name: 'Undrain this link' }).click();
  await page.getByRole('button', { name: 'Drain this link…' }).waitFor();
  expect((await lab.get<Schemas['FabricLink']>(path)).spec.admin).toBe('up');
  await page.context().close();
});

test('what is drained has been so since the drain, and profiles are not whole then', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/fabric?plane=1`);
  await page.getByRole('button', { name: 'Drain plane 1…' }).waitFor();
  // The lab runs for longer than a drain of now.
  await expect
    .poll(async () => Number(/^(\d+) s$/.exec((await rows(page, 'Links'))[0]?.[5] ?? '')?.[1] ?? 99), {
      timeout: 60_000,
    })
    .toBeGreaterThan(20);
  expect((await lab.send('PUT', '/v1/planes/1', { spec: { admin: 'drained' } })).status).toBe(200);
  await expect.poll(async () => (await rows(page, 'Links'))[0]?.[2], { timeout: 20_000 }).toMatch(/drained/);
  await expect
    .poll(async () => Number(/^(\d+) s$/.exec((await rows(page, 'Links'))[0]?.[5] ?? '')?.[1] ?? 99))
    .toBeLessThan(20);
  await page.goto(`${lab.url}/#/`);
  const all = (await lab.get<Schemas['FabricView']>('/v1/fabric')).evProfiles.all;
  const profiles = page.locator('.card', { hasText: 'EV profiles' }).locator('.figure');
  await expect.poll(() => profiles.innerText(), { timeout: 20_000 }).toMatch(new RegExp(`^\\d+ / ${all}$`));
  expect(Number((await profiles.innerText()).split(' ')[0])).toBeLessThan(all);
  await says(page, 'Plane 1 is drained');
  await wellMade(page, wrong, 'drained');
  await lab.send('PUT', '/v1/planes/1', { spec: { admin: 'up' } });
  await says(page, 'All is well');
  await page.context().close();
});

test('the last plane is not drained, and the page says why', async () => {
  expect((await lab.send('PUT', '/v1/planes/1', { spec: { admin: 'drained' } })).status).toBe(200);
  const { page, wrong } = await open(browser, `${lab.url}/#/fabric?plane=2`);
  await page.getByRole('button', { name: 'Drain plane 2…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Drain plane 2?' });
  await dialog.getByText('last path').first().waitFor();
  expect(await dialog.getByRole('button', { name: 'Drain', exact: true }).isDisabled()).toBe(true);
  await lab.send('PUT', '/v1/planes/1', { spec: { admin: 'up' } });
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('no header of a table is cut off, on a desktop and a phone', async () => {
  const { page, wrong } = await open(browser, lab.url);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    for (const path of ['peers', 'controllers', 'switches', 'switches/P1-T0-1', 'hosts', 'fabric', 'audit']) {
      await page.goto(`${lab.url}/#/${path}`);
      const heads = page.getByRole('columnheader');
      await heads.first().waitFor();
      const cut = await heads.evaluateAll((all) =>
        all.filter((h) => h.scrollWidth > h.clientWidth).map((h) => (h as HTMLElement).innerText),
      );
      expect(cut, `${path} at ${width}`).toEqual([]);
      // A header stands above its column.
      const apart = await page
        .getByRole('table')
        .first()
        .evaluate((t) => {
          const at = (row: Element | null) => [...(row?.children ?? [])].map((c) => c.getBoundingClientRect().left);
          const cells = at(t.querySelector('.rows [role=row]'));
          return at(t.querySelector('.head')).filter((x, i) => i < cells.length && Math.abs(x - cells[i]!) > 1);
        });
      expect(apart, `${path} at ${width}`).toEqual([]);
    }
  }
  await page.goto(`${lab.url}/#/switches/P1-T0-1`);
  await page
    .getByRole('link', { name: /^P1-T1-\d port \d$/ })
    .first()
    .waitFor();
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('the links of a plane are those of the API; the picture is there as well', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/fabric?plane=1&view=picture`);
  await says(page, '8 nodes, 16 links');
  const links = await lab.items<Schemas['FabricLink']>('/v1/links?plane=1');
  await says(page, `${links.length} directions`);
  const shown = (await rows(page, 'Links')).map((r) => r[0]);
  expect(shown.length).toBeGreaterThan(5);
  expect(shown).toEqual(links.map((l) => `${l.status.fromName} → ${l.status.toName}`).slice(0, shown.length));
  await wellMade(page, wrong, 'picture');
  await page.context().close();
});

test('a plane is shown by how much its links are used, as the API says', async () => {
  const busy = await Lab.start('clos', '--traffic');
  const { page, wrong } = await open(browser, `${busy.url}/#/fabric?show=up`);
  const answers: number[] = []; // for the first cell, in percent
  page.on('response', (r) => {
    if (r.url().endsWith('/v1/telemetry/matrices/1'))
      void r.json().then((m: Schemas['Matrix']) => answers.push(m.up[0]![0]! / 10));
  });
  const matrix = page.getByRole('application', { name: /^Plane 1, T0 by T1/ });
  await matrix.waitFor();
  const said = matrix.locator('.said');
  await matrix.focus();
  // The first cell: the arrow keys say what is in it.
  await page.keyboard.press('ArrowRight');
  await expect
    .poll(async () => said.innerText(), { timeout: 60_000 })
    .toMatch(/P1-T0-1 port \d+ – P1-T1-1 port \d+: up, [1-9]\S* % used/);
  const shown = Number(/([\d.]+) % used/.exec(await said.innerText())![1]);
  await expect
    .poll(() => answers.some((x) => Math.abs(x - shown) <= 0.5), {
      message: `${shown} is on the screen, the API said ${answers.join()}`,
    })
    .toBe(true);
  await wellMade(page, wrong, 'use');
  await page.getByLabel(/^Show/).selectOption('state');
  await expect.poll(async () => said.innerText()).toMatch(/P1-T0-1 port \d+ – P1-T1-1 port \d+: up$/);
  await page.context().close();
  await busy.stop();
});

test('a link that fails is on the screen within 100 ms of the event, by no poll', async () => {
  const { page, wrong } = await open(browser, 'about:blank');
  await page.addInitScript(() => {
    // What recurs does not run: a page that waited for its next question would never show the failure.
    window.setInterval = (() => 0) as never;
    const decode = Reflect.get(TextDecoder.prototype, 'decode') as TextDecoder['decode'];
    let end = ''; // of the text before: a message may come in two pieces
    TextDecoder.prototype.decode = function (...args) {
      const text = decode.apply(this, args);
      if ((end + text).includes('"type":"link.changed"')) (window as never as { told?: number }).told ??= Date.now();
      end = (end + text).slice(-20);
      return text;
    };
  });
  await page.goto(`${lab.url}/#/fabric?plane=1&view=matrix`);
  await says(page, '16 up');
  const links = await lab.items<Schemas['FabricLink']>('/v1/links?plane=1');
  const took: { page: number; all: number }[] = [];
  for (let i = 0; i < 6; i++) {
    // Another link each time: one that fails again and again is held back.
    const [from] = links.filter((l) => l.status.fromName === `P1-T0-${1 + (i % 4)}`)[i >> 2]!.id.split('~');
    // The page watches before the link fails: else it may hear of the failure first.
    const watched = await page.evaluateHandle((up) => {
      const at = window as never as { told?: number };
      at.told = undefined;
      const shown = new Promise<{ told: number; shown: number }>((resolve) => {
        const watch = new MutationObserver(() => {
          if (!document.querySelector('.drawing .said')!.textContent!.includes(`${up} up`)) return;
          watch.disconnect();
          // The frame of the change is drawn before the one after it begins.
          requestAnimationFrame(() =>
            requestAnimationFrame(() => resolve({ told: at.told ?? NaN, shown: Date.now() })),
          );
        });
        watch.observe(document.body, { subtree: true, childList: true, characterData: true });
      });
      return { shown };
    }, 15 - i);
    const port = `/v1/switches/P1-T0-${1 + (i % 4)}/ports/${from!.split(',')[1]}`;
    expect((await lab.send('PUT', port, { spec: { enabled: false } })).status).toBe(200);
    const seen = await watched.evaluate((at) => at.shown);
    const events = await lab.items<Schemas['Event']>('/v1/events/latest?type=link.changed');
    const event = events.find((e) => e.state === 'denied' && e.object?.startsWith(`${from}~`))!;
    took.push({ page: seen.shown - seen.told, all: seen.shown - Date.parse(event.time) });
  }
  console.log(JSON.stringify({ bench: 'dashboard', failedLinkMs: took }));
  // What another event made the page ask for can show a failure before the failure's own message: NaN.
  const told = took.filter((t) => !Number.isNaN(t.page));
  expect(told.length, 'failures whose message came first').toBeGreaterThan(1);
  const least = (of: 'page' | 'all') => Math.min(...told.map((t) => t[of]));
  expect(least('page'), 'from the message of the stream to the frame').toBeLessThan(100);
  expect(least('all'), 'from the event in the controller to the frame').toBeLessThan(100);
  expect(wrong).toEqual([]);
  await page.context().close();
});
