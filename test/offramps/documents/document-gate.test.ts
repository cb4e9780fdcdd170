import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { txId } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { type DocumentRoom, JPG, openDocumentRoom, PDF, PNG, sha256 } from "./document-fixture.ts";

type Policy = "always" | "threshold" | "never" | "review";

const servers: TestServer[] = [];
const rooms = {} as Record<Policy, DocumentRoom>;

beforeAll(async () => {
  const open = async (policy: Policy) => {
    const server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: policy } });
    servers.push(server);
    rooms[policy] = await openDocumentRoom(server);
  };
  await Promise.all((["always", "threshold", "never", "review"] as const).map(open));
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

const NEEDED = /needs a supporting document/;
const URL_OF_SAMPLE = "https://files.test/invoice.pdf";

describe("an executed offramp", () => {
  it("waits for a document, and goes on by itself when one is uploaded", async () => {
    const { always: room } = rooms;
    const offramp = await room.addOfframp();
    await room.execute(offramp);
    const waiting = await room.waitForStatus(offramp, "ongoing_checks");
    expect(waiting.status_message).toMatch(NEEDED);
    await room.upload(offramp, PDF);
    const sent = await room.waitForStatus(offramp, "fiat_sent");
    expect(sent.status_message).toBe(null);
    expect(sent.supporting_document.status).toBe("not_checked");
  });

  it("goes on when the document of its address was fetched", async () => {
    const { always: room } = rooms;
    const offramp = await room.addOfframp({ submitted_url: URL_OF_SAMPLE });
    await room.execute(offramp);
    await room.waitForStatus(offramp, "fiat_sent");
  });

  it("waits while its address is of no use, and says why", async () => {
    const { always: room } = rooms;
    const offramp = await room.addOfframp({ submitted_url: "http://10.1.2.3/invoice.pdf" });
    await room.execute(offramp);
    const waiting = await room.waitForStatus(offramp, "ongoing_checks");
    expect(waiting.status_message).toMatch(/could not be used: its URL is not public/);
    await room.upload(offramp, PDF);
    await room.waitForStatus(offramp, "fiat_sent");
  });

  it("waits above the threshold and on swift only, where the policy is threshold", async () => {
    const { threshold: room } = rooms;
    const below = await room.addOfframp({ amount: 15_000 });
    await room.execute(below);
    expect((await room.waitForStatus(below, "fiat_sent")).supporting_document).toBe(null);
    const submitted_url = "http://127.0.0.1:1/invoice.pdf";
    const above = await room.addOfframp({ amount: 15_000.01, submitted_url });
    const swift = await room.addOfframp({ account: "usd_swift", submitted_url });
    for (const offramp of [above, swift]) {
      await room.execute(offramp);
      const waiting = await room.waitForStatus(offramp, "ongoing_checks");
      expect(waiting.status_message).toMatch(/is being fetched/);
      await room.upload(offramp, PDF);
      await room.waitForStatus(offramp, "fiat_sent");
    }
  });

  it("does not wait where the policy is never", async () => {
    const { never: room } = rooms;
    const offramp = await room.addOfframp();
    await room.execute(offramp);
    expect((await room.waitForStatus(offramp, "fiat_sent")).supporting_document).toBe(null);
  });

  it("waits for the approval too, where the policy is review", async () => {
    const { review: room } = rooms;
    const offramp = await room.addOfframp();
    await room.execute(offramp);
    await room.waitUntil(offramp, ({ status_message }) => NEEDED.test(status_message));
    await room.upload(offramp, PDF);
    const waiting = await room.waitUntil(offramp, ({ status_message }) =>
      /waiting for review/.test(status_message),
    );
    expect(waiting.status).toBe("ongoing_checks");
    const approved = await room.review(offramp, { status: "approved", comment: "Amounts agree." });
    expect(approved.body.offramp.supporting_document.status).toBe("approved");
    await room.waitForStatus(offramp, "fiat_sent");
    const { action, hash, reason, actor } = (await room.audit(offramp)).at(-1)!;
    expect([action, hash, reason]).toEqual(["document.approved", sha256(PDF), "Amounts agree."]);
    expect(actor).toMatch(/^api_key:/);
  });
});

