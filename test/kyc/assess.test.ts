import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { applyIdentityResults } from "../../src/kyc/apply-identity-results.ts";
import { createSandboxBank } from "../../src/partners/bank/sandbox.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import type { IdentityOutcome } from "../../src/partners/identity/port.ts";
import { createScriptedIdentity, type ScriptedIdentity } from "../harness/scripted-identity.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import {
  addBusiness,
  addUser,
  COMPANY,
  openLink,
  PageVisitor,
  pdf,
  png,
  statusOf,
} from "./kyc-fixture.ts";
import { waitForStatus } from "./review/review-fixture.ts";

let server: TestServer;
let identity: ScriptedIdentity;
beforeAll(async () => {
  identity = createScriptedIdentity();
  server = await startTestServer({
    partners: (core) => ({
      bank: createSandboxBank(core),
      chain: createSandboxChain(core),
      identity,
    }),
  });
});
beforeEach(() => {
  identity.atOnce = null;
});
afterAll(() => server.close());

async function submitted(fields: Record<string, unknown> = {}, known = {}) {
  const user_id = await addUser(server, known);
  const page = new PageVisitor(server);
  await page.open(await openLink(server, user_id));
  await page.fill(fields);
  const answer = await page.submit();
  if (answer.status !== 200) throw new Error(answer.text);
  return { user_id, page };
}

async function commentOf(user_id: string): Promise<string> {
  const shown = await server.call("GET", `/users/${user_id}`);
  return shown.body.user.kyc.general.moderation_comment;
}

describe("prechecks", () => {
  it("send back a name that differs from the record, and leave the record unchanged", async () => {
    const { user_id } = await submitted({ first_name: "Bertrand", last_name: "Quux" });
    await waitForStatus(server, user_id, "retry_required");
    expect(await commentOf(user_id)).toContain("The name differs from the one that demo has");
    const shown = await server.call("GET", `/users/${user_id}`);
    expect(shown.body.user).toMatchObject({ first_name: "Marisol", last_name: "Inventada" });
    expect(shown.body.user).toMatchObject({ date_of_birth: null, city: null, phone: null });
    expect(identity.received.map(({ application }) => application.user_id)).not.toContain(user_id);
  });

  it.each([
    ["more given names", { first_name: "Marisol Ana" }],
    ["other accents and case", { first_name: "MARISÓL", last_name: "inventada" }],
    ["a second family name", { last_name: "Inventada-Suposta" }],
  ])("accept a name with %s", async (_what, fields) => {
    const { user_id } = await submitted(fields);
    await waitForStatus(server, user_id, "application_queued");
  });

  it("send back a file that can no longer be read, and say which", async () => {
    const user_id = await addUser(server);
    const page = new PageVisitor(server);
    await page.open(await openLink(server, user_id));
    await page.fill();
    const [row] = await server.db.database.query<{ file: string }>(
      "select file from kyc_files where user_id = $1 and slot = 'selfie'",
      [user_id],
    );
    const place = join(server.data_dir, "files", server.account_id, user_id.slice(-2), user_id);
    await rm(join(place, row!.file));
    await page.submit();
    await waitForStatus(server, user_id, "retry_required");
    expect(await commentOf(user_id)).toContain("Selfie: The file cannot be opened");
  });

  it("record every state in between, each with its event", async () => {
    const { user_id } = await submitted({ first_name: "Bertrand" });
    await waitForStatus(server, user_id, "retry_required");
    const rows = await server.db.database.query<{ to_status: string }>(
      "select to_status from events where record_id = $1 order by sequence",
      [user_id],
    );
    expect(rows.map((row) => row.to_status)).toEqual([
      ...["initiated", "pending_assessment", "prechecks_completed", "application_queued"],
      "retry_required",
    ]);
  });
});

