import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findMissing } from "../../../src/kyc/check-identity.ts";
import { DAY_MS } from "../../../src/platform/durations.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import {
  addUser,
  jpeg,
  LIVING,
  openLink,
  PageVisitor,
  pdf,
  png,
  pngOf,
  statusOf,
} from "../kyc-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function begin(fields: Record<string, unknown> = {}) {
  const user_id = await addUser(server, fields);
  const token = await openLink(server, user_id);
  const page = new PageVisitor(server);
  const opened = await page.open(token);
  return { user_id, token, page, opened };
}

describe("the link", () => {
  it("has the public URL and 256 random bits, and the response contains nothing else", async () => {
    const user_id = await addUser(server);
    const made = await server.call("POST", `/users/${user_id}/kycs`);
    expect(made.status).toBe(200);
    expect(Object.keys(made.body)).toEqual(["kyc"]);
    expect(Object.keys(made.body.kyc).sort()).toEqual(["url", "user_id"]);
    expect(made.body.kyc.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/kyc\/[\w-]{43}$/);
  });

  it("changes nothing when it is previewed or opened", async () => {
    const { user_id, token, opened } = await begin();
    const looked = await server.call("GET", `/kyc/${token}`, undefined, { key: null });
    expect(looked.status).toBe(200);
    expect(opened.status).toBe(200);
    expect(await statusOf(server, user_id)).toBe("not_started");
  });

  it("has headers that protect its token", async () => {
    const { token } = await begin();
    const { headers } = await server.call("GET", `/kyc/${token}`, undefined, { key: null });
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("permissions-policy")).toBe("camera=(self)");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'; script-src");
    expect(headers.get("content-security-policy")).not.toContain("unsafe");
  });
});

describe("the session of the page", () => {
  it("requires the cookie, and the header that no other site can send", async () => {
    const { token, page } = await begin();
    expect((await new PageVisitor(server).send("GET", "/kyc/session")).status).toBe(401);
    const headers = { "x-kyc-page": "" };
    const forged = await page.send("POST", `/kyc/${token}/session`, undefined, { headers });
    expect(forged.status).toBe(403);
  });

  it("sets a cookie for this page only that scripts cannot read", async () => {
    const { opened } = await begin();
    const [cookie] = opened.headers.getSetCookie();
    expect(cookie).toMatch(/; Path=\/kyc;/);
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
  });

  it("returns what is asked for, from whom, and by whom", async () => {
    const { opened } = await begin();
    expect(opened.body.kyc).toMatchObject({
      status: "not_started",
      moderation_comment: null,
      beneficiary_type: "individual",
      account_name: "demo",
      mode: "sandbox",
      is_confirmed: false,
      can_confirm: false,
      can_edit: true,
      identity: { first_name: { value: "M•••", is_masked: true, is_known: true } },
      files: { selfie: { required: true, accepts: ["image/jpeg", "image/png"], uploaded: null } },
    });
    const us = opened.body.kyc.countries.find((one: { code: string }) => one.code === "US");
    expect(us.states).toContainEqual(["CA", "California"]);
  });

  it("starts the verification with the first saved step", async () => {
    const { user_id, page } = await begin();
    const saved = await page.save({ city: "Porto" });
    expect(saved.body.kyc.status).toBe("initiated");
    expect(saved.body.kyc.identity.city).toEqual({
      value: "Porto",
      is_masked: false,
      is_known: true,
    });
    expect(await statusOf(server, user_id)).toBe("initiated");
  });

  it("saves nothing if one value is wrong, and names every wrong one", async () => {
    const { user_id, page } = await begin();
    const refused = await page.save({ city: "Porto", country: "PT", postcode: "1", phone: "12" });
    expect(refused.status).toBe(422);
    const fields = refused.body.errors.map((error: { field: string }) => error.field);
    expect(fields.sort()).toEqual(["identity.phone", "identity.postcode"]);
    expect(await statusOf(server, user_id)).toBe("not_started");
    const unknown = await page.save({ iban: "x" });
    expect(unknown.body.error_code).toBe("parameter_unknown");
  });

  it("continues after a reload, in clear in the browser where it was typed", async () => {
    const { token, page } = await begin();
    await page.save({ city: "Porto" });
    await page.upload("selfie", png());
    const again = await page.open(token);
    expect(again.body.kyc.identity.city.value).toBe("Porto");
    expect(again.body.kyc.files.selfie.uploaded).toMatchObject({
      type: "image/png",
      can_preview: true,
    });
  });
});

