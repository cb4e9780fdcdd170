import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import type { HttpVisitor } from "../harness/http-visitor.ts";
import { addQuote } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addUser, openLink, PageVisitor, png, statusOf } from "./kyc-fixture.ts";
import { addWaiting, decide, show, signInAs, waitForStatus } from "./review/review-fixture.ts";

let server: TestServer;
let admin: HttpVisitor;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_RETENTION_YEARS: "1" } });
  admin = (await signInAs(server, server.account_id, "admin")).visitor;
});
afterAll(() => server.close());

const advance = (advance_ms: number) => server.call("POST", "/sandbox/clock", { advance_ms });

/** The files of a user on disk. */
async function filesOf(user_id: string, on: TestServer = server): Promise<number> {
  const place = join(on.data_dir, "files", on.account_id, user_id.slice(-2), user_id);
  return (await readdir(place).catch(() => [])).length;
}

async function rowsOf(user_id: string) {
  const [row] = await server.db.database.query<Record<string, bigint>>(
    `select (select count(*) from kyc_files where user_id = $1) as files,
       (select count(*) from kyc_drafts where user_id = $1) as drafts,
       (select count(*) from kyc_applications where user_id = $1 and content is not null)
         as applications`,
    [user_id],
  );
  return {
    files: Number(row!.files),
    drafts: Number(row!.drafts),
    applications: Number(row!.applications),
  };
}

describe("files on disk", () => {
  it("that were replaced or removed are deleted after a few minutes", async () => {
    const user_id = await addUser(server);
    const page = new PageVisitor(server);
    await page.open(await openLink(server, user_id));
    await page.upload("selfie", png("1"));
    await page.upload("selfie", png("2"));
    await page.upload("document_front", png());
    await page.send("DELETE", "/kyc/session/files/document_front");
    expect(await filesOf(user_id)).toBe(3);
    await advance(6 * MINUTE_MS);
    expect(await filesOf(user_id)).toBe(1);
    const shown = await page.send("GET", "/kyc/session/files/selfie");
    expect(shown.status).toBe(200);
  });

  it("of an upload whose row was never written are deleted after a few minutes", async () => {
    const user_id = await addUser(server);
    const page = new PageVisitor(server);
    await page.open(await openLink(server, user_id));
    const { database } = server.core;
    // What a crash after the file was stored leaves behind.
    await database.query(`create function crash() returns trigger language plpgsql
      as $$ begin raise exception 'the process ended here'; end $$`);
    await database.query(`create trigger crash before insert on kyc_files
      for each row execute function crash()`);
    expect((await page.upload("selfie", png())).status).toBe(500);
    await database.query("drop function crash cascade");
    expect(await filesOf(user_id)).toBe(1);
    await advance(6 * MINUTE_MS);
    expect(await filesOf(user_id)).toBe(0);
  });

  it("of a refused upload are not kept", async () => {
    const user_id = await addUser(server);
    const page = new PageVisitor(server);
    await page.open(await openLink(server, user_id));
    await page.upload("selfie", png().subarray(0, -30));
    await page.upload("selfie", Buffer.from("no picture at all"));
    expect(await filesOf(user_id)).toBe(0);
  });

  it("of an abandoned session are deleted when it expires, with everything typed", async () => {
    const user_id = await addUser(server);
    const page = new PageVisitor(server);
    await page.open(await openLink(server, user_id));
    await page.fill();
    expect(await rowsOf(user_id)).toEqual({ files: 2, drafts: 1, applications: 0 });
    await advance(DAY_MS + 6 * MINUTE_MS);
    expect(await rowsOf(user_id)).toEqual({ files: 0, drafts: 0, applications: 0 });
    // Files are deleted a few minutes after their rows.
    await advance(6 * MINUTE_MS);
    expect(await filesOf(user_id)).toBe(0);
    expect(await statusOf(server, user_id)).toBe("initiated");
    expect((await new PageVisitor(server).open(await openLink(server, user_id))).status).toBe(200);
  });
});

