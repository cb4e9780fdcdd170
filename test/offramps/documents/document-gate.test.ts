import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { txId } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import {
  type DocumentFixture,
  JPG,
  openDocumentFixture,
  PDF,
  PNG,
  sha256,
} from "./document-fixture.ts";

type Policy = "always" | "threshold" | "never" | "review";

const servers: TestServer[] = [];
const fixtures = {} as Record<Policy, DocumentFixture>;

beforeAll(async () => {
  const open = async (policy: Policy) => {
    const server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: policy } });
    servers.push(server);
    fixtures[policy] = await openDocumentFixture(server);
  };
  await Promise.all((["always", "threshold", "never", "review"] as const).map(open));
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

const NEEDED = /needs a supporting document/;
const URL_OF_SAMPLE = "https://files.test/invoice.pdf";

describe("an executed offramp", () => {
  it("waits for a document, and continues when one is uploaded", async () => {
    const { always: fixture } = fixtures;
    const offramp = await fixture.addOfframp();
    await fixture.execute(offramp);
    const waiting = await fixture.waitForStatus(offramp, "ongoing_checks");
    expect(waiting.status_message).toMatch(NEEDED);
    await fixture.upload(offramp, PDF);
    const sent = await fixture.waitForStatus(offramp, "fiat_sent");
    expect(sent.status_message).toBe(null);
    expect(sent.supporting_document.status).toBe("not_checked");
  });

  it("continues when the document was fetched from its URL", async () => {
    const { always: fixture } = fixtures;
    const offramp = await fixture.addOfframp({ submitted_url: URL_OF_SAMPLE });
    await fixture.execute(offramp);
    await fixture.waitForStatus(offramp, "fiat_sent");
  });

  it("waits while its URL cannot be used, and shows why", async () => {
    const { always: fixture } = fixtures;
    const location = "http://10.1.2.3/invoice.pdf";
    const redirect = createServer((_, answer) => answer.writeHead(302, { location }).end());
    onTestFinished(() => void redirect.close());
    await new Promise<void>((resolve) => redirect.listen(0, "127.0.0.1", resolve));
    const { port } = redirect.address() as AddressInfo;
    const submitted_url = `http://127.0.0.1:${port}/invoice.pdf`;
    const offramp = await fixture.addOfframp({ submitted_url });
    await fixture.execute(offramp);
    const waiting = await fixture.waitForStatus(offramp, "ongoing_checks");
    expect(waiting.status_message).toMatch(/could not be used: its URL is not public/);
    await fixture.upload(offramp, PDF);
    await fixture.waitForStatus(offramp, "fiat_sent");
  });

  it("waits above the threshold and on swift only, under the policy threshold", async () => {
    const { threshold: fixture } = fixtures;
    const below = await fixture.addOfframp({ amount: 15_000 });
    await fixture.execute(below);
    expect((await fixture.waitForStatus(below, "fiat_sent")).supporting_document).toBe(null);
    const submitted_url = "http://127.0.0.1:1/invoice.pdf";
    const above = await fixture.addOfframp({ amount: 15_000.01, submitted_url });
    const swift = await fixture.addOfframp({ account: "usd_swift", submitted_url });
    for (const offramp of [above, swift]) {
      await fixture.execute(offramp);
      const waiting = await fixture.waitForStatus(offramp, "ongoing_checks");
      expect(waiting.status_message).toMatch(/is being fetched/);
      await fixture.upload(offramp, PDF);
      await fixture.waitForStatus(offramp, "fiat_sent");
    }
  });

  it("does not wait under the policy never", async () => {
    const { never: fixture } = fixtures;
    const offramp = await fixture.addOfframp();
    await fixture.execute(offramp);
    expect((await fixture.waitForStatus(offramp, "fiat_sent")).supporting_document).toBe(null);
  });

  it("also waits for the approval, under the policy review", async () => {
    const { review: fixture } = fixtures;
    const offramp = await fixture.addOfframp();
    await fixture.execute(offramp);
    await fixture.waitUntil(offramp, ({ status_message }) => NEEDED.test(status_message));
    await fixture.upload(offramp, PDF);
    const waiting = await fixture.waitUntil(offramp, ({ status_message }) =>
      /waiting for review/.test(status_message),
    );
    expect(waiting.status).toBe("ongoing_checks");
    const approved = await fixture.review(offramp, {
      status: "approved",
      comment: "Amounts agree.",
    });
    expect(approved.body.offramp.supporting_document.status).toBe("approved");
    await fixture.waitForStatus(offramp, "fiat_sent");
    const { action, hash, reason, actor } = (await fixture.audit(offramp)).at(-1)!;
    expect([action, hash, reason]).toEqual(["document.approved", sha256(PDF), "Amounts agree."]);
    expect(actor).toMatch(/^api_key:/);
  });
});

