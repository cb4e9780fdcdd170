import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SAMPLE_PDF } from "../../../src/partners/documents/sample-pdf.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import {
  type DocumentFixture,
  type Handle,
  JPG,
  openDocumentFixture,
  PDF,
  PNG,
  sha256,
  startReceiver,
  type TestOfframp,
} from "./document-fixture.ts";

const URL_FIELD = "offramps[0].supporting_document_attributes.submitted_url";
const BYTES_MAX = 5_242_880;
const LARGEST = Buffer.concat([PDF, Buffer.alloc(BYTES_MAX - PDF.length, "x")]);

let server: TestServer;
let fixture: DocumentFixture;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let answerHeld: () => void;
let serveLate: Handle = (answer) => answer.writeHead(503).end();

beforeAll(async () => {
  const send = (type: string, content: string | Uint8Array): Handle => {
    return (answer) => answer.writeHead(200, { "content-type": type }).end(content);
  };
  receiver = await startReceiver({
    "/invoice.pdf": send("application/pdf", PDF),
    "/photo": send("text/plain", JPG),
    "/tiny": send("application/pdf", "%PDF-"),
    "/page": send("text/html; charset=utf-8", "<!doctype html><p>Sign in to see your invoice"),
    "/note.pdf": send("application/pdf", "just a note"),
    "/empty.pdf": send("application/pdf", ""),
    "/moved.pdf": (answer) => answer.writeHead(302, { location: "/invoice.pdf" }).end(),
    "/inside.pdf": (answer) => answer.writeHead(302, { location: "http://10.1.2.3/a.pdf" }).end(),
    "/largest.pdf": send("application/pdf", LARGEST),
    // Without a content length, so only counting bytes detects it.
    "/larger.pdf": (answer) => {
      answer.write(LARGEST);
      answer.end("x");
    },
    "/busy.pdf": (answer) => answer.writeHead(503).end(),
    "/late.pdf": (answer, request) => serveLate(answer, request),
    "/held.pdf": (answer) => {
      answerHeld = () => answer.end(PDF);
    },
    "/held-too.pdf": (answer) => {
      answerHeld = () => answer.end(PDF);
    },
  });
  server = await startTestServer();
  fixture = await openDocumentFixture(server);
});
afterAll(async () => {
  receiver.close();
  await server.close();
});

