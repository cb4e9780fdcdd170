import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import { webhooks } from "@sliproad/sdk";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBrowser } from "../harness/browser.ts";
import { addApp, addMember, letIn, Person } from "../harness/oauth.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

/** The packed SDK; the run begins by building it. */
const BUILT = join(import.meta.dirname, "../../sdk/dist");
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const INVOICE = {
  invoiceItems: [
    {
      name: "Invented work",
      currency: "USD",
      quantity: 2,
      unitPrice: "9999",
      tax: { type: "percentage", amount: "20" },
    },
  ],
  buyerInfo: { email: "buyer@example.com" },
  paymentOptions: [
    {
      type: "wallet",
      value: {
        currencies: ["USDC-matic"],
        paymentInformation: {
          paymentAddress: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
          chain: "matic",
        },
      },
    },
  ],
  convert: true,
};

let server: TestServer;
let site: Server;
let browser: Browser;
let page: Page;
let token: string;

beforeAll(async () => {
  server = await startTestServer();
  const person_id = await addMember(server, server.account_id, "ada@example.test");
  const person = await Person.signedIn(server, server.account_id, person_id);
  const app = await addApp(server, server.account_id);
  const scope = "openid user:read invoices:read invoices:write";
  token = (await letIn(server, person, app, scope, server.account_id)).access_token;
  site = createServer(serveSite).listen(0, "127.0.0.1");
  await once(site, "listening");
  browser = await openBrowser();
  page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
});
afterAll(async () => {
  await browser?.close();
  site?.close();
  await server?.close();
});

/** Runs a program in the page, with its input as `given`; returns its result. */
function inPage<Result>(code: string, given: object = {}): Promise<Result> {
  const values = JSON.stringify({ baseUrl: server.url, accessToken: token, ...given });
  return page.evaluate<Result>(`(async () => {
    const { Sliproad, webhooks } = await import("/sdk/index.js");
    const given = ${values};
    const { baseUrl, accessToken } = given;
    const sliproad = new Sliproad({ baseUrl, accessToken, retries_max: 0 });
    ${code}
  })()`);
}

describe("the SDK in a page of another origin", () => {
  it("can read, write, list and transfer files with an access token", async () => {
    const { account } = await inPage<{ account: { id: string } }>("return sliproad.me.show();");
    expect(account.id).toBe(server.account_id);
    const invoice = { ...INVOICE, invoiceNumber: `PAGE-${crypto.randomUUID()}` };
    const seen = await inPage<{ numbers: string[]; head: string; total: string }>(
      `const { id, total } = await sliproad.invoices.create(given.invoice);
       const numbers = [];
       for await (const one of sliproad.invoices.list({ take: 1 })) numbers.push(one.invoiceNumber);
       const bytes = await (await sliproad.invoices.pdf(id)).bytes();
       return { numbers, total, head: new TextDecoder().decode(bytes.subarray(0, 5)) };`,
      { invoice },
    );
    expect(seen).toEqual({ numbers: [invoice.invoiceNumber], total: "23998", head: "%PDF-" });
  });

  it("can read error responses, also for an unknown token", async () => {
    const code =
      "const { error_code, status, request_id } = await sliproad.me.show().catch((e) => e);" +
      "return { error_code, status, request_id };";
    const refused = await inPage<Record<string, unknown>>(code, { accessToken: "unknown" });
    expect(refused).toMatchObject({ error_code: "unauthorized", status: 401 });
    expect(refused.request_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("cannot read routes for API keys only, nor pages with a session cookie", async () => {
    const code = "return sliproad.users.list().page().catch((error) => error.error_code);";
    expect(await inPage(code)).toBe("connection_failed");
    for (const path of ["/dashboard", "/sign-in", "/docs/search.json"]) {
      const tried = `return fetch(given.url, { credentials: "include" }).then(String, String);`;
      const url = `${server.url}${path}`;
      expect(await inPage(tried, { url }), path).toMatch(/^TypeError: Failed to fetch/);
    }
  });

  it("verifies a webhook", async () => {
    const body = JSON.stringify({ event: "offramp_update", timestamp: 1, payload: {} });
    const headers = await webhooks.sign(body, SECRET);
    const code = "return webhooks.verify(given.body, new Headers(given.headers), given.secret)";
    const given = { body, headers, secret: SECRET };
    expect(await inPage(`${code};`, given)).toEqual(JSON.parse(body));
    const forged = { ...given, body: `${body} ` };
    expect(await inPage(`${code}.catch((e) => e.reason);`, forged)).toBe("signature_mismatch");
  });

  it("refuses an API key in the page, and in its workers", async () => {
    const given = { apiKey: server.key };
    const make = "new Sliproad({ baseUrl, apiKey: given.apiKey })";
    const in_page = `try { ${make}; return "made"; } catch (error) { return error.message; }`;
    expect(await inPage(in_page, given)).toMatch(/must not reach a browser/);
    for (const kind of ["Worker", "SharedWorker"]) {
      const code = `const worker = new ${kind}("/worker.js", { type: "module" });
        const port = worker.port ?? worker;
        port.postMessage({ baseUrl, apiKey: given.apiKey });
        return new Promise((resolve) => { port.onmessage = ({ data }) => resolve(data); });`;
      expect(await inPage(code, given), kind).toMatch(/must not reach a browser/);
    }
  });
});

const PAGE = "<!doctype html><title>A page of somebody else's</title>";
const WORKER = `import { Sliproad } from "/sdk/index.js";
const answerTo = (port) => {
  port.onmessage = ({ data }) => {
    try {
      new Sliproad(data);
      port.postMessage("made");
    } catch (error) {
      port.postMessage(error.message);
    }
  };
};
if ("onconnect" in globalThis) onconnect = ({ ports: [port] }) => answerTo(port);
else answerTo(globalThis);
`;

/** The other origin: a page, its worker, and the built SDK under /sdk/. */
async function serveSite(request: IncomingMessage, response: ServerResponse) {
  const path = normalize(new URL(request.url!, "http://site").pathname);
  if (path === "/") return response.setHeader("content-type", "text/html").end(PAGE);
  response.setHeader("content-type", "text/javascript");
  if (path === "/worker.js") return response.end(WORKER);
  const code = await readFile(join(BUILT, path.replace(/^\/sdk\//, ""))).catch(() => null);
  response.writeHead(code ? 200 : 404).end(code ?? "");
}
