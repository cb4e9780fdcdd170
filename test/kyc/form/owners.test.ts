import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Answer, startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { listOf } from "../../partners/screening/sample-lists.ts";
import { expectFine, openCompany, ownerFields, PageVisitor } from "../kyc-fixture.ts";
import { REVIEWS, setAccount, show, signInAs, waitForStatus } from "../review/review-fixture.ts";

const LISTED = { id: "listed", name: "Tesrik Varlomov", birth_date: "1954-10-07" };
const LISTED_OWNER = {
  first_name: "Tesrik",
  last_name: "Varlomov",
  date_of_birth: "07/10/1954",
  nationality: "RS",
};

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sliproad-owners-"));
  const path = join(folder, "targets.csv");
  await writeFile(path, listOf([LISTED]));
  server = await startTestServer({ environment: { SLIPROAD_SCREENING_LISTS: path } });
});
afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true });
});

const problemsOf = ({ status, body, text }: Answer) => {
  expect([400, 422], text).toContain(status);
  return Object.fromEntries(
    body.errors.map((error: { field: string; code: string }) => [error.field, error.code]),
  );
};
const matchesOf = async (user_id: string, status = "open") => {
  const path = `/screening_matches?status=${status}&user_id=${user_id}`;
  return (await expectFine(server.call("GET", path))).body.screening_matches;
};

it("that nobody owns enough is an answer, not silence", async () => {
  const { page } = await openCompany(server, { has_owners: null });
  expect(problemsOf(await page.submit())).toEqual({ "identity.has_owners": "parameter_missing" });
  await expectFine(page.save({ has_owners: "no", ...ownerFields(1) }));
  expect(problemsOf(await page.submit())).toEqual({ "identity.has_owners": "record_invalid" });
  const nothing = Object.fromEntries(Object.keys(ownerFields(1)).map((name) => [name, null]));
  await expectFine(page.save(nothing));
  await expectFine(page.submit());
});

it("asks for every part of an owner of whom one part is given", async () => {
  const { page } = await openCompany(server, { has_owners: "yes" });
  const missing = "parameter_missing";
  expect(problemsOf(await page.submit())).toEqual({
    "identity.owner_1_first_name": missing,
    "identity.owner_1_last_name": missing,
    "identity.owner_1_date_of_birth": missing,
    "identity.owner_1_nationality": missing,
    "identity.owner_1_share": missing,
  });
  await expectFine(page.save({ ...ownerFields(1), owner_3_share: "25" }));
  expect(Object.keys(problemsOf(await page.submit()))).toEqual([
    "identity.owner_3_first_name",
    "identity.owner_3_last_name",
    "identity.owner_3_date_of_birth",
    "identity.owner_3_nationality",
  ]);
});

it.each([
  ["share", ["24.99", "100.01", "25.555", "-30", "3e1", "40 %", "1000"]],
  ["date_of_birth", ["31/02/1980", "2999-01-01", "1899-12-31"]],
  ["nationality", ["XX", "Portugal"]],
  ["first_name", ["1234", "aaa"]],
])("refuses a wrong %s of an owner and names it", async (part, values) => {
  const { page } = await openCompany(server, { has_owners: "yes" });
  for (const value of values) {
    const refused = await page.save(ownerFields(4, { [part]: value }));
    expect(problemsOf(refused), value).toEqual({ [`identity.owner_4_${part}`]: "record_invalid" });
  }
});

it("refuses an answer that is neither yes nor no, and a fifth owner", async () => {
  const { page } = await openCompany(server);
  expect(problemsOf(await page.save({ has_owners: "maybe", ...ownerFields(5) }))).toMatchObject({
    "identity.has_owners": "record_invalid",
    "identity.owner_5_share": "parameter_unknown",
  });
});

it("adds the shares up, together with those saved before", async () => {
  const { page } = await openCompany(server, { has_owners: "yes" });
  await expectFine(page.save(ownerFields(1, { share: "33,34" })));
  const three = { ...ownerFields(2, { share: "33.33" }), ...ownerFields(3, { share: "33.34" }) };
  expect(problemsOf(await page.save(three))).toEqual({
    "identity.owner_3_share": "record_invalid",
  });
  const saved = await expectFine(page.save({ ...three, ...ownerFields(3, { share: "33.33" }) }));
  expect(saved.body.kyc.identity.owner_1_share.value).toBe("33.34");
  await expectFine(page.submit());
});

