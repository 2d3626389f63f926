import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { channels } from '../src/domain/colour';
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
              deltaY: i % 10 < 5 ? -8 : 8, // to and fro: thirty steps in would come into a pod
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
  await says(page, '65,536 up');
  await says(page, '262144 directions');
  // One link changes: it is asked for alone, and is on the screen.
  const told = performance.now(),
    asked = fabric.asked;
  fabric.fail(1, 200, 100);
  await matrix.getByText('65,535 up, 1 down').waitFor();
  const event = performance.now() - told;
  expect(fabric.asked, 'questions for all links').toBe(asked);
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
      await tiles(page).waitFor();
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
  await matrix.getByText('262,144 up').waitFor();
  const first = performance.now() - began;
  fabric.fail(1, 511, 3);
  await matrix.getByText('262,143 up, 1 down').waitFor();
  const moved = await frames(page, 'Plane 1', 'zoom', 30);
  print({ links: 524288, firstPictureMs: Math.round(first), zoomFrameMs: Math.round(moved[15]!) });
  await wellMade(page, wrong, 'matrix-512');
  await page.context().close();
  await fabric.stop();
});

const tiles = (page: Page) => page.getByRole('application', { name: 'The fabric by planes and pods' });

test('a large fabric is first shown by planes and pods, with what fails in each', async () => {
  // 6,144 switches: in 2 planes of 16 pods.
  const fabric = await new MadeUp(2, 64, 16).start();
  fabric.fail(1, 64 + 5, 64 + 7); // within pod 2
  fabric.fail(2, 64 * 3, 2, 1); // from pod 4 up
  const began = performance.now();
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric`);
  const said = tiles(page).locator('.said');
  await tiles(page).getByText('Plane 1: 1 down. Plane 2: 1 down.').waitFor();
  const first = performance.now() - began;
  print({ switches: 6144, blocksMs: Math.round(first) });
  expect(first).toBeLessThan(3_000 * slow);
  fabric.fail(1, 64 + 5, 64 + 8);
  await tiles(page).getByText('Plane 1: 2 down. Plane 2: 1 down.').waitFor();
  await wellMade(page, wrong, 'blocks-6144');
  // By keys: over the top tier and the first pod to the next one, and into it.
  await tiles(page).focus();
  for (const says of [
    'Plane 1, top tier: 1,024 T2; 16,384 up',
    'Plane 1, pod 1: 64 T1, 64 T0; 4,096 up',
    'Plane 1, pod 2: 64 T1, 64 T0; 2 down; 4,094 up',
  ]) {
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => said.innerText()).toBe(says);
  }
  await page.keyboard.press('Enter');
  const matrix = page.getByRole('application', { name: 'Plane 1, T0 by T1: 64 by 64 switches' });
  await matrix.getByText('4,094 up, 2 down').waitFor();
  await page.getByRole('heading', { name: 'Plane 1, pod 2' }).waitFor();
  await says(page, '8192 directions');
  await page.getByRole('link', { name: 'All planes and pods' }).press('Enter');
  // The keys go on where they were.
  await expect.poll(() => said.innerText()).toMatch(/^Plane 1, pod 2/);
  await expect.poll(() => tiles(page).evaluate((e) => e === document.activeElement)).toBe(true);
  await page.setViewportSize({ width: 390, height: 844 });
  await wellMade(page, wrong, 'blocks-phone');
  await page.context().close();
  await fabric.stop();
});

test('a click comes into a pod, and zooming does; then switches and ports have names', async () => {
  // 768 switches.
  const fabric = await new MadeUp(2, 8, 16).start();
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric`, { width: 390, height: 844 });
  const opened = page.getByRole('heading', { name: /^Plane 1, pod \d+$/ });
  await tiles(page)
    .locator('canvas')
    .first()
    .click({ position: { x: 30, y: 100 } });
  await opened.waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('link', { name: 'All planes and pods' }).click();
  await tiles(page).waitFor();
  await tiles(page)
    .locator('canvas')
    .first()
    .hover({ position: { x: 60, y: 260 } });
  await page.keyboard.down('Control');
  await expect
    .poll(async () => {
      await page.mouse.wheel(0, -60);
      return opened.count();
    })
    .toBe(1);
  await page.keyboard.up('Control');
  await page.goto(`${fabric.url}/#/fabric?block=1.2&view=matrix`);
  const matrix = page.getByRole('application', { name: 'Plane 1, T0 by T1: 8 by 8 switches' });
  // The name of a row is its switch, and a cell has the ports of its link.
  await matrix
    .locator('canvas')
    .first()
    .click({ position: { x: 40, y: 22 + 34 / 2 } });
  await page.getByRole('region', { name: 'Switch P1-T0-9' }).waitFor();
  await matrix
    .locator('canvas')
    .first()
    .hover({ position: { x: 84 + 34 * 1.5, y: 22 + 34 / 2 } });
  await matrix.getByText('P1-T0-9 port 1010 – P1-T1-10 port 9: up').waitFor();
  await wellMade(page, wrong, 'block-768');
  await page.context().close();
  await fabric.stop();
});

test('1,536 switches have 30 frames a second', { timeout: 400_000 }, async () => {
  // 262,144 directions of links: 4 planes of 256 T0 and 128 T1.
  const fabric = await new MadeUp(4, 128, 1, 256).start();
  fabric.load = 420;
  fabric.fail(2, 200, 100);
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric`);
  await tiles(page).getByText('Plane 1: all links up. Plane 2: 1 down.').waitFor();
  /** The colour of the middle of plane 1. */
  const middle = () =>
    tiles(page)
      .locator('canvas')
      .first()
      .evaluate((c: HTMLCanvasElement) => [
        ...c
          .getContext('2d')!
          .getImageData(c.width / 8, c.height / 2, 1, 1)
          .data.slice(0, 3),
      ]);
  const token = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--load-4'));
  await expect.poll(middle, { timeout: 20_000 }).toEqual(channels(token.trim()));
  await tiles(page).focus();
  await page.keyboard.press('ArrowRight');
  await expect
    .poll(() => tiles(page).locator('.said').innerText())
    .toBe('Plane 1, all switches: 128 T1, 256 T0; 32,768 up; load 42 %, at most 42 %');
  await page.getByRole('heading', { level: 1 }).hover();
  const zoomed = await frames(page, 'The fabric by planes', 'zoom', 30),
    moved = await frames(page, 'The fabric by planes', 'pan', 30);
  await tiles(page).hover();
  await page.getByRole('heading', { level: 1 }).hover();
  await page.getByRole('combobox', { name: 'Plane' }).selectOption('2');
  await tiles(page)
    .getByText(/^Plane 2: 1 down\.$/)
    .waitFor();
  const median = (all: number[]) => Math.round(all.sort((a, b) => a - b)[all.length >> 1]!);
  print({
    switches: 1536,
    links: 262144,
    zoomFrameMs: median(zoomed),
    panFrameMs: median(moved),
  });
  for (const all of [zoomed, moved]) expect(median(all)).toBeLessThan((1000 / 30) * slow);
  expect(wrong).toEqual([]);
  await page.context().close();
  await fabric.stop();
});
