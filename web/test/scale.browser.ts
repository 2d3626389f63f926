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
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric`);
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
      await matrix.waitFor();
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
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric`);
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
