import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, card, open, says, wellMade } from './kit';
import { MadeUp } from './madeup';

// How a large fabric is shown. Times are measured and printed, and bounded so loosely that a slow machine
// passes: what they bound is work that grows with the square.
const slow = 20;
let browser: Browser;
beforeAll(async () => {
  browser = await browse();
});
afterAll(() => browser?.close());

const print = (figures: object) => console.log(JSON.stringify({ bench: 'dashboard', ...figures }));
const heap = (page: Page) =>
  page.evaluate(async () => {
    (window as never as { gc?: () => void }).gc?.();
    return (performance as never as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize;
  });
/** Milliseconds from one frame to the next while something is done so many times, one frame each. */
const frames = (page: Page, label: string, what: 'zoom' | 'pan', times: number) =>
  page.evaluate(
    async ([label, what, times]) => {
      const canvas = document.querySelector(`[aria-label^="${label}"] canvas`)!;
      const at = canvas.getBoundingClientRect();
      const frame = () => new Promise<number>((r) => requestAnimationFrame(r));
      const pointer = (type: string, x: number, y: number) =>
        canvas.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: x, clientY: y }));
      const took: number[] = [];
      let last = await frame();
      if (what === 'pan') pointer('pointerdown', at.x + 400, at.y + 300);
      for (let i = 0; i < (times as number); i++) {
        if (what === 'zoom')
          canvas.dispatchEvent(
            new WheelEvent('wheel', {
              bubbles: true,
              cancelable: true,
              ctrlKey: true,
              deltaY: -8,
              clientX: at.x + 400,
              clientY: at.y + 300,
            }),
          );
        else pointer('pointermove', at.x + 400 - 3 * i, at.y + 300 - 2 * i);
        const now = await frame();
        took.push(now - last);
        last = now;
      }
      if (what === 'pan') pointer('pointerup', at.x, at.y);
      return took.sort((a, b) => a - b);
    },
    [label, what, times] as const,
  );

test('1,024 switches and 262,144 directions of links', async () => {
  const fabric = await new MadeUp(2, 256).start();
  const began = performance.now();
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric?view=matrix`);
  const matrix = page.getByRole('application', { name: 'Plane 1, T0 by T1: 256 by 256 switches' });
  await matrix.waitFor();
  await expect
    .poll(() =>
      matrix
        .locator('canvas')
        .evaluate(
          (c: HTMLCanvasElement) =>
            c.width > 300 && c.getContext('2d')!.getImageData(c.width / 2, c.height / 2, 1, 1).data[3]! > 0,
        ),
    )
    .toBe(true);
  const first = performance.now() - began;
  await says(page, '65536 up');
  await says(page, '262144 directions');
  // One link changes: it is asked for alone, and is on the screen.
  const told = performance.now();
  fabric.fail(1, 200, 100);
  await matrix.getByText('65535 up, 1 down').waitFor();
  const event = performance.now() - told;
  expect(fabric.asked, 'questions for all links').toBe(1);
  const zoomed = await frames(page, 'Plane 1', 'zoom', 60),
    moved = await frames(page, 'Plane 1', 'pan', 60);
  await wellMade(page, wrong, 'fabric-large');
  // The fault is found without looking for it.
  await page.getByRole('link', { name: 'Overview' }).click();
  await says(page, /Link P1-T0-201 – P1-T1-101 has failed/);
  expect(await card(page, 'Link directions')).toMatch(/262143.*262144/);
  // To and fro, again and again: what is held does not grow.
  const held: number[] = [];
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 5; i++) {
      await page.getByRole('link', { name: 'Fabric' }).click();
      await page.getByRole('group', { name: 'The fabric by planes and pods' }).waitFor();
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      fabric.say({ type: 'switch.changed', object: 'P1-T0-1', message: 'made up' });
    }
    held.push(await heap(page));
  }
  const median = (all: number[]) => Math.round(all[all.length >> 1]!);
  print({
    links: 262144,
    firstPictureMs: Math.round(first),
    eventMs: Math.round(event),
    zoomFrameMs: median(zoomed),
    panFrameMs: median(moved),
    heapMB: held.map((h) => Math.round(h / 1e6)),
  });
  expect(first).toBeLessThan(2_000 * slow);
  expect(median(zoomed)).toBeLessThan((1000 / 30) * slow);
  expect(median(moved)).toBeLessThan((1000 / 30) * slow);
  // React keeps what it drew before, so there may be two of each link. All links were read anew many times
  // over: what leaks them grows many times over.
  expect(fabric.asked, 'questions for all links').toBeGreaterThan(10);
  expect(Math.max(...held), `heap in octets: ${held.join()}`).toBeLessThan(4 * Math.min(...held));
  await page.context().close();
  await fabric.stop();
});

test('a matrix of 512 by 512 switches is one picture', async () => {
  const fabric = await new MadeUp(1, 512).start();
  const began = performance.now();
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric?view=matrix`);
  const matrix = page.getByRole('application', { name: 'Plane 1, T0 by T1: 512 by 512 switches' });
  await matrix.getByText('262144 up').waitFor();
  const first = performance.now() - began;
  fabric.fail(1, 511, 3);
  await matrix.getByText('262143 up, 1 down').waitFor();
  const moved = await frames(page, 'Plane 1', 'zoom', 30);
  print({ links: 524288, firstPictureMs: Math.round(first), zoomFrameMs: Math.round(moved[15]!) });
  await wellMade(page, wrong, 'matrix-512');
  await page.context().close();
  await fabric.stop();
});

