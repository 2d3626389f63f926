import { defineConfig } from 'vitest/config';

// Browser tests: one after the other, since each file runs a network of its own.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    // make screenshots and make clip visit the pages only to look at them.
    include: [process.env.WEFT_SCREENSHOTS ? 'screenshots.ts' : process.env.WEFT_CLIP ? 'clip.ts' : '*.browser.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A busy machine draws late; what stays wrong for this long is wrong.
    expect: { poll: { timeout: 15_000 } },
    retry: 0,
    reporters: 'verbose',
  },
});
