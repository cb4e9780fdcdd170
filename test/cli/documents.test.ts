import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Ended, runCommand } from "../harness/command-line.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  type DocumentFixture,
  openDocumentFixture,
  PDF,
  PNG,
} from "../offramps/documents/document-fixture.ts";

const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";
const hashOf = (file: Buffer) => createHash("sha256").update(file).digest("hex");

let server: TestServer;
let fixture: DocumentFixture;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "review" } });
  fixture = await openDocumentFixture(server);
});
afterAll(() => server.close());

const approve = (id: string, args: string[], environment: Record<string, string> = {}) =>
  runCommand(["documents", "approve", id, ...args], {
    DATABASE_URL: server.db.url,
    SLIPROAD_DATA_DIR: server.data_dir,
    ...environment,
  });

function expectSentence(ended: Ended, words: string): void {
  expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code: 1, stdout: "" });
  expect(ended.stderr).toContain(words);
}

const review = (id: string, status: string) =>
  server.call("PATCH", `/offramps/${id}/supporting-documents`, { supporting_document: { status } });

const show = async ({ user_id, id }: { user_id: string; id: string }) =>
  (await server.call("GET", `/users/${user_id}/offramps/${id}`)).body.offramp;

/** An offramp whose document was rejected. */
async function addRejected() {
  const offramp = await fixture.addOfframp();
  expect((await fixture.upload(offramp, PDF)).status).toBe(200);
  expect((await review(offramp.id, "rejected")).status).toBe(200);
  return offramp;
}

it("approves a rejected document with a reason; the audit log has the reason and the hash", async () => {
  const offramp = await addRejected();
  const refused = await review(offramp.id, "approved");
  expect(refused.status).toBe(422);
  expect(refused.body.message).toContain("sliproad documents approve");
  expectSentence(await approve(offramp.id, []), "--reason");
  expectSentence(await approve(offramp.id, ["--reason", " "]), "--reason must not be empty");
  const ended = await approve(offramp.id, ["--reason", "called the payee", "--json"]);
  expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(ended.stdout)).toEqual({
    offramp_id: offramp.id,
    supporting_document: { status: "approved", hash: hashOf(PDF) },
    proposal_id: null,
  });
  expect((await show(offramp)).supporting_document.status).toBe("approved");
  const rows = await server.db.database.query<{ detail: string }>(
    "select actor, reason, detail from audit_entries where action = $1 and record = $2",
    ["document.approved", `offramp:${offramp.id}`],
  );
  expect(rows).toMatchObject([{ actor: "command line", reason: "called the payee" }]);
  expect(JSON.parse(rows[0]!.detail)).toEqual({ hash: hashOf(PDF) });
});

it("approves only the reviewed file, of an offramp of the account", async () => {
  const offramp = await addRejected();
  const args = ["--reason", "seen", "--hash", hashOf(PNG)];
  expectSentence(await approve(offramp.id, args), "The document was replaced");
  expectSentence(await approve(offramp.id, ["--reason", "seen", "--hash", "12"]), "--hash");
  expectSentence(await approve(UNKNOWN_ID, ["--reason", "seen"]), "There is no offramp");
  expectSentence(await approve("nonsense", ["--reason", "seen"]), "There is no offramp nonsense");
  const without = await fixture.addOfframp();
  expectSentence(await approve(without.id, ["--reason", "seen"]), "no document to review");
  expect((await show(offramp)).supporting_document.status).toBe("rejected");
});

it("becomes a proposal without any vote above the approval amount", async () => {
  const offramp = await addRejected();
  const ended = await approve(offramp.id, ["--reason", "seen", "--json"], {
    SLIPROAD_APPROVAL_ABOVE_USD: "500",
  });
  expect(ended.code, ended.stderr).toBe(0);
  const { supporting_document, proposal_id } = JSON.parse(ended.stdout);
  expect(supporting_document).toEqual({ status: "rejected", hash: hashOf(PDF) });
  const { proposals } = (await server.call("GET", "/proposals")).body;
  expect(proposals[0]).toMatchObject({
    id: proposal_id,
    record_id: offramp.id,
    status: "pending",
    confirmations: 0,
  });
  expect((await show(offramp)).supporting_document.status).toBe("rejected");
});
