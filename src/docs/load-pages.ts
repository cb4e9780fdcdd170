import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Html } from "../platform/http/html.ts";
import { API_PATH, referenceTexts } from "./api/reference-text.ts";
import type { SearchSection } from "./assets/search-sections.js";
import { type Rendered, type ResolveLink, renderMarkdown } from "./markdown.ts";

const ROOT = join(import.meta.dirname, "../..");
export const PICTURES_PATH = "/docs/pictures";
export const PICTURES_DIRECTORY = join(ROOT, "docs/pictures");

/** The sections of the start page, in the order in which a newcomer needs them. */
export const CATEGORIES = [
  "Guides",
  "API reference",
  "Reference",
  "How it is built",
  "Decisions",
] as const;
type Category = (typeof CATEGORIES)[number];

export type DocPage = {
  url: string;
  category: Category;
  title: string;
  summary: string;
  body: Html;
};

export type Documentation = {
  pages: DocPage[];
  sections: SearchSection[];
  /** Links to pages that do not exist; a test expects none. */
  lost_links: string[];
};

/** Documents by their file that differ in this installation. */
export type OwnTexts = Readonly<Record<string, string>>;

type Source = { file: string; url: string; category: Category };
type Text = {
  url: string;
  category: Category;
  text: string;
  resolve: ResolveLink;
  is_api: boolean;
};

/** The default URL of a server, as the documents write it. */
const DEFAULT_URL = "http://127.0.0.1:4000";

/** In reading order; guides that are not listed come after these. */
const GUIDES_FIRST = [
  ...["first-payout", "deposits-and-balances", "webhooks", "documents", "kyc", "onramps"],
  ...["invoices", "oauth", "dashboard"],
  ...["operating", "adding-a-currency-or-rail", "going-live", "banks", "chains", "custody"],
  ...["reconciliation", "runbook"],
];
/** Files without a page of their own, and the page that shows them. */
const ALSO: Record<string, string> = {
  "README.md": "/docs",
  "docs/decisions": "/docs#decisions",
  "openapi.json": "/docs/api",
};

/**
 * Reads and renders all documents, and the API reference from the OpenAPI document. They ship with
 * the program and do not change while it runs. Commands show this server's own URL, and tables what
 * this installation offers. Other requests are served between two pages: all of them take about a
 * second.
 */
export async function loadPages(
  openapi: object,
  public_url: string,
  own_texts: OwnTexts = {},
): Promise<Documentation> {
  const lost_links: string[] = [];
  const rendered: (Pick<Text, "url" | "category"> & Rendered)[] = [];
  for (const page of [...listTexts(own_texts, lost_links), ...listApiTexts(openapi, public_url)]) {
    const { url, category, text, resolve, is_api } = page;
    const own_text = text.replaceAll(DEFAULT_URL, public_url);
    const options = { has_row_anchors: !is_api };
    rendered.push({ url, category, ...renderMarkdown(own_text, resolve, options) });
    await setImmediate();
  }
  return {
    lost_links,
    pages: rendered.map(({ url, category, title, summary, body }) => {
      // The title of a decision says what was decided.
      return { url, category, title, summary: category === "Decisions" ? "" : summary, body };
    }),
    sections: rendered.flatMap(({ url, title, sections }) =>
      // Otherwise the search would find the list of all routes before the routes themselves.
      (url === API_PATH ? sections.slice(0, 1) : sections).map(({ anchor, heading, text }) => ({
        url: anchor === "" ? url : `${url}#${anchor}`,
        page: title,
        heading,
        text,
      })),
    ),
  };
}

function listTexts(own_texts: OwnTexts, lost_links: string[]): Text[] {
  const sources = listSources();
  const urls = new Map(sources.map(({ file, url }) => [file, url] as const));
  for (const [file, url] of Object.entries(ALSO)) urls.set(file, url);
  return sources.map((source) => ({
    url: source.url,
    category: source.category,
    text: own_texts[source.file] ?? readFileSync(join(ROOT, source.file), "utf8"),
    is_api: false,
    resolve: (href) => {
      const url = findUrl(source, urls, href);
      if (url === null) lost_links.push(`${source.file}: ${href}`);
      return url;
    },
  }));
}

function listApiTexts(openapi: object, public_url: string): Text[] {
  return referenceTexts(openapi, public_url).map(({ url, text }) => ({
    url,
    category: "API reference",
    text,
    is_api: true,
    resolve: (href) => href,
  }));
}

/** The URL of every document, without reading any. */
export function listUrls(): string[] {
  return listSources().map(({ url }) => url);
}

function listSources(): Source[] {
  const folder = (name: string, category: Category): Source[] =>
    markdownIn(`docs/${name}`).map((base) => ({
      file: `docs/${name}/${base}.md`,
      url: `/docs/${name}/${base}`,
      category,
    }));
  const guides = folder("guides", "Guides").sort((one, other) => rank(one) - rank(other));
  return [
    ...guides,
    ...folder("reference", "Reference"),
    { file: "sdk/README.md", url: "/docs/sdk", category: "Reference" },
    { file: "docs/architecture.md", url: "/docs/architecture", category: "How it is built" },
    { file: "docs/reliability.md", url: "/docs/reliability", category: "How it is built" },
    { file: "docs/scale.md", url: "/docs/scale", category: "How it is built" },
    { file: "docs/security.md", url: "/docs/security", category: "How it is built" },
    { file: "CONTRIBUTING.md", url: "/docs/contributing", category: "How it is built" },
    ...folder("decisions", "Decisions"),
  ];
}

function markdownIn(directory: string): string[] {
  return readdirSync(join(ROOT, directory))
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -".md".length))
    .sort();
}

function rank({ url }: Source): number {
  const place = GUIDES_FIRST.indexOf(posix.basename(url));
  return place < 0 ? GUIDES_FIRST.length : place;
}

/** From a path relative to the document to the URL of its page. */
function findUrl(source: Source, urls: ReadonlyMap<string, string>, href: string): string | null {
  const [path = "", ...anchor] = href.split("#");
  const file = posix.join(posix.dirname(source.file), path).replace(/\/$/, "");
  const url = file.startsWith("docs/pictures/")
    ? `${PICTURES_PATH}/${posix.basename(file)}`
    : urls.get(file);
  return url === undefined ? null : [url, ...anchor].join("#");
}
