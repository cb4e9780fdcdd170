import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addApprovedUser } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { findFault, good } from "../story.ts";
import {
  type DocumentFixture,
  openDocumentFixture,
  PDF,
  PNG,
  sha256,
  type TestOfframp,
} from "./document-fixture.ts";

const DAY_MINUTES = 24 * 60;

let server: TestServer;
let fixture: DocumentFixture;
beforeAll(async () => {
  server = await startTestServer();
  fixture = await openDocumentFixture(server);
});
afterAll(() => server.close());

type Uploaded = { document: { id: string; submitted_url: string } };

const uploadFirst = async (user_id: string, key = server.key) => {
  const form = new FormData();
  form.set("file", new Blob([PDF as never]), "invoice.pdf");
  const answer = await fetch(`${server.url}/users/${user_id}/documents`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  return { status: answer.status, body: (await answer.json()) as Uploaded };
};
const download = (url: string, key = server.key) =>
  fetch(`${server.url}${new URL(url).pathname}`, { headers: { authorization: `Bearer ${key}` } });
const NOT_FOUND = {
  status: 404,
  errors: [{ field: "offramps[0].supporting_document_attributes.submitted_url" }],
};

async function createWith(offramp: TestOfframp, submitted_url: string) {
  const { payment_detail_id } = await fixture.show(offramp);
  const path = `/users/${offramp.user_id}/quotes/${offramp.quote_id}/offramps`;
  const terms = { payment_detail_id, destination_amount: 10, destination_currency: "eur" };
  const item = { ...terms, supporting_document_attributes: { submitted_url } };
  return server.call("POST", path, { offramps: [item] });
}

const userOf = async () => (await fixture.addOfframp()).user_id;

describe("a document uploaded before its offramps", () => {
  it("is used at creation without a fetch, by every offramp that names it, and opens their gate", async () => {
    const user_id = await userOf();
    const { status, body } = await uploadFirst(user_id);
    expect(status).toBe(200);
    expect(Object.keys(body.document)).toEqual(["id", "submitted_url", "created_at", "updated_at"]);
    const { submitted_url } = body.document;
    const offramps = [
      await fixture.addOfframp({ account: "usd_swift", submitted_url }),
      await fixture.addOfframp({ amount: 20_000, submitted_url }),
    ];
    for (const offramp of offramps) {
      expect((await fixture.show(offramp)).supporting_document).toEqual({
        submitted_url,
        status: "not_checked",
      });
      expect((await fixture.download(offramp)).content.equals(PDF)).toBe(true);
      expect(await fixture.audit(offramp)).toMatchObject([
        { action: "document.attach", hash: sha256(PDF) },
      ]);
      await fixture.execute(offramp);
      await fixture.waitForStatus(offramp, "fiat_sent");
    }
    const served = await download(submitted_url);
    expect(Buffer.from(await served.arrayBuffer()).equals(PDF)).toBe(true);
    expect(served.headers.get("content-disposition")).toMatch(/^attachment;/);
  });

  it("belongs to its user: 404 for another user's, another account's and an unknown one", async () => {
    const other_user = await addApprovedUser(server);
    const { key } = await server.addAccount("Other documents");
    expect((await uploadFirst(other_user, key)).status).toBe(404);
    const { submitted_url } = (await uploadFirst(other_user)).body.document;
    expect((await download(submitted_url, key)).status).toBe(404);
    const offramp = await fixture.addOfframp();
    const foreign = submitted_url.replace(other_user, offramp.user_id);
    expect((await createWith(offramp, foreign)).body).toMatchObject(NOT_FOUND);
  });

  it("is recognized in every spelling of its URL", async () => {
    const offramp = await fixture.addOfframp();
    const { document } = (await uploadFirst(offramp.user_id)).body;
    const { origin, pathname } = new URL(document.submitted_url);
    const [, users = "", ...rest] = pathname.split("/");
    for (const url of [
      `${origin.toUpperCase()}${pathname}`,
      `${origin}${pathname.toUpperCase()}`,
      `${origin}/%75%73%65%72%73/${rest.join("/")}`,
      `${origin}/x/../${users}/%2e/${rest.join("/")}`,
      `${origin}${pathname}?a=b#c`,
      `${origin.replace("127.0.0.1", "127.1")}${pathname}`,
      `${origin.replace("127.0.0.1", "0x7f000001.")}${pathname}`,
    ]) {
      const { status, body } = await createWith(offramp, url);
      expect([url, status]).toEqual([url, 200]);
      const [{ id }] = body.offramps;
      expect((await fixture.download({ ...offramp, id })).content.equals(PDF)).toBe(true);
    }
    const odd = origin.replace("http://", "http:\\\\") + pathname;
    expect((await createWith(offramp, odd)).status).toBe(422);
  });

  it("cannot be another page or file of this service", async () => {
    const offramp = await fixture.addOfframp();
    const { document } = (await uploadFirst(await addApprovedUser(server))).body;
    const { origin } = new URL(document.submitted_url);
    const paths = ["", "/healthz", `/offramps/${offramp.id}/supporting-documents`, "/%zz"];
    for (const url of [document.submitted_url, ...paths.map((path) => `${origin}${path}`)]) {
      expect((await createWith(offramp, url)).body).toMatchObject(NOT_FOUND);
    }
  });

  it("is deleted after seven days when no offramp refers to it, and kept while one does", async () => {
    const user_id = await userOf();
    const unused = (await uploadFirst(user_id)).body.document.submitted_url;
    const used = (await uploadFirst(user_id)).body.document.submitted_url;
    const replaced = (await uploadFirst(user_id)).body.document.submitted_url;
    const offramp = await fixture.addOfframp({ submitted_url: used });
    const other = await fixture.addOfframp({ submitted_url: replaced });
    expect((await fixture.upload(other, PNG)).status).toBe(200);
    expect((await fixture.download(other)).content.equals(PNG)).toBe(true);
    await fixture.advance(7 * DAY_MINUTES - 10);
    expect((await download(unused)).status).toBe(200);
    await fixture.advance(20);
    expect((await download(unused)).status).toBe(404);
    expect((await download(replaced)).status).toBe(404);
    expect((await download(used)).status).toBe(200);
    expect((await fixture.download(offramp)).content.equals(PDF)).toBe(true);
    expect(await findFault(server)).toBeNull();
  });

  it("is returned again for the same Idempotency-Key and file", async () => {
    const path = `/users/${await userOf()}/documents`;
    const send = async () => {
      const form = new FormData();
      form.set("file", new Blob([PNG as never]), "a.png");
      const headers = {
        authorization: `Bearer ${server.key}`,
        "idempotency-key": `first-${path}`,
      };
      return (await fetch(`${server.url}${path}`, { method: "POST", headers, body: form })).text();
    };
    const first = await send();
    expect(await send()).toBe(first);
    good(await server.call("GET", "/offramps"));
  });
});
