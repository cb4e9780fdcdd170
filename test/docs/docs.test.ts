import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SearchSection, searchSections } from "../../src/docs/assets/search-sections.js";
import { loadPages } from "../../src/docs/load-pages.ts";
import { ERROR_CODES } from "../../src/platform/errors.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function open(path: string) {
  const answer = await fetch(server.url + path, { headers: { accept: "text/html" } });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

/** Every page that can be reached from the start page, by its URL. */
async function crawl(): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const waiting = ["/docs"];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (pages.has(path)) continue;
    const { status, text } = await open(path);
    expect(status, path).toBe(200);
    pages.set(path, text);
    for (const [, target] of text.matchAll(/href="(\/docs[^"#?]*)/g)) {
      if (!target!.startsWith("/docs/assets")) waiting.push(target!);
    }
  }
  return pages;
}

describe("the documentation", () => {
  it("every guide, reference and decision is a page; every link and image has a target", async () => {
    const pages = await crawl();
    for (const path of [
      "guides/first-payout",
      "reference/settings",
      "decisions/0001-plain-sql-over-pg",
    ]) {
      expect([...pages.keys()]).toContain(`/docs/${path}`);
    }
    for (const [path, text] of pages) {
      for (const [, target, anchor] of text.matchAll(/(?:href|src)="([^"#]*)#?([^"]*)"/g)) {
        if (/^(https?|data):/.test(target!)) continue;
        const there = target === "" ? text : (pages.get(target!) ?? (await open(target!)));
        if (typeof there !== "string") expect(there.status, `${path}: ${target}`).toBe(200);
        else if (anchor) expect(there, `${path}: ${target}#${anchor}`).toContain(`id="${anchor}"`);
      }
    }
  });

  it("the guide to the first payout shows the states of offramps as the reference does", async () => {
    const read = (path: string) =>
      readFile(new URL(`../../docs/${path}.md`, import.meta.url), "utf8");
    const [, states] = /## Offramps\n\n(.*?)\n\n/s.exec(await read("reference/states"))!;
    expect(await read("guides/first-payout")).toContain(states);
  });

  it("its texts link only to existing pages; other requests run while they are read", async () => {
    let [turns, is_loading] = [0, true];
    const count = () => {
      turns += 1;
      if (is_loading) setImmediate(count);
    };
    setImmediate(count);
    const { lost_links, pages } = await loadPages(server.app.server.swagger(), server.url);
    is_loading = false;
    expect(lost_links).toEqual([]);
    expect(turns).toBeGreaterThanOrEqual(pages.length);
  });

  it("doc_url of a refusal leads to a line about its code", async () => {
    const { text } = await open("/docs/errors");
    expect(ERROR_CODES.filter((code) => !text.includes(`id="${code}"`))).toEqual([]);
  });

  it("the receiver's check in the webhook reference accepts what is signed, nothing else", async () => {
    const file = new URL("../../docs/reference/webhooks.md", import.meta.url);
    const [, code] = /```js\n(.*?)```/s.exec(await readFile(file, "utf8"))!;
    const source = `${code}\nexport { isValid };`;
    const { isValid } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
    const signature = createHmac("sha256", "secret").update("body").digest("hex");
    expect(isValid("body", signature, "secret")).toBe(true);
    expect(isValid("body ", signature, "secret")).toBe(false);
    expect(isValid("body", "00", "secret")).toBe(false);
  });

  it("only its own scripts may run, and nothing is loaded from another host", async () => {
    const { headers, text } = await open("/docs");
    expect(headers.get("content-security-policy")).toContain("script-src 'self'");
    expect(text).not.toMatch(/<script(?![^>]* src="\/docs\/assets\/)/);
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
  });

  it("guides and the API reference show this server's own URL in their commands", async () => {
    for (const path of ["/docs/guides/first-payout", "/docs/api/users"]) {
      const { text } = await open(path);
      expect(text).toContain(server.url);
      expect(text).not.toContain("http://127.0.0.1:4000");
    }
  });

  it("an unknown page is a 404 page", async () => {
    for (const path of ["/docs/guides/nothing", "/docs/api/nothing"]) {
      const { status, text } = await open(path);
      expect(status).toBe(404);
      expect(text).toContain("Page not found");
    }
  });
});

describe("the search", () => {
  it("finds an error code, a setting and a word of a guide, without scripts", async () => {
    for (const [question, url] of [
      ["below_currency_limit", "/docs/reference/errors#below_currency_limit"],
      ["sliproad_approval_above_usd", "/docs/reference/settings#SLIPROAD_APPROVAL_ABOVE_USD"],
      ["first payout", "/docs/guides/first-payout"],
      ["createOfframps", "/docs/api/offramps#create-offramps"],
      ["create offramps", "/docs/api/offramps#create-offramps"],
      ["list users", "/docs/api/users#list-users"],
    ]) {
      const { text } = await open(`/docs?q=${encodeURIComponent(question!)}`);
      const [, first] = /<ol id="results".*?href="([^"]+)"/s.exec(text)!;
      expect(first).toBe(url);
    }
  });

  it("says so when there is no result, and shows the question as text", async () => {
    const { text } = await open(`/docs?q=${encodeURIComponent("<b>zzzz")}`);
    expect(text).toContain("No results for “&lt;b&gt;zzzz”.");
    expect((await open("/docs?q=a&q=b")).status).toBe(200);
  });

  it("gives the page the same index, which a browser can cache", async () => {
    const answer = await fetch(`${server.url}/docs/search.json`);
    const sections = (await answer.json()) as SearchSection[];
    expect(searchSections(sections, "quote_expired")[0]?.url).toBe(
      "/docs/reference/errors#quote_expired",
    );
    const headers = { "if-none-match": answer.headers.get("etag")! };
    expect((await fetch(`${server.url}/docs/search.json`, { headers })).status).toBe(304);
  });

  it("is limited, since it reads all documents for anybody", async () => {
    // More than two windows allow.
    const asked = Array.from({ length: 60 }, () => fetch(`${server.url}/docs?q=ing`));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect((await open("/docs")).status).toBe(200);
  });

  it("requires every word, and ranks headings before text", () => {
    const section = (heading: string, text: string) => ({ url: heading, page: "P", heading, text });
    const sections = [section("Keys", "about a webhook"), section("Webhooks", "about keys")];
    const found = (question: string) => searchSections(sections, question).map(({ url }) => url);
    expect(found("webhook")).toEqual(["Webhooks", "Keys"]);
    expect(found("webhook about")).toEqual(["Webhooks", "Keys"]);
    expect(found("webhook nowhere")).toEqual([]);
    const routes = [section("Offramps", "create"), section("Create offramps", "")];
    expect(searchSections(routes, "create offramps")[0]?.url).toBe("Create offramps");
    expect(found("  ")).toEqual([]);
  });
});