describe("a review", () => {
  it("that rejects leaves an initiated offramp in its status, with the comment", async () => {
    const { always: fixture } = fixtures;
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    const comment = "Page 2 is missing.";
    const rejected = await fixture.review(offramp, { status: "rejected", comment });
    expect(rejected.body.offramp).toMatchObject({
      status: "initiated",
      status_message: comment,
      supporting_document: { status: "rejected" },
    });
    await fixture.execute(offramp);
    const waiting = await fixture.waitForStatus(offramp, "ongoing_checks");
    expect(waiting.status_message).toBe(comment);
    await fixture.upload(offramp, PNG);
    expect((await fixture.waitForStatus(offramp, "fiat_sent")).supporting_document.status).toBe(
      "not_checked",
    );
    const lines = (await fixture.audit(offramp)).map(({ action, hash }) => [action, hash]);
    expect(lines).toEqual([
      ["document.attach", sha256(PDF)],
      ["document.rejected", sha256(PDF)],
      ["document.attach", sha256(PNG)],
    ]);
  });

  it("that rejects keeps a waiting offramp waiting until another document is uploaded", async () => {
    const { review: fixture } = fixtures;
    const offramp = await fixture.addOfframp({ submitted_url: URL_OF_SAMPLE });
    await fixture.execute(offramp);
    await fixture.waitUntil(offramp, ({ status_message }) => /review/.test(status_message));
    const rejected = await fixture.review(offramp, { status: "rejected" });
    expect(rejected.body.offramp).toMatchObject({
      status: "ongoing_checks",
      status_message: "The supporting document was rejected. Upload another one.",
    });
    await fixture.upload(offramp, PDF);
    await fixture.waitUntil(offramp, ({ status_message }) =>
      /waiting for review/.test(status_message),
    );
    expect((await fixture.show(offramp)).supporting_document.status).toBe("not_checked");
    await fixture.review(offramp, { status: "approved" });
    await fixture.waitForStatus(offramp, "fiat_sent");
  });

  it("that rejects moves an offramp under assessment to ongoing_checks", async () => {
    const server = await startTestServer();
    try {
      const fixture = await openDocumentFixture(server);
      // Stopped, so that no worker assesses it.
      await server.app.worker.stop();
      const offramp = await fixture.addOfframp();
      await fixture.upload(offramp, PDF);
      const request = { offramp: { status: "pending_internal_assessment" } };
      await server.call("PATCH", `/sandbox/offramps/${offramp.id}`, request);
      const rejected = await fixture.review(offramp, { status: "rejected", comment: "Blurred." });
      expect(rejected.body.offramp).toMatchObject({
        status: "ongoing_checks",
        status_message: "Blurred.",
      });
    } finally {
      await server.close();
    }
  });

  it("shows its reason again after another gate replaced the message", async () => {
    const { review: fixture } = fixtures;
    const { server } = fixture;
    const offramp = await fixture.addOfframp({ submitted_url: URL_OF_SAMPLE });
    await fixture.execute(offramp);
    await fixture.waitUntil(offramp, ({ status_message }) => /review/.test(status_message));
    const kyc = (status: string) =>
      server.call("PATCH", `/sandbox/users/${offramp.user_id}/kycs`, { kyc: { status } });
    await kyc("suspended");
    await fixture.review(offramp, { status: "rejected", comment: "Blurred." });
    await fixture.waitUntil(offramp, ({ status_message }) => /KYC/.test(status_message));
    await kyc("approved");
    await fixture.waitUntil(offramp, ({ status_message }) => status_message === "Blurred.");
  });

  it("keeps the message of a short deposit, which says how much to send", async () => {
    const { always: fixture } = fixtures;
    const { server } = fixture;
    const offramp = await fixture.addOfframp({ account: "usd" });
    const crypto_deposit = { quote_id: offramp.quote_id, amount: 500, tx_id: txId("short") };
    await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit });
    await fixture.upload(offramp, PDF);
    const transfer = { tx_id: txId("short"), blockchain: "polygon", network: "amoy" };
    const path = `/users/${offramp.user_id}/quotes/${offramp.quote_id}/execute`;
    await server.call("POST", path, { quote: { crypto_transfer: transfer } });
    const short = await fixture.waitForStatus(offramp, "ongoing_checks");
    expect(short.status_message).toMatch(/short by 504/);
    const expectMessageAfter = async (status: string) =>
      expect((await fixture.review(offramp, { status })).body.offramp).toMatchObject({
        status_message: short.status_message,
        supporting_document: { status },
      });
    await expectMessageAfter("rejected");
    await fixture.upload(offramp, JPG);
    await expectMessageAfter("approved");
    await expectMessageAfter("rejected");
    const rest = { quote_id: offramp.quote_id, amount: 504 };
    await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit: rest });
    await fixture.waitUntil(offramp, ({ status_message }) => /was rejected/.test(status_message));
    await fixture.upload(offramp, PNG);
    await fixture.waitForStatus(offramp, "fiat_sent");
  });

  it("names the file that was read: one that has replaced it is not approved by it", async () => {
    const { review: fixture } = fixtures;
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    await fixture.execute(offramp);
    await fixture.waitForStatus(offramp, "ongoing_checks");
    const hash = sha256(PDF);
    await fixture.upload(offramp, PNG);
    for (const status of ["approved", "rejected"]) {
      const late = await fixture.review(offramp, { status, hash });
      expect(late).toMatchObject({ status: 422, body: { error_code: "invalid_transition" } });
      expect(late.body.message).toContain("was replaced");
    }
    expect((await fixture.show(offramp)).supporting_document.status).toBe("not_checked");
    const unread = await fixture.review(offramp, { status: "approved", hash: "abc" });
    expect(unread.body.errors[0].field).toBe("supporting_document.hash");
    await fixture.review(offramp, { status: "approved", hash: sha256(PNG).toUpperCase() });
    await fixture.waitForStatus(offramp, "fiat_sent");
  });

  it("that rejects is final for the API: the file can be neither approved nor uploaded again", async () => {
    const { always: fixture } = fixtures;
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    await fixture.review(offramp, { status: "rejected", comment: "Forged." });
    const approved = await fixture.review(offramp, { status: "approved" });
    expect(approved).toMatchObject({ status: 422, body: { error_code: "invalid_transition" } });
    const again = await fixture.upload(offramp, PDF, { name: "another-name.pdf" });
    expect(again.body).toMatchObject({ error_code: "record_invalid", errors: [{ field: "file" }] });
    await fixture.execute(offramp);
    const waiting = await fixture.waitForStatus(offramp, "ongoing_checks");
    expect(waiting).toMatchObject({
      status_message: "Forged.",
      supporting_document: { status: "rejected" },
    });
    await fixture.upload(offramp, PNG);
    await fixture.waitForStatus(offramp, "fiat_sent");
    // Not even after another file.
    expect((await fixture.upload(offramp, PDF)).status).toBe(422);
    expect((await fixture.download(offramp)).content.equals(PNG)).toBe(true);
  });

  it("rejects a document whose URL was not fetched yet, and nothing is fetched afterwards", async () => {
    const { always: fixture } = fixtures;
    // Nothing listens on port 1, so it is retried in three minutes.
    const offramp = await fixture.addOfframp({ submitted_url: "http://127.0.0.1:1/invoice.pdf" });
    const early = await fixture.review(offramp, { status: "approved" });
    expect(early).toMatchObject({ status: 422, body: { error_code: "invalid_transition" } });
    const rejected = await fixture.review(offramp, { status: "rejected", comment: "Wrong party." });
    expect(rejected.body.offramp).toMatchObject({
      status_message: "Wrong party.",
      supporting_document: { status: "rejected" },
    });
    await fixture.advance(30);
    expect((await fixture.show(offramp)).status_message).toBe("Wrong party.");
    expect((await fixture.review(offramp, { status: "approved" })).status).toBe(422);
  });

  it("422 from sending_fiat on, and where there is nothing to review", async () => {
    const { always: fixture } = fixtures;
    const offramp = await fixture.addOfframp();
    const refused = { status: 422, body: { error_code: "invalid_transition" } };
    expect(await fixture.review(offramp, { status: "approved" })).toMatchObject(refused);
    await fixture.upload(offramp, PDF);
    await fixture.beginPayout(offramp);
    for (const status of ["approved", "rejected"]) {
      expect(await fixture.review(offramp, { status })).toMatchObject(refused);
    }
    expect((await fixture.show(offramp)).supporting_document.status).toBe("not_checked");
  });

  it("is not required again on a re-route, whatever was uploaded since", async () => {
    const { review: fixture } = fixtures;
    const { server } = fixture;
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    await fixture.review(offramp, { status: "approved" });
    await fixture.moveTo(offramp, "bounced");
    await fixture.upload(offramp, PNG);
    const { payment_detail_id } = await fixture.show(offramp);
    const path = `/users/${offramp.user_id}/offramps/${offramp.id}/reroute`;
    const rerouted = await server.call("POST", path, { offramp: { payment_detail_id } });
    expect(rerouted.status, rerouted.text).toBe(200);
    await fixture.waitForStatus(offramp, "fiat_sent");
  });

  it("reports every problem of the request", async () => {
    const { always: fixture } = fixtures;
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    const wrong = await fixture.review(offramp, { status: "fine", comment: "x".repeat(501) });
    expect(wrong).toMatchObject({
      status: 422,
      body: {
        error_code: "record_invalid",
        errors: [
          { field: "supporting_document.status", code: "record_invalid" },
          { field: "supporting_document.comment", code: "value_too_long" },
        ],
      },
    });
    expect((await fixture.review(offramp, {})).body.error_code).toBe("parameter_missing");
    expect(await fixture.audit(offramp)).toHaveLength(1);
  });

  it("leaves records in which verify finds no fault", async () => {
    for (const fixture of Object.values(fixtures)) {
      await fixture.advance(2);
      expect(await fixture.verify()).toMatchObject({ fault: null });
    }
  });
});