describe("files", () => {
  it("are shown in the browser that uploaded them, and in no other with the link", async () => {
    const { token, page } = await begin();
    const sent = await page.upload("document_front", jpeg());
    expect(sent.body.kyc.files.document_front.uploaded).toMatchObject({
      type: "image/jpeg",
      size: jpeg().length,
    });
    const address = `${server.url}/kyc/session/files/document_front?link=${page.link_id}`;
    const shown = await fetch(address, {
      headers: { cookie: page.cookie },
    });
    expect(Buffer.from(await shown.arrayBuffer())).toEqual(jpeg());
    expect(shown.headers.get("content-security-policy")).toContain("sandbox");
    const other = new PageVisitor(server);
    const opened = await other.open(token);
    expect(opened.body.kyc.files.document_front.uploaded.can_preview).toBe(false);
    expect((await other.send("GET", "/kyc/session/files/document_front")).status).toBe(404);
  });

  it.each([
    ["a text", Buffer.from("hello, I am no picture"), 422, "unsupported_file_type"],
    ["nothing", Buffer.alloc(0), 400, "parameter_missing"],
    ["a picture that was cut", png().subarray(0, -40), 422, "record_invalid"],
    ["a JPG that was cut", jpeg().subarray(0, -400), 422, "record_invalid"],
    ["a PDF that was cut", pdf().subarray(0, 20), 422, "record_invalid"],
    ["a stamp", png("", 40, 40), 422, "record_invalid"],
    ["a PNG whose pixels do not unpack", pngOf(Buffer.from("no pixels")), 422, "record_invalid"],
    ["a PNG with too few pixels", pngOf(deflateSync(Buffer.alloc(99))), 422, "record_invalid"],
    ["a JPG with too little in it", jpeg(3000, 2000), 422, "record_invalid"],
    ["a PDF without anything in it", emptyPdf(), 422, "record_invalid"],
    ["a PDF with a password", lockedPdf(), 422, "record_invalid"],
  ])("refuses %s", async (_what, bytes, status, code) => {
    const { user_id, page } = await begin();
    const refused = await page.upload("document_front", bytes);
    expect(refused.status).toBe(status);
    expect(refused.body.error_code).toBe(code);
    expect(await statusOf(server, user_id)).toBe("not_started");
    const state = await page.send("GET", "/kyc/session");
    expect(state.body.kyc.files.document_front.uploaded).toBeNull();
  });

  it("refuses a PDF as a selfie, a slot that is not asked for, and more than 10 MB", async () => {
    const { page } = await begin();
    expect((await page.upload("selfie", pdf())).body.error_code).toBe("unsupported_file_type");
    expect((await page.upload("registration_document", pdf())).status).toBe(404);
    const large = Buffer.concat([png(), Buffer.alloc(10 * 1024 * 1024)]);
    const refused = await page.upload("document_front", large);
    expect([refused.status, refused.body.error_code]).toEqual([413, "file_too_large"]);
    expect(refused.body.message).toContain("10 MB");
  });

  it("are limited in number: 40 in ten minutes for one link", async () => {
    const { page } = await begin();
    const answers = [];
    for (let sent = 0; sent < 41; sent += 1) {
      answers.push((await page.upload("selfie", Buffer.from("no picture"))).status);
    }
    expect(answers.filter((status) => status === 422)).toHaveLength(40);
    expect(answers.at(-1)).toBe(429);
  });

  it("can be replaced and removed", async () => {
    const { page } = await begin();
    await page.upload("document_front", jpeg());
    const replaced = await page.upload("document_front", png());
    expect(replaced.body.kyc.files.document_front.uploaded.type).toBe("image/png");
    const removed = await page.send("DELETE", "/kyc/session/files/document_front");
    expect(removed.body.kyc.files.document_front.uploaded).toBeNull();
  });
});