/** Texts of blocks that lie on another or are cut off. */
const crowded = (page: Page) =>
  page.locator('.blocks').evaluate((box) => {
    const leaves = [...box.querySelectorAll<HTMLElement>('h3, strong, .tiername, .quiet, .state-of')].filter(
      (e) => !e.closest('.state-of') || e.classList.contains('state-of'),
    );
    const all = leaves.map((e) => ({ e, r: e.getBoundingClientRect() })).filter(({ r }) => r.width > 0);
    const wrong: string[] = [];
    all.forEach(({ e, r }, i) => {
      const card = (e.closest('.block') ?? e).getBoundingClientRect();
      if (r.left < card.left || r.right > card.right + 0.5 || r.bottom > card.bottom + 0.5)
        wrong.push(`${e.innerText} is cut off`);
      for (const other of all.slice(i + 1, i + 40)) {
        if (e.contains(other.e)) continue;
        const o = other.r;
        if (r.left < o.right - 1 && o.left < r.right - 1 && r.top < o.bottom - 1 && o.top < r.bottom - 1)
          wrong.push(`${e.innerText} lies on ${other.e.innerText}`);
      }
    });
    return wrong;
  });

test('a large fabric is first shown by planes and pods, with what fails in each', async () => {
  // 6,144 switches: in 2 planes of 16 pods.
  const fabric = await new MadeUp(2, 64, 16).start();
  fabric.fail(1, 64 + 5, 64 + 7); // within pod 2
  fabric.fail(2, 64 * 3, 2, 1); // from pod 4 up
  const began = performance.now();
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric`);
  const blocks = page.getByRole('group', { name: 'The fabric by planes and pods' });
  await blocks.waitFor();
  const first = performance.now() - began;
  print({ switches: 6144, blocksMs: Math.round(first) });
  expect(first).toBeLessThan(3_000 * slow);
  expect(await page.getByRole('application').count(), 'what is drawn before a block is open').toBe(0);
  const one = page.getByRole('region', { name: 'Plane 1' }),
    two = page.getByRole('region', { name: 'Plane 2' });
  expect(await one.locator('a.block').count()).toBe(17);
  const pod = (id: string) => page.locator(`a.block[data-block="${id}"]`);
  expect(await pod('1.2').innerText()).toMatch(
    /^Pod 2\s*1,024 links to T2\s*T1\s*64 switches\s*4,096 links\s*T0\s*64 switches/,
  );
  expect(await pod('1.2').innerText()).toMatch(/✕\s*1 down/);
  expect(await pod('1.1').innerText()).toContain('all links up');
  // A link between two blocks fails in both, and once in the plane.
  expect(await pod('2.4').innerText()).toMatch(/✕\s*1 down/);
  expect(await pod('2.top').innerText()).toMatch(/T2\s*1,024 switches[^]*1 down/);
  expect(await two.getByRole('heading').innerText()).toMatch(/Plane 2\s*✕\s*1 down/);
  fabric.fail(1, 64 + 5, 64 + 8);
  await expect.poll(() => pod('1.2').innerText()).toMatch(/✕\s*2 down/);
  // The legend has the shape and colour of what is in the blocks.
  const colour = (of: string) => page.locator(of).evaluate((e) => e.textContent! + getComputedStyle(e).backgroundColor);
  expect(await colour('.planeblock[aria-label="Plane 2"] h3 .cell')).toBe(await colour('.legend .cell.down'));
  expect(await crowded(page)).toEqual([]);
  await wellMade(page, wrong, 'blocks-6144');
  // By keys: to the next block, and into it.
  await pod('1.1').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  const matrix = page.getByRole('application', { name: 'Plane 1, T0 by T1: 64 by 64 switches' });
  await matrix.getByText('4094 up, 2 down').waitFor();
  await page.getByRole('heading', { name: 'Plane 1, pod 2' }).waitFor();
  await says(page, '8192 directions');
  await wellMade(page, wrong, 'block-6144');
  await page.getByRole('link', { name: 'All planes and pods' }).press('Enter');
  await blocks.waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-block'))).toBe('1.2');
  // By a click on a phone.
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await crowded(page)).toEqual([]);
  await wellMade(page, wrong, 'blocks-phone');
  await pod('2.top').click();
  await page.getByRole('application', { name: 'Plane 2, T1 by T2: 1024 by 1024 switches' }).waitFor();
  await page.context().close();
  await fabric.stop();
});

test('planes without pods are blocks with what they carry', async () => {
  const fabric = await new MadeUp(2, 256).start();
  fabric.load = 420;
  fabric.fail(2, 200, 100);
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric`);
  const one = page.getByRole('region', { name: 'Plane 1' }).locator('a.block');
  await expect
    .poll(() => one.innerText(), { timeout: 20_000 })
    .toMatch(/T1\s*256 switches\s*65,536 links[^]*load 42 %, busiest port 42 %/);
  expect(await one.innerText()).toContain('all links up');
  expect(await page.getByRole('region', { name: 'Plane 2' }).locator('a.block').innerText()).toMatch(/✕\s*1 down/);
  expect(await one.locator('line').getAttribute('class')).toBe('load-4');
  await page.getByRole('combobox', { name: 'Plane' }).selectOption('2');
  await expect.poll(() => page.locator('a.block').count()).toBe(1);
  await page.locator('a.block').click();
  await page.getByRole('application', { name: 'Plane 2, T0 by T1: 256 by 256 switches' }).waitFor();
  expect(wrong).toEqual([]);
  await page.context().close();
  await fabric.stop();
});
