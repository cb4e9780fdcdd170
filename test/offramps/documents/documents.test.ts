import { readdir, readFile } from "node:fs/promises";
import http from "node:http";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApiKey } from "../../../src/accounts/create-api-key.ts";
import { makeApiKey } from "../../../src/accounts/model.ts";
import { ACCOUNTS } from "../../../src/accounts/store.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { vouch } from "../../harness/vouch.ts";
import { waitFor } from "../../harness/wait-for.ts";
import {
  type DocumentFixture,
  JPG,
  openDocumentFixture,
  PDF,
  PNG,
  sha256,
} from "./document-fixture.ts";

const BYTES_MAX = 5_242_880;
const PUBLIC_URL = "https://ramp.invented.example";

let server: TestServer;
let fixture: DocumentFixture;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_PUBLIC_URL: PUBLIC_URL } });
  fixture = await openDocumentFixture(server);
});
afterAll(() => server.close());

describe("an uploaded document", () => {
  it.each([
    ["PDF", PDF, "application/pdf", "pdf"],
    ["JPG", JPG, "image/jpeg", "jpg"],
    ["PNG", PNG, "image/png", "png"],
  ])("may be a %s, whatever its name and declared type say", async (_, content, type, ending) => {
    const offramp = await fixture.addOfframp();
    const wrong = { name: "page.html", declared_type: "text/html" };
    const answer = await fixture.upload(offramp, content, wrong);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toEqual({ message: expect.stringMatching(/uploaded successfully/) });
    const served = await fixture.download(offramp);
    expect(served.content.equals(content)).toBe(true);
    expect(served.headers.get("content-type")).toBe(type);
    expect(served.headers.get("content-disposition")).toBe(
      `attachment; filename="${offramp.id}.${ending}"`,
    );
  });

  it("422 when its type is not accepted, even if it is named invoice.pdf", async () => {
    const offramp = await fixture.addOfframp();
    const page = await fixture.upload(offramp, Buffer.from("<html>an invoice</html>"));
    expect(page).toMatchObject({ status: 422, body: { error_code: "unsupported_file_type" } });
    expect((await fixture.show(offramp)).supporting_document).toBe(null);
  });

  it("400 when the part is missing or empty", async () => {
    const offramp = await fixture.addOfframp();
    const missing = { status: 400, body: { error_code: "parameter_missing" } };
    expect(await fixture.upload(offramp, Buffer.alloc(0))).toMatchObject(missing);
    const form = { "content-type": "multipart/form-data; boundary=x" };
    const nothing = { raw: "--x--\r\n", headers: form };
    const path = fixture.documentPath(offramp.id);
    expect(await server.call("POST", path, undefined, nothing)).toMatchObject(missing);
    expect(await server.call("POST", path)).toMatchObject(missing);
  });

  it("may have 5 242 880 bytes; one more is 413, and the earlier document is kept", async () => {
    const offramp = await fixture.addOfframp();
    const largest = Buffer.concat([PDF, Buffer.alloc(BYTES_MAX - PDF.length, "x")]);
    expect((await fixture.upload(offramp, largest)).status).toBe(200);
    const larger = await fixture.upload(offramp, Buffer.concat([largest, Buffer.from("x")]));
    expect(larger).toMatchObject({ status: 413, body: { error_code: "file_too_large" } });
    expect((await fixture.download(offramp)).content.equals(largest)).toBe(true);
    expect(await fixture.listFiles(offramp)).toHaveLength(1);
  });

  it("is kept when a later upload is aborted, which leaves no file behind", async () => {
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    const temporary = join(server.data_dir, "files", "temporary");
    const request = http.request(`${server.url}${fixture.documentPath(offramp.id)}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${server.key}`,
        "content-type": "multipart/form-data; boundary=x",
        "content-length": 1_000_000,
      },
    });
    request.on("error", () => {});
    request.write('--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n%PDF-');
    // Once it is being written to disk.
    await waitFor(async () => {
      request.write(Buffer.alloc(1000));
      await nextTurn();
      return (await readdir(temporary)).length > 0;
    });
    request.destroy();
    await waitFor(async () => (await readdir(temporary)).length === 0);
    expect((await fixture.download(offramp)).content.equals(PDF)).toBe(true);
    expect(await fixture.listFiles(offramp)).toHaveLength(1);
  });

  it("replaces the earlier one, whose hash is kept", async () => {
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    await fixture.review(offramp, { status: "approved" });
    expect((await fixture.show(offramp)).supporting_document.status).toBe("approved");
    await fixture.upload(offramp, PNG);
    expect((await fixture.show(offramp)).supporting_document.status).toBe("not_checked");
    expect((await fixture.download(offramp)).content.equals(PNG)).toBe(true);
    const lines = (await fixture.audit(offramp)).map(({ action, hash }) => [action, hash]);
    expect(lines).toEqual([
      ["document.attach", sha256(PDF)],
      ["document.approved", sha256(PDF)],
      ["document.attach", sha256(PNG)],
    ]);
    const both = await fixture.listFiles(offramp);
    expect(both).toHaveLength(2);
    await fixture.advance(6);
    expect(await fixture.listFiles(offramp)).toEqual(both.slice(1));
    expect((await fixture.download(offramp)).content.equals(PNG)).toBe(true);
  });

  it("is logged under the key that uploaded it, also for several at once", async () => {
    const offramp = await fixture.addOfframp();
    const { key, actor } = await addKey();
    const other = await server.addAccount("Bystander");
    const [first, second, foreign] = await Promise.all([
      fixture.upload(offramp, PDF),
      fixture.upload(offramp, PNG, { key }),
      fixture.upload(offramp, JPG, { key: other.key }),
    ]);
    expect([first.status, second.status, foreign.status]).toEqual([200, 200, 404]);
    const lines = await fixture.audit(offramp);
    expect(lines).toHaveLength(2);
    expect(lines.find((line) => line.hash === sha256(PNG))?.actor).toBe(actor);
    expect(lines.find((line) => line.hash === sha256(PDF))?.actor).not.toBe(actor);
  });

  it.each(["sending_fiat", "fiat_sent", "bounced", "failed"])(
    "is accepted when the offramp is %s, and the accepted file's hash is kept",
    async (status) => {
      // The bank would answer while the file is uploaded.
      const metadata: Record<string, string> =
        status === "sending_fiat" ? { sandbox_outcome: "stuck" } : {};
      const offramp = await fixture.addOfframp({ metadata });
      await fixture.upload(offramp, PDF);
      await fixture.moveTo(offramp, status);
      const before = await fixture.show(offramp);
      expect((await fixture.upload(offramp, PNG)).status).toBe(200);
      expect((await fixture.download(offramp)).content.equals(PNG)).toBe(true);
      expect(await fixture.show(offramp)).toMatchObject({
        status,
        status_message: before.status_message,
        supporting_document: { status: "not_checked" },
      });
      const [first, late, ...more] = await fixture.audit(offramp);
      expect(first).toMatchObject({ action: "document.attach", hash: sha256(PDF) });
      expect(late).toMatchObject({
        action: "document.attach",
        reason: "uploaded after the payout began",
        hash: sha256(PNG),
        replaced: sha256(PDF),
      });
      expect(more).toEqual([]);
    },
  );

  it("returns the first response for the same key and bytes, 409 for other bytes", async () => {
    const offramp = await fixture.addOfframp();
    const again = { idempotency_key: `upload-${offramp.id}` };
    const first = await fixture.upload(offramp, PDF, again);
    const second = await fixture.upload(offramp, PDF, { ...again, name: "renamed.pdf" });
    expect(second.text).toBe(first.text);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    const other = await fixture.upload(offramp, PNG, again);
    expect(other).toMatchObject({ status: 409, body: { error_code: "idempotency_key_reused" } });
    expect(await fixture.audit(offramp)).toHaveLength(1);
    expect(await fixture.listFiles(offramp)).toHaveLength(1);
    await fixture.beginPayout(offramp);
    expect((await fixture.upload(offramp, PDF, again)).text).toBe(first.text);
  });

  it("404 for another account, to upload, to read or to review", async () => {
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    const { key, account_id } = await server.addAccount("Stranger");
    expect(await fixture.upload(offramp, PNG, { key })).toMatchObject({
      status: 404,
      body: { error_code: "record_not_found" },
    });
    expect((await fixture.download(offramp, key)).status).toBe(404);
    const body = { supporting_document: { status: "rejected" } };
    const path = fixture.documentPath(offramp.id);
    // Without the delegation it may not review at all, whatever the id.
    expect((await server.call("PATCH", path, body, { key })).status).toBe(403);
    await delegateReview(account_id);
    expect((await server.call("PATCH", path, body, { key })).status).toBe(404);
    expect((await server.call("GET", path, undefined, { key: null })).status).toBe(401);
    expect((await fixture.download(offramp)).content.equals(PDF)).toBe(true);
  });

  it("shows a URL of this service that serves it as a download only", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: "https://files.test/other.pdf" });
    await fixture.upload(offramp, PDF);
    expect((await fixture.show(offramp)).supporting_document).toEqual({
      submitted_url: `${PUBLIC_URL}${fixture.documentPath(offramp.id)}`,
      status: "not_checked",
    });
    const { headers } = await fixture.download(offramp);
    expect(headers.get("content-disposition")).toMatch(/^attachment;/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toMatch(/^sandbox;/);
    expect(headers.get("cache-control")).toMatch(/no-store/);
  });

  it("404 where an offramp has no document", async () => {
    expect((await fixture.download(await fixture.addOfframp())).status).toBe(404);
  });

  it("is encrypted on disk", async () => {
    const offramp = await fixture.addOfframp();
    const canary = "canary-7f3d0c";
    const content = Buffer.from(`%PDF-1.7 ${canary.repeat(20_000)}`);
    expect((await fixture.upload(offramp, content)).status).toBe(200);
    const entries = await readdir(server.data_dir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    let largest = 0;
    for (const { parentPath, name } of files) {
      const stored = await readFile(join(parentPath, name));
      expect(stored.includes(canary), name).toBe(false);
      largest = Math.max(largest, stored.length);
    }
    // The file itself is among them.
    expect(largest).toBeGreaterThanOrEqual(content.length);
  });

  it("leaves records in which verify finds no fault", async () => {
    await fixture.advance(2);
    expect(await fixture.verify()).toMatchObject({ fault: null });
  });
});

/** A second key of the first account. */
async function addKey() {
  const { database, index_key, clock, config } = server.core;
  const key = makeApiKey(index_key, config.mode, server.account_id);
  const { account_id } = server;
  const request = {
    account_id,
    name: "second",
    key,
    actor: "command line",
    reason: "test",
  } as const;
  const made = await database.transaction(async (tx) =>
    createApiKey(tx, index_key, request, clock.now()),
  );
  return { key, actor: `api_key:${made.id}` };
}

async function delegateReview(account_id: string): Promise<void> {
  await server.core.database.query(
    "update accounts set document_review_by_account = true where id = $1",
    [account_id],
  );
  await vouch(server.core.database, ACCOUNTS);
}
