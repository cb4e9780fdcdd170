import { createHash } from "node:crypto";
import { join } from "node:path";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { addPageScope, type PageDeps, SCRIPTED_POLICY, sendPage } from "../accounts/page-scope.ts";
import { Refusal } from "../platform/errors.ts";
import { callerNetwork } from "../platform/http/caller-network.ts";
import { createRateLimiter } from "../platform/http/rate-limit.ts";
import { addStaticFiles, readStaticFiles } from "../platform/http/static-files.ts";
import { listApiUrls } from "./api/reference-text.ts";
import { searchSections } from "./assets/search-sections.js";
import { ASSETS_PATH, documentPage, QUESTION_LENGTH_MAX, startPage } from "./layout.ts";
import {
  type Documentation,
  listUrls,
  loadPages,
  type OwnTexts,
  PICTURES_DIRECTORY,
  PICTURES_PATH,
} from "./load-pages.ts";
import { createSearchTurns } from "./search-turns.ts";

/** The same for all users: a browser may cache them, and revalidate. */
const DOCS_HEADERS = {
  "Content-Security-Policy": SCRIPTED_POLICY,
  "Cache-Control": "no-cache",
};
/**
 * Of one network: searches need no key and read all documents, which takes the thread that answers
 * everybody 10 to 20 ms. The search box of the pages searches in the browser.
 */
const SEARCHES_MAX = 20;
const SEARCHES_WINDOW_MS = 10_000;
const BUSY_SECONDS = 10;
/** `doc_url` of every refusal leads here. */
const ERRORS_PATH = "/docs/errors";
const ERRORS_PAGE = "/docs/reference/errors";

/** The documents of the repository as pages, with a search over all of them. */
export function addDocPages(app: FastifyInstance, deps: PageDeps, ownTexts: () => OwnTexts): void {
  // Loaded at the first request: a worker never needs them, and they would delay the start.
  const open = once(async () =>
    withIndex(await loadPages(app.swagger(), deps.public_url(), ownTexts())),
  );
  const limiter = createRateLimiter(SEARCHES_MAX, SEARCHES_WINDOW_MS)!;
  const takeTurn = createSearchTurns();
  const search = async (sections: Documentation["sections"], request: FastifyRequest) => {
    const question = readQuestion(request);
    if (question === "") return { question, results: [] };
    const { allowed, reset_seconds } = limiter.take(callerNetwork(request.ip));
    if (!allowed) throw new Refusal("too_many_requests", undefined, reset_seconds);
    const results = takeTurn(() => searchSections(sections, question));
    if (results === null) throw new Refusal("too_many_requests", undefined, BUSY_SECONDS);
    return { question, results: await results };
  };
  addStaticFiles(app, ASSETS_PATH, readAssets());
  addStaticFiles(app, PICTURES_PATH, readStaticFiles(PICTURES_DIRECTORY));
  app.get("/docs/search.json", async (request, reply) => {
    const { index, etag } = await open();
    reply.headers({ ETag: etag, "Cache-Control": "no-cache" });
    if (request.headers["if-none-match"] === etag) return reply.code(304).send();
    return reply.type("application/json; charset=utf-8").send(index);
  });

  addPageScope(app, deps, (scope) => {
    scope.addHook("onRequest", async (_request, reply) => {
      reply.headers(DOCS_HEADERS);
    });
    scope.get("/docs", async (request, reply) => {
      const { pages, sections } = await open();
      return sendPage(reply, startPage(pages, await search(sections, request)));
    });
    scope.get("/docs/", (_request, reply) => reply.redirect("/docs", 301));
    const show = (path: string, url: string) =>
      scope.get(path, async (_request, reply) => {
        const { pages } = await open();
        return sendPage(reply, documentPage(pages.find((page) => page.url === url)!, pages));
      });
    for (const url of listUrls()) show(url, url);
    for (const url of listApiUrls()) show(url, url);
    show(ERRORS_PATH, ERRORS_PAGE);
  });
}

function withIndex(documentation: Documentation) {
  // As bytes: a text would be copied for every client, and kept until it has read all of it.
  const index = Buffer.from(JSON.stringify(documentation.sections));
  const etag = `"${createHash("sha256").update(index).digest("base64url").slice(0, 22)}"`;
  return { ...documentation, index, etag };
}

/** Makes the value once; after a failure, the next call tries again. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/** Without the type declarations next to the scripts. */
function readAssets() {
  const files = readStaticFiles(join(import.meta.dirname, "assets")) ?? new Map();
  return new Map([...files].filter(([name]) => /\.(css|js)$/.test(name)));
}

function readQuestion(request: FastifyRequest): string {
  const { q } = request.query as Record<string, unknown>;
  return typeof q === "string" ? q.trim().slice(0, QUESTION_LENGTH_MAX) : "";
}
