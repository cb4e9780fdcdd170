import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeKycToken } from "../../src/kyc/tokens.ts";
import { DAY_MS, HOUR_MS } from "../../src/platform/durations.ts";
import { useRateClock } from "../accounts/rate-clock.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addUser, LIVING, openLink, PageVisitor, png } from "./kyc-fixture.ts";

let server: TestServer;
useRateClock();
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const advance = (advance_ms: number) => server.call("POST", "/sandbox/clock", { advance_ms });
const look = (token: string) => server.call("GET", `/kyc/${token}`, undefined, { key: null });

describe("a link", () => {
  it("that does not exist is 404, as a page that needs no script and as JSON", async () => {
    const token = makeKycToken();
    const shown = await look(token);
    expect(shown.status).toBe(404);
    expect(shown.headers.get("content-type")).toContain("text/html");
    expect(shown.text).toContain("This link is not valid");
    expect(shown.text).not.toContain("<script");
    const opened = await new PageVisitor(server).open(token);
    expect(opened.body).toMatchObject({ error_code: "record_not_found", status: 404 });
  });

  it("that was replaced is 410 and says so, also if its page is still open", async () => {
    const user_id = await addUser(server);
    const token = await openLink(server, user_id);
    const page = new PageVisitor(server);
    await page.open(token);
    const newer = await openLink(server, user_id);
    expect(newer).not.toBe(token);
    const shown = await look(token);
    expect(shown.status).toBe(410);
    expect(shown.text).toContain("replaced by a newer one");
    for (const refused of [
      await page.open(token),
      await page.send("GET", "/kyc/session"),
      await page.save({ city: "Porto" }),
      await page.upload("selfie", png()),
    ]) {
      expect(refused.body).toMatchObject({ status: 410, error_code: "record_not_found" });
      expect(refused.body.message).toContain("replaced by a newer one");
    }
    expect((await new PageVisitor(server).open(newer)).status).toBe(200);
  });

  it("continues the previous link's draft, masked in browsers where it was not typed", async () => {
    const user_id = await addUser(server);
    const first = new PageVisitor(server);
    await first.open(await openLink(server, user_id));
    await first.save({ city: "Portimonde" });
    const second = new PageVisitor(server);
    const opened = await second.open(await openLink(server, user_id));
    expect(opened.body.kyc.identity.city).toEqual({
      value: "P•••",
      is_masked: true,
      is_known: true,
    });
    expect(opened.text).not.toContain("Portimonde");
  });

  it("is valid for 24 hours of business time, then is 410 and says so", async () => {
    const token = await openLink(server, await addUser(server));
    const page = new PageVisitor(server);
    await page.open(token);
    await advance(DAY_MS - HOUR_MS);
    expect((await page.send("GET", "/kyc/session")).status).toBe(200);
    await advance(HOUR_MS);
    const shown = await look(token);
    expect(shown.status).toBe(410);
    expect(shown.text).toContain("expired");
    expect((await page.send("GET", "/kyc/session")).status).toBe(410);
    expect((await page.open(token)).status).toBe(410);
  });

  it("is refused equally for an erased, another account's or an unknown user", async () => {
    const { key } = await server.addAccount("Other");
    const user_id = await addUser(server);
    for (const [id, by] of [
      [user_id, key],
      [crypto.randomUUID(), server.key],
      ["not-an-id", server.key],
    ]) {
      const refused = await server.call("POST", `/users/${id}/kycs`, undefined, { key: by! });
      expect(refused.status).toBe(404);
    }
  });

  it.each([
    ...["approved", "failed", "retry_denied", "suspended"],
    ...["pending_assessment", "prechecks_completed", "application_queued"],
    "awaiting_manual_review",
  ])("is refused for a user who is %s", async (status) => {
    const user_id = await addUser(server);
    const moved = await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, {
      kyc: { status },
    });
    expect(moved.status).toBe(200);
    const refused = await server.call("POST", `/users/${user_id}/kycs`);
    expect(refused.body).toMatchObject({ status: 422, error_code: "invalid_transition" });
  });
});

describe("Idempotency-Key", () => {
  const make = (user_id: string, key: string) =>
    server.call("POST", `/users/${user_id}/kycs`, undefined, {
      headers: { "idempotency-key": key },
    });

  it("returns the same link again, but not once another has replaced it", async () => {
    const user_id = await addUser(server);
    const first = await make(user_id, "kyc-1");
    const again = await make(user_id, "kyc-1");
    expect(again.text).toBe(first.text);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    await openLink(server, user_id);
    const anew = await make(user_id, "kyc-1");
    expect(anew.status).toBe(200);
    expect(anew.headers.get("idempotent-replayed")).toBeNull();
    expect(anew.body.kyc.url).not.toBe(first.body.kyc.url);
  });

  it("does not return an expired link again", async () => {
    const user_id = await addUser(server);
    const first = await make(user_id, "kyc-2");
    await advance(DAY_MS);
    const anew = await make(user_id, "kyc-2");
    expect(anew.headers.get("idempotent-replayed")).toBeNull();
    expect(anew.body.kyc.url).not.toBe(first.body.kyc.url);
  });
});