describe("a document named by its URL", () => {
  it("is fetched and kept; the URL stays unchanged", async () => {
    const submitted_url = `${receiver.url}/invoice.pdf`;
    const offramp = await fixture.addOfframp({ account: "usd_swift", submitted_url });
    const document = { submitted_url, status: "not_checked" };
    expect((await fixture.show(offramp)).supporting_document).toEqual(document);
    await waitForCopy(offramp);
    expect(await fixture.show(offramp)).toMatchObject({
      supporting_document: document,
      status: "initiated",
      status_message: null,
    });
    const served = await fixture.download(offramp);
    expect(served.content.equals(PDF)).toBe(true);
    expect(served.headers.get("content-disposition")).toMatch(/^attachment;/);
    const [line, ...more] = await fixture.audit(offramp);
    expect(line).toMatchObject({ actor: "worker", action: "document.attach", hash: sha256(PDF) });
    expect(more).toEqual([]);
  });

  it("is judged by its first bytes, however small it is", async () => {
    const photo = await fixture.addOfframp({ submitted_url: `${receiver.url}/photo` });
    const tiny = await fixture.addOfframp({ submitted_url: `${receiver.url}/tiny` });
    expect((await waitForCopy(photo)).headers.get("content-type")).toBe("image/jpeg");
    expect((await waitForCopy(tiny)).content.toString()).toBe("%PDF-");
  });

  it.each([
    ["/page", "leads to a web page; send the URL of the file itself."],
    ["/note.pdf", "is not a PDF, JPG or PNG file."],
    ["/empty.pdf", "is not a PDF, JPG or PNG file."],
    ["/larger.pdf", "is larger than 5 MB."],
  ])("is rejected at once for %s, with the reason", async (path, reason) => {
    const offramp = await fixture.addOfframp({ submitted_url: `${receiver.url}${path}` });
    const { status, status_message } = await waitForRejection(offramp);
    expect(status).toBe("initiated");
    expect(status_message).toMatch(/^The supporting document could not be used: /);
    expect(status_message.endsWith(reason), status_message).toBe(true);
    expect(receiver.tries[path]).toBe(1);
    expect(await fixture.listFiles(offramp)).toEqual([]);
  });

  it("is fetched from the URL it redirects to", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: `${receiver.url}/moved.pdf` });
    expect((await waitForCopy(offramp)).content.equals(PDF)).toBe(true);
  });

  it("may have 5 242 880 bytes", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: `${receiver.url}/largest.pdf` });
    expect((await waitForCopy(offramp)).content.equals(LARGEST)).toBe(true);
  });

  it.each(["10.1.2.3", "0x0a010203", "[::ffff:10.1.2.3]", "169.254.169.254", "[fd00::1]:80"])(
    "is 422 at creation when its host is the private address %s",
    async (host) => {
      const answer = await fixture.tryOfframp({ submitted_url: `http://${host}/invoice.pdf` });
      expect(answer.status, answer.text).toBe(422);
      expect(answer.body.errors).toMatchObject([{ field: URL_FIELD, code: "record_invalid" }]);
      expect(answer.body.errors[0].message).toContain("is not a public address");
    },
  );

  it("is 422 at creation when its port is blocked", async () => {
    const answer = await fixture.tryOfframp({ submitted_url: "https://files.example:8443/a.pdf" });
    expect(answer.body.errors).toMatchObject([{ field: URL_FIELD, code: "record_invalid" }]);
    expect(answer.body.errors[0].message).toContain("port 8443");
  });

  it("is not fetched from a private address that its URL redirects to", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: `${receiver.url}/inside.pdf` });
    expect((await waitForRejection(offramp)).status_message).toMatch(/its URL is not public/);
  });

  it.each<[where: string, environment: Record<string, string>]>([
    ["listens elsewhere", { HOST: "0.0.0.0" }],
    ["has a public URL", { SLIPROAD_PUBLIC_URL: "https://ramp.example" }],
    ["stands behind a proxy", { SLIPROAD_TRUSTED_PROXIES: "10.0.0.1" }],
  ])("is refused on loopback once the service %s", async (_, environment) => {
    const open = await startTestServer({ environment });
    try {
      const other = await openDocumentFixture(open);
      for (const url of [receiver.url, "http://localhost:80", "http://a.localhost:80"]) {
        const answer = await other.tryOfframp({ submitted_url: `${url}/never-asked.pdf` });
        expect(answer.body.errors).toMatchObject([{ field: URL_FIELD, code: "record_invalid" }]);
      }
    } finally {
      await open.close();
    }
  });

  it("is a sample for hosts under .test, without network access", async () => {
    const offramp = await fixture.addOfframp({
      submitted_url: "https://Files.TEST:8443/invoice.pdf",
    });
    expect((await waitForCopy(offramp)).content.equals(SAMPLE_PDF)).toBe(true);
  });

  it("is tried three times over ten minutes, then rejected", async () => {
    const busy = await fixture.addOfframp({ submitted_url: `${receiver.url}/busy.pdf` });
    // Nothing listens on port 1.
    const dead = await fixture.addOfframp({ submitted_url: "http://127.0.0.1:1/invoice.pdf" });
    await waitFor(() => receiver.tries["/busy.pdf"] === 1);
    await fixture.advance(2);
    expect(receiver.tries["/busy.pdf"]).toBe(1);
    await fixture.advance(7);
    expect(receiver.tries["/busy.pdf"]).toBe(2);
    expect((await fixture.show(busy)).supporting_document.status).toBe("not_checked");
    expect((await fixture.show(dead)).supporting_document.status).toBe("not_checked");
    await fixture.advance(2);
    expect(receiver.tries["/busy.pdf"]).toBe(3);
    expect((await waitForRejection(busy)).status_message).toMatch(/answered with status 503\.$/);
    expect((await waitForRejection(dead)).status_message).toMatch(/could not be reached\.$/);
    await fixture.advance(30);
    expect(receiver.tries["/busy.pdf"]).toBe(3);
  });

  it("is kept when a later attempt succeeds", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: `${receiver.url}/late.pdf` });
    await waitFor(() => receiver.tries["/late.pdf"] === 1);
    serveLate = (answer) => answer.end(PDF);
    await fixture.advance(4);
    expect((await fixture.download(offramp)).content.equals(PDF)).toBe(true);
    expect((await fixture.show(offramp)).supporting_document.status).toBe("not_checked");
  });

  it("is replaced by an upload received during the fetch", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: `${receiver.url}/held.pdf` });
    await waitFor(() => receiver.tries["/held.pdf"] === 1);
    expect((await fixture.upload(offramp, PNG)).status).toBe(200);
    answerHeld();
    await fixture.advance(0);
    expect((await fixture.download(offramp)).content.equals(PNG)).toBe(true);
    expect(await fixture.listFiles(offramp)).toHaveLength(1);
    expect(await fixture.audit(offramp)).toHaveLength(1);
  });

  it("is dropped when the payout began during the fetch", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: `${receiver.url}/held-too.pdf` });
    await waitFor(() => receiver.tries["/held-too.pdf"] === 1);
    await fixture.beginPayout(offramp);
    answerHeld();
    await fixture.advance(0);
    expect(await fixture.listFiles(offramp)).toEqual([]);
    expect(await fixture.show(offramp)).toMatchObject({
      status: "sending_fiat",
      supporting_document: { status: "not_checked" },
    });
  });

  it("can be uploaded after its URL failed", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: `${receiver.url}/page` });
    await waitForRejection(offramp);
    expect((await fixture.upload(offramp, PDF)).status).toBe(200);
    expect(await fixture.show(offramp)).toMatchObject({
      status_message: null,
      supporting_document: { status: "not_checked" },
    });
  });

  it("leaves records in which verify finds no fault", async () => {
    await fixture.advance(2);
    expect(await fixture.verify()).toMatchObject({ fault: null });
  });
});

// biome-ignore lint/suspicious/noExplicitAny: an offramp as the server showed it.
function isRejected(shown: any): boolean {
  return shown.supporting_document.status === "rejected";
}

function waitForRejection(offramp: TestOfframp) {
  return fixture.waitUntil(offramp, isRejected);
}

function waitForCopy(offramp: TestOfframp) {
  return waitFor(async () => {
    const served = await fixture.download(offramp);
    return served.status === 200 && served;
  });
}
