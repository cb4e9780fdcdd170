import { afterAll, beforeAll, expect, it } from "vitest";
import { INFECTED, startFakeClamd } from "../harness/fake-clamd.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  type DocumentFixture,
  openDocumentFixture,
  PDF,
} from "../offramps/documents/document-fixture.ts";

let clamd: Awaited<ReturnType<typeof startFakeClamd>>;
let server: TestServer;
let fixture: DocumentFixture;
beforeAll(async () => {
  clamd = await startFakeClamd();
  server = await startTestServer({ environment: { SLIPROAD_CLAMD: clamd.address } });
  fixture = await openDocumentFixture(server);
});
afterAll(() => server.close());

it("stores a clean file once clamd has read all of it", async () => {
  const offramp = await fixture.addOfframp({});
  const large = Buffer.concat([PDF, Buffer.alloc(1024 * 1024, 7)]);
  const before = clamd.scanned();
  expect((await fixture.upload(offramp, large)).status).toBe(200);
  expect(clamd.scanned()).toBe(before + 1);
  const { content } = await fixture.download(offramp);
  expect(Buffer.compare(content, large)).toBe(0);
});

it("422 file_infected for a file with malware, which is not stored", async () => {
  const offramp = await fixture.addOfframp({});
  const answer = await fixture.upload(offramp, Buffer.concat([PDF, Buffer.from(INFECTED)]));
  expect([answer.status, answer.body.error_code]).toEqual([422, "file_infected"]);
  expect((await fixture.download(offramp)).status).toBe(404);
});

it("503 when clamd calls a file clean before it was sent: the rest was not checked", async () => {
  const offramp = await fixture.addOfframp({});
  clamd.answerAtOnce();
  const large = Buffer.concat([PDF, Buffer.alloc(1024 * 1024, 7), Buffer.from(INFECTED)]);
  const answer = await fixture.upload(offramp, large);
  expect([answer.status, answer.body.error_code]).toEqual([503, "unavailable"]);
  expect((await fixture.download(offramp)).status).toBe(404);
});

it("503 while clamd does not answer: no file is stored unchecked", async () => {
  const offramp = await fixture.addOfframp({});
  await clamd.stop();
  const answer = await fixture.upload(offramp, PDF);
  expect([answer.status, answer.body.error_code]).toEqual([503, "unavailable"]);
  expect(answer.headers.get("retry-after")).not.toBeNull();
  expect((await fixture.download(offramp)).status).toBe(404);
});
