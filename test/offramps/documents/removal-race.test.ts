import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { DAY_MS, MINUTE_MS } from "../../../src/platform/durations.ts";
import { addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { advance, findFault, good, settle } from "../story.ts";
import { type DocumentFixture, openDocumentFixture, PDF } from "./document-fixture.ts";

const KEPT_UNUSED_MS = 7 * DAY_MS;
const ROUNDS = 6;

let server: TestServer;
let fixture: DocumentFixture;
beforeAll(async () => {
  server = await startTestServer();
  fixture = await openDocumentFixture(server);
});
afterAll(() => server.close());
afterEach(async () => expect(await findFault(server)).toBeNull());

it("an offramp removed during its document's upload leaves no file behind", async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const offramp = await fixture.addOfframp();
    const path = `/users/${offramp.user_id}/quotes/${offramp.quote_id}/offramps/${offramp.id}`;
    const [first, removed, second] = await Promise.all([
      fixture.upload(offramp, PDF),
      server.call("DELETE", path),
      fixture.upload(offramp, Buffer.concat([PDF, Buffer.alloc(100_000, "x")])),
    ]);
    expect(removed.status, removed.text).toBe(200);
    for (const { status } of [first, second]) expect([200, 404]).toContain(status);
    expect((await fixture.upload(offramp, PDF)).status).toBe(404);
    await settle(server);
    expect(await fixture.listFiles(offramp)).toEqual([]);
  }
  expect(await readdir(join(server.data_dir, "files", "temporary"))).toEqual([]);
});

it("a file whose command never ran is removed, with or without an offramp", async () => {
  const kept = await fixture.addOfframp();
  expect((await fixture.upload(kept, PDF)).status).toBe(200);
  const present = await fixture.listFiles(kept);
  const { database } = server.core;
  // What a crash after the file was stored leaves behind.
  await database.query(`create function crash() returns trigger language plpgsql
    as $$ begin raise exception 'the process ended here'; end $$`);
  for (const table of ["offramps", "documents"]) {
    await database.query(`create trigger crash before insert or update on ${table}
      for each row execute function crash()`);
  }
  const other = Buffer.concat([PDF, Buffer.from("another")]);
  expect((await fixture.upload(kept, other)).status).toBe(500);
  await expect(fixture.uploadFirst(PDF)).rejects.toThrow();
  await database.query("drop function crash cascade");
  expect(await fixture.listFiles(kept)).toHaveLength(2);
  const files = () => listAllFiles(join(server.data_dir, "files"));
  const before = await files();
  await advance(server, 60 * MINUTE_MS);
  expect(await fixture.listFiles(kept)).toEqual(present);
  await advance(server, KEPT_UNUSED_MS);
  // That of the offramp, and the one that was uploaded first.
  expect((await files()).length).toBe(before.length - 2);
});

it("an uploaded document that expires while offramps refer to it is used or deleted, never both", async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const uploaded = await fixture.uploadFirst(PDF);
    await advance(server, KEPT_UNUSED_MS - MINUTE_MS);
    const quote_id = await addQuote(server, fixture.user_id);
    const submitted_url = uploaded.submitted_url;
    const [, ...answers] = await Promise.all([
      advance(server, 2 * MINUTE_MS),
      fixture.tryOfframp({ submitted_url }, quote_id),
      fixture.tryOfframp({ submitted_url }, quote_id),
    ]);
    await settle(server);
    const path = new URL(submitted_url).pathname;
    const { status } = await server.call("GET", path, undefined, { headers: { accept: "*/*" } });
    const created = answers.filter((answer) => answer.status === 200);
    expect(status).toBe(created.length > 0 ? 200 : 404);
    for (const { body } of created) {
      const [{ id }] = body.offramps;
      const served = await fixture.download({ id, user_id: fixture.user_id, quote_id });
      expect(served.content.equals(PDF)).toBe(true);
    }
    // Once the offramps are removed from their quote, the document is deleted after 7 days.
    for (const { body } of created) {
      const [{ id }] = body.offramps;
      good(
        await server.call("DELETE", `/users/${fixture.user_id}/quotes/${quote_id}/offramps/${id}`),
      );
    }
    await advance(server, KEPT_UNUSED_MS);
    expect((await server.call("GET", path)).status).toBe(404);
  }
});

async function listAllFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
