import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addUser, openLink, PageVisitor, png } from "./kyc-fixture.ts";
import { decide, REVIEWS, signInAs, waitForStatus } from "./review/review-fixture.ts";

const SECRETS = {
  first_name: "Canarianne",
  last_name: "Plantederson",
  address_line1: "9 Canary Wharfage",
  city: "Canarsieville",
  source_of_funds: "selling canaries",
};
const PICTURE = "canary in a picture ".repeat(50);

const lines: string[] = [];
let server: TestServer;
let tokens: string[];
let user_id: string;

beforeAll(async () => {
  server = await startTestServer({ log_destination: { write: (line) => lines.push(line) } });
  user_id = await addUser(server, { first_name: "Canarianne", last_name: "Plantederson" });
  const token = await openLink(server, user_id);
  const page = new PageVisitor(server);
  await page.send("GET", `/kyc/${token}`);
  await page.open(token);
  await page.fill(SECRETS);
  await page.upload("document_front", png(PICTURE));
  // Refused values must not be stored either.
  await page.save({ city: "Canarsieville", phone: "canary" });
  await page.send("GET", `/kyc/${token.slice(1)}x`);
  await page.submit();
  await waitForStatus(server, user_id, "awaiting_manual_review");
  const { visitor } = await signInAs(server, server.account_id, "admin");
  const path = `${REVIEWS}/${server.account_id}/${user_id}`;
  await decide(visitor, path, "ask_again", "Send the other page, please.");
  const newer = await openLink(server, user_id);
  const again = new PageVisitor(server);
  await again.open(newer);
  await again.save({ city: "Canarsieville" });
  tokens = [token, newer, page.cookie.split("=")[1]!, again.cookie.split("=")[1]!];
});
afterAll(() => server.close());

const planted = () => [...Object.values(SECRETS), "canary in a picture", ...tokens];

it("no table contains personal data or a token in clear", async () => {
  const { database } = server.db;
  const tables = await database.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  const rows: string[] = [];
  for (const { name } of tables) {
    const found = await database.query<{ row: string }>(`select t::text as row from ${name} t`);
    rows.push(...found.map(({ row }) => row));
  }
  expect(rows.length).toBeGreaterThan(50);
  for (const word of planted()) {
    const forms = [word, Buffer.from(word).toString("hex")];
    expect(rows.filter((row) => forms.some((form) => row.includes(form)))).toEqual([]);
  }
});

it("no file of the data directory contains personal data or a token in clear", async () => {
  const entries = await readdir(server.data_dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(2);
  for (const { parentPath, name } of files) {
    const content = await readFile(join(parentPath, name));
    expect(planted().filter((word) => content.includes(word))).toEqual([]);
  }
});

it("no line of the log contains personal data or a token", () => {
  const text = lines.join("");
  expect(text).toContain('"route":"/kyc/:token"');
  expect(text).toContain('"route":"/kyc/session/identity"');
  expect(planted().filter((word) => text.includes(word))).toEqual([]);
});

it("a sealed draft moved to another user cannot be decrypted", async () => {
  const other = await addUser(server);
  const page = new PageVisitor(server);
  await page.open(await openLink(server, other));
  await page.save({ city: "Porto" });
  await server.db.database.query(
    `update kyc_drafts set content = (select content from kyc_drafts where user_id = $1)
     where user_id = $2`,
    [user_id, other],
  );
  const answer = await page.send("GET", "/kyc/session");
  expect(answer.status).toBe(500);
  expect(answer.text).not.toContain("Canarsieville");
});