describe("an identity adapter", () => {
  it("receives data and files in clear, once, although it failed at first", async () => {
    identity.failNext(1);
    const calls = identity.calls();
    const { user_id } = await submitted();
    const received = await waitFor(async () => {
      // A failed task waits a second of business time.
      await server.call("POST", "/sandbox/clock", { advance_ms: 1_000 });
      return identity.received.find(({ application }) => application.user_id === user_id);
    });
    expect(identity.calls()).toBe(calls + 2);
    expect(received.application.identity).toMatchObject({
      first_name: "Marisol",
      date_of_birth: "1988-04-21",
      document_type: "passport",
    });
    expect(received.files.get("document_front")).toEqual(png());
    expect(await statusOf(server, user_id)).toBe("application_queued");
  });

  it.each(["approved", "failed", "retry_required"] as const)(
    "may answer %s at once",
    async (to) => {
      identity.atOnce = to;
      const { user_id } = await submitted();
      await waitForStatus(server, user_id, to);
    },
  );

  it("can report results later, through its list", async () => {
    const { user_id } = await submitted();
    const { application } = await waitFor(() =>
      identity.received.find((one) => one.application.user_id === user_id),
    );
    const { account_id, application_id } = application;
    const result = { account_id, application_id, result_id: "late", comment: null };
    identity.tell({ ...result, outcome: "approved" });
    await server.call("POST", "/sandbox/clock", { advance_ms: 10_000 });
    await waitForStatus(server, user_id, "approved");
  });

  it.each(["application_queued", "awaiting_manual_review"] as const)(
    "has results applied that follow one that cannot be applied: %s",
    async (status) => {
      identity.atOnce = status === "awaiting_manual_review" ? "manual_review" : null;
      const users = [await submitted(), await submitted()];
      const [broken, next] = await Promise.all(
        users.map(({ user_id }) =>
          waitFor(() => identity.received.find((one) => one.application.user_id === user_id)),
        ),
      );
      await waitForStatus(server, users[0]!.user_id, status);
      const result = { ...broken!.application, result_id: `${status} \0`, comment: null };
      identity.tell({ ...result, outcome: "retry_required" });
      const followed = { ...next!.application, result_id: "next", comment: null };
      identity.tell({ ...followed, outcome: "approved" });
      await server.call("POST", "/sandbox/clock", { advance_ms: 10_000 });
      await waitForStatus(server, users[1]!.user_id, "approved");
      const failed = await waitFor(async () => {
        const [task] = await server.core.database.query<{ last_error: string }>(
          "select last_error from tasks where record_id = $1 and last_error is not null",
          [broken!.application.application_id],
        );
        return task;
      });
      expect(failed.last_error).toContain("invalid byte sequence");
      expect(await statusOf(server, users[0]!.user_id)).toBe(status);
    },
  );

  it("has each result applied once, even if reported twenty times at once", async () => {
    const { user_id } = await submitted();
    const { application } = await waitFor(() =>
      identity.received.find((one) => one.application.user_id === user_id),
    );
    const tell = (result_id: string, outcome: IdentityOutcome) =>
      applyIdentityResults(
        deps(),
        [{ ...application, result_id, outcome, comment: null }],
        server.core.clock.now(),
      );
    await Promise.all(Array.from({ length: 20 }, () => tell("one", "approved")));
    expect(await statusOf(server, user_id)).toBe("approved");
    // A contradicting result is too late, and only recorded.
    await tell("two", "failed");
    expect(await statusOf(server, user_id)).toBe("approved");
    const [events] = await server.db.database.query<{ count: bigint }>(
      "select count(*) from events where record_id = $1 and to_status = 'approved'",
      [user_id],
    );
    expect(events!.count).toBe(1n);
    const results = await server.db.database.query(
      "select result_id, is_applied from kyc_results where application_id = $1 order by result_id",
      [application.application_id],
    );
    expect(results).toEqual([
      { result_id: "one", is_applied: true },
      { result_id: "two", is_applied: false },
    ]);
  });

  it("does not approve a birth date that contradicts the account's, which stays unchanged", async () => {
    identity.atOnce = "approved";
    const { user_id } = await submitted({}, { date_of_birth: "22/04/1988" });
    await waitForStatus(server, user_id, "awaiting_manual_review");
    const shown = await server.call("GET", `/users/${user_id}`);
    expect(shown.body.user).toMatchObject({ date_of_birth: "22/04/1988", city: null });
  });

  it("does not approve a user whom the account has renamed since the submission", async () => {
    const { user_id } = await submitted();
    const { application } = await waitFor(() =>
      identity.received.find((one) => one.application.user_id === user_id),
    );
    await server.call("PATCH", `/users/${user_id}`, { user: { last_name: "Substituta" } });
    const result = { ...application, result_id: "r", outcome: "approved", comment: null } as const;
    await applyIdentityResults(deps(), [result], server.core.clock.now());
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
  });

  it("changes nothing for an unknown application", async () => {
    const unknown = { account_id: server.account_id, application_id: crypto.randomUUID() };
    const result = { ...unknown, result_id: "x", outcome: "approved", comment: null } as const;
    await applyIdentityResults(deps(), [result], server.core.clock.now());
    const rows = await server.db.database.query(
      "select from kyc_results where application_id = $1",
      [unknown.application_id],
    );
    expect(rows).toEqual([]);
  });
});

describe("a business", () => {
  it("submits company data, its registration and one controlling person", async () => {
    const user_id = await addBusiness(server);
    const page = new PageVisitor(server);
    const opened = await page.open(await openLink(server, user_id));
    expect(opened.body.kyc).toMatchObject({ beneficiary_type: "business", can_confirm: false });
    await page.save({ ...COMPANY, controller_document_type: "identity_card" });
    await page.upload("registration_document", pdf());
    await page.upload("document_front", png());
    await page.upload("selfie", png());
    const refused = await page.submit();
    expect(refused.body.errors).toMatchObject([{ field: "files.document_back" }]);
    await page.upload("document_back", png());
    expect((await page.submit()).status).toBe(200);
    identity.atOnce = null;
    const { application } = await waitFor(() =>
      identity.received.find((one) => one.application.user_id === user_id),
    );
    expect(application.identity).toMatchObject({
      company_name: "Invented Payroll Ltd",
      controller_last_name: "Erfunden",
    });
    const result = { ...application, result_id: "r", outcome: "approved", comment: null } as const;
    await applyIdentityResults(deps(), [result], server.core.clock.now());
    const shown = await server.call("GET", `/users/${user_id}`);
    expect(shown.body.user).toMatchObject({ ssn: "PT500100200", business_activity: "Payroll" });
  });
});

function deps() {
  const { database, keyring, config, catalogue } = server.core;
  const { swift_clearance } = config;
  return { database, keyring, catalogue, swift_clearance, identity, log: server.app.server.log };
}
