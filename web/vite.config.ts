import { defineConfig } from 'vitest/config';

// The controller answers at any path behind a proxy, so the address of every asset is relative. The
// policy of the page allows no inline script and no data: address, so assets stay files.
export default defineConfig({
  base: './',
  build: {
    outDir: 'dist',
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000, // build/compress.mjs has the limit
  },
  // Tests read the style sheets.
  test: { css: true },
  // npm run dev works on the sources and asks a running controller: WEFT_SERVER is its address.
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/healthz', '/readyz', '/openapi.json'].map((path) => [
        path,
        process.env.WEFT_SERVER ?? 'http://127.0.0.1:8080',
      ]),
    ),
  },
});