describe("after a decision", () => {
  it("data and files are kept for the years of the setting, then deleted", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(admin, path, "approve");
    await advance(364 * DAY_MS);
    expect(await rowsOf(user_id)).toEqual({ files: 2, drafts: 0, applications: 1 });
    expect(await filesOf(user_id)).toBe(2);
    await advance(DAY_MS + 60 * MINUTE_MS);
    await advance(60 * MINUTE_MS);
    expect(await rowsOf(user_id)).toEqual({ files: 0, drafts: 0, applications: 0 });
    expect(await filesOf(user_id)).toBe(0);
    // The account's own data about its user is kept.
    expect(await statusOf(server, user_id)).toBe("approved");
    admin = (await signInAs(server, server.account_id, "admin")).visitor;
    expect(await show(admin, path)).toMatchObject({ files: [], are_files_deleted: true });
  });

  it("the time counts from the last decision, and not while the user is suspended", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(admin, path, "approve");
    await decide(admin, path, "suspend", "a question");
    await advance(380 * DAY_MS);
    await advance(2 * 60 * MINUTE_MS);
    expect(await filesOf(user_id)).toBe(2);
    admin = (await signInAs(server, server.account_id, "admin")).visitor;
    await decide(admin, path, "unsuspend", "answered");
    await advance(360 * DAY_MS);
    expect(await filesOf(user_id)).toBe(2);
    await advance(6 * DAY_MS);
    await advance(2 * 60 * MINUTE_MS);
    expect(await filesOf(user_id)).toBe(0);
  });

  it("data of a user who never answers a retry is deleted too", async () => {
    const { user_id, path } = await addWaiting(server);
    admin = (await signInAs(server, server.account_id, "admin")).visitor;
    await decide(admin, path, "ask_again", "another picture, please");
    await advance(367 * DAY_MS);
    await advance(2 * 60 * MINUTE_MS);
    expect(await rowsOf(user_id)).toEqual({ files: 0, drafts: 0, applications: 0 });
    expect(await filesOf(user_id)).toBe(0);
  });

  it("they are kept while payments follow, whenever the decision was", async () => {
    const { user_id, path } = await addWaiting(server);
    admin = (await signInAs(server, server.account_id, "admin")).visitor;
    await decide(admin, path, "approve");
    await advance(300 * DAY_MS);
    const quote_id = await addQuote(server, user_id);
    const crypto_deposit = { quote_id, amount: 5 };
    await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit });
    await advance(300 * DAY_MS);
    await advance(2 * 60 * MINUTE_MS);
    expect(await filesOf(user_id)).toBe(2);
    await advance(70 * DAY_MS);
    await advance(2 * 60 * MINUTE_MS);
    expect(await filesOf(user_id)).toBe(0);
  });
});

describe("erasing a person", () => {
  it("deletes their data, the reviewers' notes, the files and the link at once", async () => {
    const { user_id, token, page, path } = await addWaiting(server);
    await decide(admin, path, "approve", "the face fits");
    const notes = () =>
      server.db.database.query("select from kyc_review_notes where user_id = $1", [user_id]);
    expect(await notes()).toHaveLength(1);
    expect(await filesOf(user_id)).toBe(2);
    const answer = await server.call("DELETE", `/users/${user_id}`);
    expect(answer.body.retention).toMatchObject({ status: "erased", kept: [] });
    await waitFor(async () => (await filesOf(user_id)) === 0);
    expect(await rowsOf(user_id)).toEqual({ files: 0, drafts: 0, applications: 0 });
    expect(await notes()).toEqual([]);
    expect((await page.send("GET", "/kyc/session")).status).toBe(401);
    expect((await page.open(token)).status).toBe(404);
  });
});

describe("setting a status in the sandbox", () => {
  it("deletes the draft, and the page shows the result", async () => {
    const user_id = await addUser(server);
    const page = new PageVisitor(server);
    await page.open(await openLink(server, user_id));
    await page.fill();
    const kyc = { status: "approved" };
    await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc });
    const state = await page.send("GET", "/kyc/session");
    expect(state.body.kyc).toMatchObject({ status: "approved", can_edit: false });
    expect((await page.submit()).body.error_code).toBe("invalid_transition");
    expect(await rowsOf(user_id)).toEqual({ files: 0, drafts: 0, applications: 0 });
    await advance(6 * MINUTE_MS);
    expect(await filesOf(user_id)).toBe(0);
  });

  it("overrides an application under review, whose result then changes nothing", async () => {
    const { user_id } = await addWaiting(server);
    await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status: "failed" } });
    await waitForStatus(server, user_id, "failed");
    const refused = await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, {
      kyc: { status: "approved" },
    });
    expect(refused.body.error_code).toBe("invalid_transition");
  });
});