describe("two links requested at once", () => {
  it("leave exactly one that opens", async () => {
    const user_id = await addUser(server);
    const tokens = await Promise.all(Array.from({ length: 8 }, () => openLink(server, user_id)));
    const answers = await Promise.all(tokens.map((token) => look(token)));
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(7);
  });
});

describe("a stolen link", () => {
  const secrets = {
    first_name: "Xaviera",
    last_name: "Quetzalcoa",
    date_of_birth: "14/07/1979",
    address_line1: "77 Hidden Lane",
    city: "Obscuria",
    phone: "+351219998877",
    source_of_funds: "a lottery in Obscuria",
  };

  it("shows nothing in clear, neither known data nor what the person typed or uploaded", async () => {
    const user_id = await addUser(server, { ...secrets, ...{ country: "PT", nationality: "PT" } });
    const token = await openLink(server, user_id);
    const person = new PageVisitor(server);
    await person.open(token);
    expect((await person.confirm(secrets.date_of_birth)).body.kyc.identity.city.value).toBe(
      "Obscuria",
    );
    await person.save({ ...LIVING, postcode: "8765-432", city: "Obscuria Nova" });
    await person.upload("document_front", png("document of Quetzalcoa"));

    const thief = new PageVisitor(server);
    await thief.send("GET", `/kyc/${token}`);
    await thief.open(token);
    await thief.send("GET", "/kyc/session");
    await thief.confirm("01/01/1990");
    await thief.save({ document_type: "passport" });
    await thief.send("GET", "/kyc/session/files/document_front");
    const refused = await thief.save({ postcode: "1" });
    expect(refused.body.message).not.toMatch(/Portugal|PT|\d{4}-\d{3}/);
    await thief.submit();
    const planted = ["8765-432", "1979", "14/07", "9998877", "Hidden", "Quetzal", "Xaviera"];
    planted.push("Obscuria", "lottery");
    const seen = thief.seen.join("\n");
    expect(planted.filter((word) => seen.includes(word))).toEqual([]);
  });

  it("allows five wrong birth dates in all, from any browser", async () => {
    const user_id = await addUser(server, secrets);
    const token = await openLink(server, user_id);
    for (let tried = 1; tried <= 5; tried += 1) {
      const thief = new PageVisitor(server);
      await thief.open(token);
      const refused = await thief.confirm(`0${tried}/01/1990`);
      expect(refused.body).toMatchObject({ status: 422, error_code: "record_invalid" });
      const left = 5 - tried;
      expect(refused.body.message).toContain(left > 0 ? `Attempts left: ${left}.` : "stays hidden");
    }
    const person = new PageVisitor(server);
    expect((await person.open(token)).body.kyc.can_confirm).toBe(false);
    expect((await person.confirm(secrets.date_of_birth)).status).toBe(422);
    expect((await person.send("GET", "/kyc/session")).body.kyc.is_confirmed).toBe(false);
    // Masked values can still be replaced.
    expect((await person.save({ city: "Porto" })).body.kyc.identity.city.value).toBe("Porto");
  });

  it("counts wrong birth dates that are sent at once", async () => {
    const token = await openLink(server, await addUser(server, secrets));
    const thief = new PageVisitor(server);
    await thief.open(token);
    const guesses = Array.from({ length: 20 }, (_, day) => `${10 + day}/01/1990`);
    const answers = await Promise.all(guesses.map((guess) => thief.confirm(guess)));
    const counted = answers.filter(({ body }) => body.message.includes("Attempts left"));
    expect(counted).toHaveLength(4);
    expect((await thief.confirm(secrets.date_of_birth)).status).toBe(422);
  });

  it("cannot be unmasked by a birth date that was typed on the page itself", async () => {
    const token = await openLink(server, await addUser(server, { city: "Obscuria" }));
    const thief = new PageVisitor(server);
    await thief.open(token);
    await thief.save({ date_of_birth: "01/01/1990" });
    expect((await thief.confirm("01/01/1990")).status).toBe(422);
    expect(thief.seen.join()).not.toContain("Obscuria");
  });
});

describe("trying tokens", () => {
  it("is stopped after ten wrong ones, by link, by session and by cookie alike", async () => {
    const token = await openLink(server, await addUser(server));
    const page = new PageVisitor(server);
    await page.open(token);
    for (let tried = 0; tried < 4; tried += 1) {
      expect((await look(makeKycToken())).status).toBe(404);
      expect((await new PageVisitor(server).open(makeKycToken())).status).toBe(404);
    }
    const forger = new PageVisitor(server);
    for (let tried = 0; tried < 2; tried += 1) {
      forger.link_id = page.link_id;
      forger.cookie = `sliproad_kyc_${page.link_id}=${makeKycToken()}`;
      expect((await forger.send("GET", "/kyc/session")).status).toBe(401);
    }
    for (const refused of [
      await look(makeKycToken()),
      await look(token),
      await forger.open(token),
      await page.send("GET", "/kyc/session"),
    ]) {
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  it("does not affect holders of a valid token", async () => {
    const token = await openLink(server, await addUser(server));
    for (let opened = 0; opened < 30; opened += 1) {
      expect((await look(token)).status).not.toBe(429);
    }
  });
});
