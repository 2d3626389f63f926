// The site of docs/, which make site has copied to bin/site/src, with the docs of each tag in a folder
// of its own.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { defineConfig } from 'vitepress';

const root = resolve(import.meta.dirname, '../../..');
const src = join(root, 'bin/site/src');
const out = join(root, 'bin/site/html');
const repository = 'https://github.com/weft-sdn/weft';

const versions = readdirSync(src)
  .filter((name) => /^v\d/.test(name))
  .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
const versionOf = (page) => versions.find((v) => page.startsWith(v + '/'));

const title = (page) => /^# (.+)$/m.exec(readFileSync(join(src, page), 'utf8'))?.[1] ?? page;
const path = (page) => '/' + page.replace(/(README)?\.md$/, '');

// The sidebar has the rows of the table in README.md, and the pages of the folders that these name.
function sidebar(folder) {
  const groups = [{ text: 'First steps', items: [] }];
  for (const row of readFileSync(join(src, folder, 'README.md'), 'utf8').split('\n')) {
    const group = /^\| \*\*(.+)\*\* \|/.exec(row)?.[1];
    if (group) groups.push({ text: group[0].toUpperCase() + group.slice(1), items: [], collapsed: false });
    if (!row.startsWith('| [')) continue;
    for (const [, name] of row.split(' | ')[0].matchAll(/\]\(([\w/-]+\.md)\)/g)) {
      const page = join(folder, name);
      const item = { text: title(page), link: path(page) };
      if (name.endsWith('/README.md')) {
        const others = readdirSync(join(src, dirname(page))).filter((f) => f.endsWith('.md') && f !== 'README.md');
        item.items = others.map((f) => join(dirname(page), f)).map((p) => ({ text: title(p), link: path(p) }));
        item.collapsed = true;
      }
      groups.at(-1).items.push(item);
    }
  }
  return groups;
}

// Links are those of the repository: README.md is the page of its folder, and what lies outside of docs/
// is at the repository. A link with the name of a file has the title of the page instead.
function links(md) {
  md.core.ruler.push('links', (state) => {
    const page = state.env.relativePath ?? '';
    const version = versionOf(page);
    for (const [token, text] of state.tokens.flatMap((t) => (t.children ?? []).map((c, i, all) => [c, all[i + 1]]))) {
      const href = token.type === 'link_open' && token.attrGet('href');
      if (!href || /^([a-z]+:|#)/.test(href)) continue;
      const [file, anchor] = href.split('#');
      const target = relative(join(src, version ?? ''), join(src, dirname(page), file));
      if (target.startsWith('..') || !/\.(md|png)$/.test(target)) {
        token.attrSet('href', `${repository}/blob/${version ?? 'main'}/${join('docs', target)}`);
        continue;
      }
      if (/^[\w/-]+(\.md|\/)$/.test(text.content)) text.content = title(join(version ?? '', target));
      if (file.endsWith('README.md')) {
        token.attrSet('href', file.replace(/README\.md$/, 'index.md') + (anchor ? '#' + anchor : ''));
      }
    }
  });
}

// Links to pages without the heading that a link names end the build; VitePress itself ends it for pages
// that do not exist.
function checkAnchors() {
  const pages = new Map();
  for (const name of readdirSync(out, { recursive: true }).filter((n) => n.endsWith('.html'))) {
    const text = readFileSync(join(out, name), 'utf8').replace(/<aside[\s\S]*?<\/aside>/g, '');
    pages.set('/' + name, { text, ids: new Set([...text.matchAll(/ id="([^"]+)"/g)].map((m) => m[1])) });
  }
  const broken = [];
  let count = 0;
  for (const [name, { text }] of pages) {
    for (const [, href] of text.matchAll(/<a [^>]*href="([^"]+)"/g)) {
      if (/^[a-z]+:/.test(href)) continue;
      const { pathname, hash } = new URL(href, 'http://site' + name);
      const page = pages.get(pathname.endsWith('/') ? pathname + 'index.html' : pathname);
      count++;
      if (!(page ? !hash || page.ids.has(decodeURIComponent(hash.slice(1))) : existsSync(join(out, pathname)))) {
        broken.push(`${name} links to ${href}`);
      }
    }
  }
  if (broken.length > 0 || count < 1000) {
    throw new Error(`of ${count} links ${broken.length} lead nowhere:\n${broken.join('\n')}`);
  }
  console.log(`${pages.size} pages, ${count} links, none of them broken`);
}

export default defineConfig({
  title: 'Weft',
  description: 'SDN controller for RDMA and AI fabrics',
  srcDir: relative(resolve(import.meta.dirname, '..'), src),
  outDir: out,
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  markdown: {
    config: links,
    anchor: {
      // as GitHub forms anchors
      slugify: (s) =>
        s
          .trim()
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\-_ ]/gu, '')
          .replaceAll(' ', '-'),
    },
    html: false,
  },
  themeConfig: {
    outline: [2, 3],
    search: {
      provider: 'local',
      options: { _render: (text, env, md) => (versionOf(env.relativePath) ? '' : md.render(text, env)) },
    },
    nav: [
      { text: 'Install', link: '/install' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Comparison', link: '/comparison' },
      { text: 'Version', items: ['main', ...versions].map((v) => ({ text: v, link: v === 'main' ? '/' : `/${v}/` })) },
    ],
    sidebar: Object.fromEntries(['', ...versions].map((v) => [`/${v ? v + '/' : ''}`, sidebar(v)])),
    socialLinks: [{ icon: 'github', link: repository }],
  },
  buildEnd: checkAnchors,
});
