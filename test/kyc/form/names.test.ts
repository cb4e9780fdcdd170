import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isSameName } from "../../../src/kyc/form/same-name.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { addUser, openLink, PageVisitor, png } from "../kyc-fixture.ts";
import { waitForStatus } from "../review/review-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

describe("two spellings", () => {
  it.each([
    ["Łukasz", "Lukasz"],
    ["Søren", "Soren"],
    ["Işık", "Isik"],
    ["IŞIK", "ışık"],
    ["Strauß", "STRAUSS"],
    ["Müller", "Mueller"],
    ["Müller", "Muller"],
    ["Mueller", "Muller"],
    ["O'Brien", "OBrien"],
    ["O’Brien", "O'Brien"],
    ["Jean-Pierre", "Jeanpierre"],
    ["Jean-Pierre", "Jean Pierre"],
    ["Jean–Pierre", "Jean"],
    ["de Souza", "Souza"],
    ["Ravi A/L Kumar", "Ravi Kumar"],
    ["राम", "राम"],
    ["Ғалия Ёлкина", "Ғалия Елкина"],
    ["De", "DE"],
  ])("%s and %s are the same name", (one, other) => {
    expect(isSameName(one, other)).toBe(true);
    expect(isSameName(other, one)).toBe(true);
  });

  it.each([
    ["राम", "रमा"],
    ["de Souza", "de"],
    ["van der Berg", "van der"],
    ["Smith", "S"],
    ["Marisol", "Bertrand"],
    ["Ana", ""],
  ])("%s and %s are different names", (one, other) => {
    expect(isSameName(one, other)).toBe(false);
    expect(isSameName(other, one)).toBe(false);
  });
});

describe("the page accepts", () => {
  it.each([
    "Ravi A/L Kumar",
    "Siti A/P Raman",
    "Arjun s/o Dev",
    "می\u200cنا",
    "क्\u200dष",
    "ジャン・ピエール",
    "D’Arcy",
    "Oʼzbek",
    "Anne–Marie",
    "’t Hooft",
    "St. John",
  ])("%s", async (first_name) => {
    const page = new PageVisitor(server);
    await page.open(await openLink(server, await addUser(server)));
    const saved = await page.save({ first_name });
    expect(saved.body.kyc?.identity.first_name.value).toBe(first_name);
  });

  it.each(["R2D2", "<b>Ana", "aaa", "--", "a\u202eb"])("not %s", async (first_name) => {
    const page = new PageVisitor(server);
    await page.open(await openLink(server, await addUser(server)));
    expect((await page.save({ first_name })).status).toBe(422);
  });

  it("every name as the account sent it, typed again or unchanged", async () => {
    const names = { first_name: "X Æ A-12", last_name: "Inventada (II)" };
    const user_id = await addUser(server, names);
    const page = new PageVisitor(server);
    await page.open(await openLink(server, user_id));
    await page.fill({ first_name: names.first_name });
    await page.upload("selfie", png());
    expect((await page.submit()).status).toBe(200);
    await waitForStatus(server, user_id, "awaiting_manual_review");
  });
});