describe("a review", () => {
  it("that rejects leaves an initiated offramp where it is, with the comment", async () => {
    const { always: room } = rooms;
    const offramp = await room.addOfframp();
    await room.upload(offramp, PDF);
    const comment = "Page 2 is missing.";
    const rejected = await room.review(offramp, { status: "rejected", comment });
    expect(rejected.body.offramp).toMatchObject({
      status: "initiated",
      status_message: comment,
      supporting_document: { status: "rejected" },
    });
    await room.execute(offramp);
    const waiting = await room.waitForStatus(offramp, "ongoing_checks");
    expect(waiting.status_message).toBe(comment);
    await room.upload(offramp, PNG);
    expect((await room.waitForStatus(offramp, "fiat_sent")).supporting_document.status).toBe(
      "not_checked",
    );
    const lines = (await room.audit(offramp)).map(({ action, hash }) => [action, hash]);
    expect(lines).toEqual([
      ["document.attach", sha256(PDF)],
      ["document.rejected", sha256(PDF)],
      ["document.attach", sha256(PNG)],
    ]);
  });

  it("that rejects keeps a waiting offramp waiting, until another document comes", async () => {
    const { review: room } = rooms;
    const offramp = await room.addOfframp({ submitted_url: URL_OF_SAMPLE });
    await room.execute(offramp);
    await room.waitUntil(offramp, ({ status_message }) => /review/.test(status_message));
    const rejected = await room.review(offramp, { status: "rejected" });
    expect(rejected.body.offramp).toMatchObject({
      status: "ongoing_checks",
      status_message: "The supporting document was rejected. Upload another one.",
    });
    await room.upload(offramp, PDF);
    await room.waitUntil(offramp, ({ status_message }) =>
      /waiting for review/.test(status_message),
    );
    expect((await room.show(offramp)).supporting_document.status).toBe("not_checked");
    await room.review(offramp, { status: "approved" });
    await room.waitForStatus(offramp, "fiat_sent");
  });

  it("that rejects sends one that is being assessed to ongoing_checks", async () => {
    const server = await startTestServer();
    try {
      const room = await openDocumentRoom(server);
      // Nobody assesses it meanwhile.
      await server.app.worker.stop();
      const offramp = await room.addOfframp();
      await room.upload(offramp, PDF);
      const wish = { offramp: { status: "pending_internal_assessment" } };
      await server.call("PATCH", `/sandbox/offramps/${offramp.id}`, wish);
      const rejected = await room.review(offramp, { status: "rejected", comment: "Blurred." });
      expect(rejected.body.offramp).toMatchObject({
        status: "ongoing_checks",
        status_message: "Blurred.",
      });
    } finally {
      await server.close();
    }
  });

  it("tells the reason again after another gate had its turn", async () => {
    const { review: room } = rooms;
    const { server } = room;
    const offramp = await room.addOfframp({ submitted_url: URL_OF_SAMPLE });
    await room.execute(offramp);
    await room.waitUntil(offramp, ({ status_message }) => /review/.test(status_message));
    const kyc = (status: string) =>
      server.call("PATCH", `/sandbox/users/${offramp.user_id}/kycs`, { kyc: { status } });
    await kyc("suspended");
    await room.review(offramp, { status: "rejected", comment: "Blurred." });
    await room.waitUntil(offramp, ({ status_message }) => /KYC/.test(status_message));
    await kyc("approved");
    await room.waitUntil(offramp, ({ status_message }) => status_message === "Blurred.");
  });

  it("leaves the message of a short deposit, which says how much to send", async () => {
    const { always: room } = rooms;
    const { server } = room;
    const offramp = await room.addOfframp({ account: "usd" });
    const crypto_deposit = { quote_id: offramp.quote_id, amount: 500, tx_id: txId("short") };
    await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit });
    await room.upload(offramp, PDF);
    const transfer = { tx_id: txId("short"), blockchain: "polygon", network: "amoy" };
    const path = `/users/${offramp.user_id}/quotes/${offramp.quote_id}/execute`;
    await server.call("POST", path, { quote: { crypto_transfer: transfer } });
    const short = await room.waitForStatus(offramp, "ongoing_checks");
    expect(short.status_message).toMatch(/short by 504/);
    const expectMessageAfter = async (status: string) =>
      expect((await room.review(offramp, { status })).body.offramp).toMatchObject({
        status_message: short.status_message,
        supporting_document: { status },
      });
    await expectMessageAfter("rejected");
    await room.upload(offramp, JPG);
    await expectMessageAfter("approved");
    await expectMessageAfter("rejected");
    const rest = { quote_id: offramp.quote_id, amount: 504 };
    await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit: rest });
    await room.waitUntil(offramp, ({ status_message }) => /was rejected/.test(status_message));
    await room.upload(offramp, PNG);
    await room.waitForStatus(offramp, "fiat_sent");
  });

  it("that rejects is final for the API: the file is neither approved nor taken again", async () => {
    const { always: room } = rooms;
    const offramp = await room.addOfframp();
    await room.upload(offramp, PDF);
    await room.review(offramp, { status: "rejected", comment: "Forged." });
    const approved = await room.review(offramp, { status: "approved" });
    expect(approved).toMatchObject({ status: 422, body: { error_code: "invalid_transition" } });
    const again = await room.upload(offramp, PDF, { name: "another-name.pdf" });
    expect(again.body).toMatchObject({ error_code: "record_invalid", errors: [{ field: "file" }] });
    await room.execute(offramp);
    const waiting = await room.waitForStatus(offramp, "ongoing_checks");
    expect(waiting).toMatchObject({
      status_message: "Forged.",
      supporting_document: { status: "rejected" },
    });
    await room.upload(offramp, PNG);
    await room.waitForStatus(offramp, "fiat_sent");
    // Not even after another one.
    expect((await room.upload(offramp, PDF)).status).toBe(422);
    expect((await room.download(offramp)).content.equals(PNG)).toBe(true);
  });

  it("rejects a document whose URL was not fetched yet, and nothing is fetched any more", async () => {
    const { always: room } = rooms;
    // Nothing listens on port 1: it is tried again in three minutes.
    const offramp = await room.addOfframp({ submitted_url: "http://127.0.0.1:1/invoice.pdf" });
    const early = await room.review(offramp, { status: "approved" });
    expect(early).toMatchObject({ status: 422, body: { error_code: "invalid_transition" } });
    const rejected = await room.review(offramp, { status: "rejected", comment: "Wrong party." });
    expect(rejected.body.offramp).toMatchObject({
      status_message: "Wrong party.",
      supporting_document: { status: "rejected" },
    });
    await room.advance(30);
    expect((await room.show(offramp)).status_message).toBe("Wrong party.");
    expect((await room.review(offramp, { status: "approved" })).status).toBe(422);
  });

  it("422 from sending_fiat on, and where there is nothing to review", async () => {
    const { always: room } = rooms;
    const offramp = await room.addOfframp();
    const refused = { status: 422, body: { error_code: "invalid_transition" } };
    expect(await room.review(offramp, { status: "approved" })).toMatchObject(refused);
    await room.upload(offramp, PDF);
    await room.beginPayout(offramp);
    for (const status of ["approved", "rejected"]) {
      expect(await room.review(offramp, { status })).toMatchObject(refused);
    }
    expect((await room.show(offramp)).supporting_document.status).toBe("not_checked");
  });

  it("is not asked for again on a re-route, whatever was uploaded since", async () => {
    const { review: room } = rooms;
    const { server } = room;
    const offramp = await room.addOfframp();
    await room.upload(offramp, PDF);
    await room.review(offramp, { status: "approved" });
    await room.moveTo(offramp, "bounced");
    await room.upload(offramp, PNG);
    const { payment_detail_id } = await room.show(offramp);
    const path = `/users/${offramp.user_id}/offramps/${offramp.id}/reroute`;
    const rerouted = await server.call("POST", path, { offramp: { payment_detail_id } });
    expect(rerouted.status, rerouted.text).toBe(200);
    await room.waitForStatus(offramp, "fiat_sent");
  });

  it("names every problem of the request", async () => {
    const { always: room } = rooms;
    const offramp = await room.addOfframp();
    await room.upload(offramp, PDF);
    const wrong = await room.review(offramp, { status: "fine", comment: "x".repeat(501) });
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
    expect((await room.review(offramp, {})).body.error_code).toBe("parameter_missing");
    expect(await room.audit(offramp)).toHaveLength(1);
  });

  it("leaves records in which verify finds no fault", async () => {
    for (const room of Object.values(rooms)) {
      await room.advance(2);
      expect(await room.verify()).toMatchObject({ fault: null });
    }
  });
});
