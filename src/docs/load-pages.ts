import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import type { Html } from "../platform/http/html.ts";
import { API_PATH, referenceTexts } from "./api/reference-text.ts";
import type { SearchSection } from "./assets/search-sections.js";
import { type ResolveLink, renderMarkdown } from "./markdown.ts";

const ROOT = join(import.meta.dirname, "../..");
export const PICTURES_PATH = "/docs/pictures";
export const PICTURES_DIRECTORY = join(ROOT, "docs/pictures");

/** The shelves of the start page, in the order in which a newcomer needs them. */
export const SHELVES = [
  "Guides",
  "API reference",
  "Reference",
  "How it is built",
  "Decisions",
] as const;
type Shelf = (typeof SHELVES)[number];

export type DocPage = {
  url: string;
  shelf: Shelf;
  title: string;
  summary: string;
  body: Html;
};

export type Documentation = {
  pages: DocPage[];
  sections: SearchSection[];
  /** What a text links to and no page shows: a test wants none. */
  lost_links: string[];
};

type Source = { file: string; url: string; shelf: Shelf };
type Text = { url: string; shelf: Shelf; text: string; resolve: ResolveLink; is_api: boolean };

/** What the texts say instead of the address at which a server listens by default. */
const DEFAULT_URL = "http://127.0.0.1:4000";

/** First things first; a guide that is not named here comes after these. */
const GUIDES_FIRST = [
  ...["first-payout", "deposits-and-balances", "webhooks", "documents", "kyc", "onramps"],
  ...["invoices", "oauth"],
  ...["operating", "adding-a-currency-or-rail", "going-live"],
];
/** What is no page of its own but shown by one. */
const ALSO: Record<string, string> = {
  "README.md": "/docs",
  "docs/decisions": "/docs#decisions",
  "openapi.json": "/docs/api",
};

/**
 * Reads and renders all documents, and the API reference from the OpenAPI document. They come with
 * the program and do not change while it runs. Commands show this server's own address.
 */
export function loadPages(openapi: object, public_url: string): Documentation {
  const lost_links: string[] = [];
  const rendered = [...listTexts(lost_links), ...listApiTexts(openapi, public_url)].map(
    ({ url, shelf, text, resolve, is_api }) => {
      const own_text = text.replaceAll(DEFAULT_URL, public_url);
      return { url, shelf, ...renderMarkdown(own_text, resolve, { has_row_anchors: !is_api }) };
    },
  );
  return {
    lost_links,
    pages: rendered.map(({ url, shelf, title, summary, body }) => {
      // The title of a decision says what was decided.
      return { url, shelf, title, summary: shelf === "Decisions" ? "" : summary, body };
    }),
    sections: rendered.flatMap(({ url, title, sections }) =>
      // The list of all routes would stand before the routes themselves.
      (url === API_PATH ? sections.slice(0, 1) : sections).map(({ anchor, heading, text }) => ({
        url: anchor === "" ? url : `${url}#${anchor}`,
        page: title,
        heading,
        text,
      })),
    ),
  };
}

function listTexts(lost_links: string[]): Text[] {
  const sources = listSources();
  const urls = new Map(sources.map(({ file, url }) => [file, url] as const));
  for (const [file, url] of Object.entries(ALSO)) urls.set(file, url);
  return sources.map((source) => ({
    url: source.url,
    shelf: source.shelf,
    text: readFileSync(join(ROOT, source.file), "utf8"),
    is_api: false,
    resolve: (address) => {
      const url = findUrl(source, urls, address);
      if (url === null) lost_links.push(`${source.file}: ${address}`);
      return url;
    },
  }));
}

function listApiTexts(openapi: object, public_url: string): Text[] {
  return referenceTexts(openapi, public_url).map(({ url, text }) => ({
    url,
    shelf: "API reference",
    text,
    is_api: true,
    resolve: (address) => address,
  }));
}

/** The address of every document, without reading any. */
export function listUrls(): string[] {
  return listSources().map(({ url }) => url);
}

function listSources(): Source[] {
  const folder = (name: string, shelf: Shelf): Source[] =>
    markdownIn(`docs/${name}`).map((base) => ({
      file: `docs/${name}/${base}.md`,
      url: `/docs/${name}/${base}`,
      shelf,
    }));
  const guides = folder("guides", "Guides").sort((one, other) => rank(one) - rank(other));
  return [
    ...guides,
    ...folder("reference", "Reference"),
    { file: "sdk/README.md", url: "/docs/sdk", shelf: "Reference" },
    { file: "docs/architecture.md", url: "/docs/architecture", shelf: "How it is built" },
    { file: "CONTRIBUTING.md", url: "/docs/contributing", shelf: "How it is built" },
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

/** From a path beside the document to the address of its page. */
function findUrl(
  source: Source,
  urls: ReadonlyMap<string, string>,
  address: string,
): string | null {
  const [path = "", ...anchor] = address.split("#");
  const file = posix.join(posix.dirname(source.file), path).replace(/\/$/, "");
  const url = file.startsWith("docs/pictures/")
    ? `${PICTURES_PATH}/${posix.basename(file)}`
    : urls.get(file);
  return url === undefined ? null : [url, ...anchor].join("#");
}