describe("submission", () => {
  it("names everything that is missing, fields and files alike", async () => {
    const { page } = await begin();
    await page.save({ country: "US", document_type: "identity_card" });
    const refused = await page.submit();
    expect(refused.status).toBe(400);
    const fields = refused.body.errors.map((error: { field: string }) => error.field);
    expect(fields).toEqual(
      expect.arrayContaining([
        ...["identity.state", "identity.postcode", "identity.date_of_birth"],
        ...["files.document_front", "files.document_back", "files.selfie"],
      ]),
    );
  });

  it("refuses a country that is not served, wherever it was accepted before", async () => {
    const { page } = await begin();
    await page.fill();
    const refused = await page.save({ country: "KP" });
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      [expect.objectContaining({ field: "identity.country", code: "country_not_supported" })],
    ]);
    const { catalogue } = server.core;
    const before = { ...LIVING, country: "KP" };
    const found = findMissing(catalogue, "individual", before, {}, "2026-01-01");
    expect(found).toContainEqual(
      expect.objectContaining({ field: "identity.country", code: "country_not_supported" }),
    );
  });

  it("refuses a person under 18, to the day", async () => {
    const { page } = await begin();
    const now = server.core.clock.now();
    const born = new Date(Date.UTC(now.getUTCFullYear() - 18, now.getUTCMonth(), now.getUTCDate()));
    const day_after = new Date(born.getTime() + DAY_MS);
    await page.fill({ date_of_birth: day_after.toISOString().slice(0, 10) });
    const refused = await page.submit();
    expect(refused.body.errors).toMatchObject([{ field: "identity.date_of_birth" }]);
    await page.save({ date_of_birth: born.toISOString().slice(0, 10) });
    expect((await page.submit()).status).toBe(200);
  });

  it("changes the status and locks the form; the approval copies the data to the user", async () => {
    const { user_id, page } = await begin();
    await page.fill();
    const submitted = await page.submit();
    expect(submitted.status).toBe(200);
    expect(submitted.body.kyc).toMatchObject({ can_edit: false });
    expect((await page.save({ city: "Faro" })).body.error_code).toBe("invalid_transition");
    expect((await page.upload("selfie", png())).body.error_code).toBe("invalid_transition");
    expect((await page.submit()).body.error_code).toBe("invalid_transition");
    const link = await server.call("POST", `/users/${user_id}/kycs`);
    expect([link.status, link.body.error_code]).toEqual([422, "invalid_transition"]);
    const before = await server.call("GET", `/users/${user_id}`);
    expect(before.body.user).toMatchObject({ date_of_birth: null, city: null, country: null });
    await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status: "approved" } });
    const shown = await server.call("GET", `/users/${user_id}`);
    expect(shown.body.user).toMatchObject({
      ...LIVING,
      phone: "+351210000000",
      date_of_birth: "21/04/1988",
    });
  });
});

function emptyPdf(): Buffer {
  return Buffer.from("%PDF-1.4\nstartxref\n9\n%%EOF\n");
}

function lockedPdf(): Buffer {
  const trailer = "trailer<</Root 1 0 R/Encrypt 5 0 R>>\nstartxref\n9\n%%EOF\n";
  return Buffer.from(`%PDF-1.4\n1 0 obj\n<<>>\nendobj\n${trailer}`);
}
