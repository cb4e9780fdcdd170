import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { addUser, openLink, PageVisitor, png, statusOf } from "../kyc-fixture.ts";
import { addWaiting, decide, signInAs, waitForStatus } from "../review/review-fixture.ts";

const KNOWN = { first_name: "Xaviera", last_name: "Quetzalcoa", city: "Obscuria" };
const BORN = "14/07/1979";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function visit(token: string): Promise<PageVisitor> {
  const page = new PageVisitor(server);
  await page.open(token);
  return page;
}

describe("a birth date", () => {
  it("typed on the page unmasks nothing after it was submitted, in any browser", async () => {
    const user_id = await addUser(server, { ...KNOWN, phone: "+351219998877" });
    const token = await openLink(server, user_id);
    const person = await visit(token);
    const hidden = { address_line1: "77 Hidden Lane", source_of_funds: "a lottery" };
    expect((await person.save(hidden)).status).toBe(200);
    const thief = await visit(token);
    const own = { document_type: "passport", date_of_birth: "01/01/1990", country: "PT" };
    await thief.save({ ...own, postcode: "1100-148", nationality: "PT" });
    await thief.upload("document_front", png());
    await thief.upload("selfie", png());
    expect((await thief.submit()).status).toBe(200);
    for (const page of [thief, await visit(token), person]) {
      const refused = await page.confirm("01/01/1990");
      expect(refused.body.error_code).toBe("invalid_transition");
    }
    await waitForStatus(server, user_id, "awaiting_manual_review");
    const later = await visit(token);
    await later.confirm("01/01/1990");
    await later.send("GET", "/kyc/session");
    const seen = [...thief.seen, ...later.seen].join("\n");
    expect(seen).toContain("can_confirm");
    const planted = ["Xaviera", "Quetzal", "Obscuria", "9998877", "Hidden", "lottery"];
    expect(planted.filter((word) => seen.includes(word))).toEqual([]);
  });

  it("typed on the page unmasks nothing under the next link either", async () => {
    const { user_id, path } = await addWaiting(server, server, KNOWN);
    const { visitor } = await signInAs(server, server.account_id, "admin");
    await decide(visitor, path, "ask_again", "Once more, please.");
    const thief = await visit(await openLink(server, user_id));
    expect((await thief.confirm("21/04/1988")).status).toBe(422);
    expect((await thief.send("GET", "/kyc/session")).body.kyc.can_confirm).toBe(false);
    const planted = ["Xaviera", "Obscuria", "Lisbon", "Invented Street", "1988"];
    expect(planted.filter((word) => thief.seen.join().includes(word))).toEqual([]);
  });

  it("sent by the account after the link was created unmasks nothing", async () => {
    const user_id = await addUser(server, KNOWN);
    const page = await visit(await openLink(server, user_id));
    await server.call("PATCH", `/users/${user_id}`, { user: { date_of_birth: BORN } });
    expect((await page.confirm(BORN)).status).toBe(422);
  });
});

describe("data typed in one browser", () => {
  it("is masked in every other with the same link, also if the birth date was confirmed there", async () => {
    const user_id = await addUser(server, { ...KNOWN, date_of_birth: BORN });
    const token = await openLink(server, user_id);
    const person = await visit(token);
    await person.save({ city: "Obscuria Nova", phone: "+351 219 998 877" });
    await person.upload("selfie", png());
    const other = await visit(token);
    const shown = (await other.confirm(BORN)).body.kyc;
    expect(shown.identity.last_name).toMatchObject({ value: "Quetzalcoa", is_masked: false });
    expect(shown.identity.city).toMatchObject({ value: "O•••", is_masked: true });
    expect(shown.identity.phone).toMatchObject({ value: "•••", is_masked: true });
    expect(shown.files.selfie.uploaded.can_preview).toBe(false);
    expect((await other.send("GET", "/kyc/session/files/selfie")).status).toBe(404);
    const own = (await person.send("GET", "/kyc/session")).body.kyc;
    expect(own.identity.city).toMatchObject({ value: "Obscuria Nova", is_masked: false });
  });

  it("is not shown in a confirmed browser either, after the approval copied it to the record", async () => {
    const user_id = await addUser(server, { ...KNOWN, date_of_birth: BORN });
    const token = await openLink(server, user_id);
    const other = await visit(token);
    await other.confirm(BORN);
    const person = await visit(token);
    await person.fill({ date_of_birth: BORN, city: "Obscuria Nova" });
    expect((await person.submit()).status).toBe(200);
    await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status: "approved" } });
    await other.send("GET", "/kyc/session");
    expect(other.seen.join()).not.toContain("Obscuria Nova");
  });
});

describe("a masked country", () => {
  it("cannot be guessed from the postcodes and states it accepts", async () => {
    const user_id = await addUser(server, { ...KNOWN, country: "PT", postcode: "1100-148" });
    const thief = await visit(await openLink(server, user_id));
    for (const guess of [{ postcode: "1100-148" }, { postcode: "SW1A 1AA" }, { state: "CA" }]) {
      const refused = await thief.save(guess);
      expect(refused.body.errors).toMatchObject([{ field: "identity.country" }]);
    }
    expect((await thief.save({ country: "PT", postcode: "1100-149" })).status).toBe(200);
    expect((await thief.save({ postcode: "1100-150" })).status).toBe(200);
    expect((await thief.save({ postcode: "1" })).status).toBe(422);
  });
});

describe("two links in one browser", () => {
  it("stay separate: each request is stored under the link of its page", async () => {
    const alice = await addUser(server, { first_name: "Alice", last_name: "Inventada" });
    const dora = await addUser(server, { first_name: "Dora", last_name: "Inventada" });
    const one = await visit(await openLink(server, alice));
    const two = await visit(await openLink(server, dora));
    // One cookie jar for both tabs.
    one.cookie = `${one.cookie}; ${two.cookie}`;
    two.cookie = one.cookie;
    await one.fill({ city: "Alicante" });
    await two.save({ city: "Dortmund" });
    expect((await one.send("GET", "/kyc/session")).body.kyc.identity.city.value).toBe("Alicante");
    expect((await two.send("GET", "/kyc/session")).body.kyc.identity.city.value).toBe("Dortmund");
    expect((await one.submit()).status).toBe(200);
    expect(await statusOf(server, dora)).toBe("initiated");
    await server.call("PATCH", `/sandbox/users/${alice}/kycs`, { kyc: { status: "approved" } });
    const shown = await server.call("GET", `/users/${alice}`);
    expect(shown.body.user).toMatchObject({ first_name: "Alice", city: "Alicante" });
  });

  it("refuse a request without a link, or with a link whose cookie is missing", async () => {
    const one = await visit(await openLink(server, await addUser(server)));
    const two = await visit(await openLink(server, await addUser(server)));
    const { link_id } = one;
    one.link_id = "";
    expect((await one.save({ city: "Porto" })).status).toBe(401);
    one.link_id = two.link_id;
    expect((await one.save({ city: "Porto" })).status).toBe(401);
    // The correct value under the wrong name.
    one.cookie = one.cookie.replace(link_id, two.link_id);
    expect((await one.save({ city: "Porto" })).status).toBe(401);
  });

  it("a link can be opened in at most sixty browsers", async () => {
    const token = await openLink(server, await addUser(server));
    const answers = [];
    for (let opened = 0; opened < 61; opened += 1) {
      answers.push((await new PageVisitor(server).open(token)).status);
    }
    expect(answers.filter((status) => status === 200)).toHaveLength(60);
    expect(answers.at(-1)).toBe(429);
  });
});
