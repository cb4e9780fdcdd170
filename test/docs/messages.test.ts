import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectMessages, type Message } from "../../scripts/messages-page.ts";
import { ERROR_CODES } from "../../src/platform/errors.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
let messages: Message[];
beforeAll(async () => {
  server = await startTestServer();
  messages = collectMessages();
});
afterAll(() => server.close());

const has = (text: string, code?: string) =>
  messages.some((one) => one.text === text && (code === undefined || one.code === code));

/** Whether the list contains it, with any text for each `{name}`. */
function isListed(code: string, text: string): boolean {
  return messages.some((one) => {
    const parts = one.text.split(/\{\w+\}/).map((part) => part.replace(/[^\w\s]/g, "\\$&"));
    const is_of_code = one.code === code || one.code === null;
    return is_of_code && new RegExp(`^${parts.join(".+")}$`, "s").test(text);
  });
}

type Case = [what: string, method: string, path: string, body?: object];
const ID = "0192f0c1-2222-7333-8444-555566667777";
const REFUSED: Case[] = [
  ["a body without fields", "POST", "/users", {}],
  ["an unknown field", "POST", "/users", { user: { refrence: "x" } }],
  ["wrong fields of a user", "POST", "/users", { user: { email: "no", country: "KP" } }],
  ["an unknown currency", "POST", "/conversions", { conversion: { input_currency: "zzz" } }],
  ["an unknown record", "GET", `/users/${ID}`],
  ["an unknown route", "GET", "/nothing"],
  ["a wrong page", "GET", "/users?limit=0&created_after=now"],
  ["a wrong invoice", "POST", "/invoices", { meta: { format: "x" }, invoiceItems: [{}] }],
  ["a wrong filter", "GET", "/payment_detail_requirements?currency=zzz&rails=zzz"],
  ["a wrong application", "POST", "/apps", { app: { name: "", webhook_url: "ftp://x" } }],
];

describe("the list of all messages", () => {
  it.each(REFUSED)("contains the response to %s", async (_, method, path, body) => {
    const answer = await server.call(method, path, body);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    const problems: { code: string; message: string }[] = answer.body.errors ?? [
      { code: answer.body.error_code, message: answer.body.message },
    ];
    const lost = problems.filter(({ code, message }) => !isListed(code, message));
    expect(lost).toEqual([]);
  });

  it("includes messages from functions, pairs, tables and constants", () => {
    expect(has("This record does not exist; check the id.", "record_not_found")).toBe(true);
    for (const code of ERROR_CODES) expect(messages.some((one) => one.code === code)).toBe(true);
    expect(messages.filter(({ code }) => code === "below_currency_limit").length).toBeGreaterThan(
      1,
    );
    expect(messages.length).toBeGreaterThan(300);
  });

  it("contains sentences: each starts like one and ends with a full stop", () => {
    const others = messages.filter(({ text }) => !/^[\p{Lu}\d{].*[.}]$/u.test(text));
    expect(others).toEqual([]);
  });
});
