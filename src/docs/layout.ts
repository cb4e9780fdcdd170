import { type Html, html } from "../platform/http/html.ts";
import { BRAND_MARK, htmlDocument } from "../platform/pages/layout.ts";
import type { SearchResult } from "./assets/search-sections.js";
import { CATEGORIES, type DocPage } from "./load-pages.ts";

export const ASSETS_PATH = "/docs/assets";
export const QUESTION_LENGTH_MAX = 200;

/** The start page: the search, and all documents. */
export function startPage(
  pages: readonly DocPage[],
  asked: { question: string; results: readonly SearchResult[] },
): Html {
  const { question, results } = asked;
  const is_asked = question !== "";
  return frame({
    title: is_asked ? `${question} · Documentation` : "Documentation",
    has_search: true,
    body: html`<main class="column docs" id="main">
<h1>Documentation</h1>
<form class="search" role="search" action="/docs">
<label for="search">Search guides, reference and decisions</label>
<input id="search" name="q" type="search" value="${question}" maxlength="${QUESTION_LENGTH_MAX}"
 autocomplete="off" placeholder="webhook, iban, quote_expired …">
</form>
<p id="found" class="muted" role="status">${is_asked && foundSentence(question, results)}</p>
<ol id="results" class="results">${results.map(resultItem)}</ol>
<div id="resting"${is_asked && html` hidden`}>
${CATEGORIES.map((category) => categoryCard(category, pages))}
</div>
</main>`,
  });
}

/** One document, with links to all others. */
export function documentPage(page: DocPage, pages: readonly DocPage[]): Html {
  return frame({
    title: page.title,
    has_search: false,
    body: html`<div class="column reading">
<main class="docs" id="main">
<p class="crumbs"><a href="/docs">Documentation</a> › ${page.category}</p>
<article class="text">
${page.body}
</article>
</main>
<nav class="docs-nav" aria-label="Documentation">
${CATEGORIES.map((category) => navOf(category, page, pages))}
</nav>
</div>`,
  });
}

function frame(options: { title: string; has_search: boolean; body: Html }): Html {
  const script = options.has_search ? "search-box.js" : "copy-buttons.js";
  const head = html`<link rel="stylesheet" href="${ASSETS_PATH}/docs.css">
<script type="module" src="${ASSETS_PATH}/${script}"></script>`;
  const body = html`<body>
<a class="skip" href="#main">Skip to content</a>
<header class="top"><div class="column">
<a class="brand" href="/docs">${BRAND_MARK}Sliproad</a>
<span class="top-links"><a href="/docs/api">API reference</a>
<a href="/dashboard">Dashboard</a></span>
${options.has_search ? null : headerSearch()}
</div></header>
${options.body}
</body>`;
  return htmlDocument(options.title, body, head);
}

function headerSearch(): Html {
  return html`<form class="top-search" role="search" action="/docs">
<input name="q" type="search" aria-label="Search the documentation" placeholder="Search"
 maxlength="${QUESTION_LENGTH_MAX}"></form>`;
}

function foundSentence(question: string, results: readonly SearchResult[]): string {
  if (results.length === 0) return `No results for “${question}”.`;
  return results.length === 1 ? "1 result" : `${results.length} results`;
}

function resultItem({ url, page, heading, excerpt }: SearchResult): Html {
  const name = heading === page ? page : `${page} › ${heading}`;
  return html`<li><a href="${url}">${name}</a><p>${excerpt}</p></li>\n`;
}

function categoryCard(category: string, pages: readonly DocPage[]): Html {
  const in_category = pages.filter((page) => page.category === category);
  return html`<section class="card" id="${categoryAnchor(category)}">
<h2>${category}</h2>
<ul class="category">${in_category.map(
    ({ url, title, summary }) =>
      html`<li><a href="${url}">${title}</a> ${summary && html`<span>${summary}</span>`}</li>\n`,
  )}</ul>
</section>
`;
}

function navOf(category: string, current: DocPage, pages: readonly DocPage[]): Html {
  const links = pages
    .filter((page) => page.category === category)
    .map(({ url, title }) =>
      url === current.url
        ? html`<li><a href="${url}" aria-current="page">${title}</a></li>\n`
        : html`<li><a href="${url}">${title}</a></li>\n`,
    );
  return html`<h2>${category}</h2>
<ul>${links}</ul>
`;
}

function categoryAnchor(category: string): string {
  return category.toLowerCase().replaceAll(" ", "-");
}