it("hides owners from another browser, and their shares cannot be guessed there", async () => {
  const { page, token } = await openCompany(server, { has_owners: "yes", ...ownerFields(1) });
  const other = new PageVisitor(server);
  const { kyc } = (await expectFine(other.open(token))).body;
  expect(kyc.identity.owner_1_first_name).toMatchObject({ value: "O•••", is_masked: true });
  expect(kyc.identity.owner_1_share).toMatchObject({ value: "•••", is_masked: true });
  expect(kyc.identity.owner_2_share).toMatchObject({ value: null, is_known: false });
  for (const share of ["25", "60", "61", "100"]) {
    expect(problemsOf(await other.save({ owner_2_share: share })), share).toEqual({
      "identity.owner_1_share": "parameter_missing",
    });
  }
  await expectFine(other.save({ owner_1_share: "30", owner_2_share: "70" }));
  expect(JSON.stringify(other.seen)).not.toMatch(/Ottilie|Anteil|1980/);
  expect(page.seen.join("")).toContain("Ottilie");
});

it("a reviewer reads the owners; an older application says nothing of them", async () => {
  const owners = {
    ...ownerFields(1, { share: "60" }),
    ...ownerFields(3, { first_name: "Quirin", nationality: "PT", share: "25.50" }),
  };
  const { user_id, page } = await openCompany(server, { has_owners: "yes", ...owners });
  await expectFine(page.submit());
  await waitForStatus(server, user_id, "awaiting_manual_review");
  await setAccount(server, server.account_id, { kyc_review_by_account: true });
  const { visitor } = await signInAs(server, server.account_id, "admin");
  const review = await show(visitor, `${REVIEWS}/${server.account_id}/${user_id}`);
  const date_of_birth = "05/06/1980";
  expect(review.owners).toEqual([
    { name: "Ottilie Anteil", date_of_birth, nationality: "Germany (DE)", share: "60" },
    { name: "Quirin Anteil", date_of_birth, nationality: "Portugal (PT)", share: "25.5" },
  ]);
  const names = review.fields.map(({ name }: { name: string }) => name);
  expect(names).toContain("controller_last_name");
  expect(names.filter((name: string) => name.includes("owner"))).toEqual([]);

  const nobody = await openCompany(server);
  const path = `${REVIEWS}/${server.account_id}/${nobody.user_id}`;
  expect((await show(visitor, path)).owners).toBeNull();
  await expectFine(nobody.page.submit());
  expect((await show(visitor, path)).owners).toEqual([]);
});

it.each([
  ["an owner", { has_owners: "yes", ...ownerFields(2, LISTED_OWNER) }],
  [
    "who acts for it",
    Object.fromEntries(
      Object.entries(LISTED_OWNER).map(([part, value]) => [`controller_${part}`, value]),
    ),
  ],
])("a company is held when %s is on a list, until it is decided", async (_who, fields) => {
  const { user_id, page } = await openCompany(server, fields);
  expect(await matchesOf(user_id)).toEqual([]);
  await expectFine(page.submit());
  const [match] = await waitFor(async () => {
    const found = await matchesOf(user_id);
    return found.length > 0 && found;
  });
  expect(match).toMatchObject({
    verdict: "match",
    record_kind: "user",
    record_id: user_id,
    person: { kind: "individual", names: ["Tesrik Varlomov"], birth_date: "1954-10-07" },
    entry: { entry_id: "listed" },
  });
  expect(await screeningOf(user_id)).toBe("match");
  const cleared = { reason: "Another person" };
  await expectFine(server.call("POST", `/screening_matches/${match.id}/clear`, cleared));
  expect(await screeningOf(user_id)).toBe("clear");
  expect(await matchesOf(user_id, "cleared")).toHaveLength(1);
});

it("whoever acts for a company and owns it is one match", async () => {
  const acting = Object.fromEntries(
    Object.entries(LISTED_OWNER).map(([part, value]) => [`controller_${part}`, value]),
  );
  const fields = { ...acting, has_owners: "yes", ...ownerFields(1, LISTED_OWNER) };
  const { user_id, page } = await openCompany(server, fields);
  await expectFine(page.submit());
  await waitFor(async () => (await screeningOf(user_id)) === "match");
  expect(await matchesOf(user_id)).toHaveLength(1);
});

it("matches are listed of one user only, and a wrong id is named", async () => {
  const refused = await server.call("GET", "/screening_matches?user_id=nobody");
  expect(problemsOf(refused)).toEqual({ user_id: "record_invalid" });
  expect(await matchesOf(crypto.randomUUID())).toEqual([]);
});

async function screeningOf(user_id: string): Promise<string> {
  const [row] = await server.db.database.query<{ screening_status: string }>(
    "select screening_status from users where id = $1",
    [user_id],
  );
  return row!.screening_status;
}
