import { afterAll, beforeAll, expect, it } from "vitest";
import { removeMember } from "../../src/accounts/change-members.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

const PATH = "/dashboard/api/payout_views";

let server: TestServer;
let ana: BrowserMember;
let ben: BrowserMember;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  const { account_id } = server;
  const role = "accountant";
  ana = await signInMember(server, { account_id, role, email: "ana@example.test" });
  ben = await signInMember(server, { account_id, role, email: "ben@example.test" });
});
afterAll(() => server.close());

const save = (member: BrowserMember, name: string, search = "status=bounced") =>
  member.call("POST", PATH, { name, search });
const list = async (member: BrowserMember) => (await member.call("GET", PATH)).json().views;

it("a member finds the views that they saved, and nobody else does", async () => {
  expect((await save(ana, " Returned ")).statusCode).toBe(200);
  await save(ana, "Dirhams", "currency=mad&amount_min=10");
  await save(ana, "Returned", "status=bounced&rails=swift");
  expect(await list(ana)).toEqual([
    { name: "Returned", search: "status=bounced&rails=swift" },
    { name: "Dirhams", search: "currency=mad&amount_min=10" },
  ]);
  expect(await list(ben)).toEqual([]);
  expect((await ben.call("DELETE", PATH, { name: "Returned" })).statusCode).toBe(200);
  expect((await ana.call("DELETE", PATH, { name: "Dirhams" })).statusCode).toBe(200);
  expect(await list(ana)).toMatchObject([{ name: "Returned" }]);
});

it.each([
  ["", "status=bounced", "name"],
  ["x".repeat(61), "status=bounced", "name"],
  ["Large", "", "search"],
  ["Large", "x".repeat(1001), "search"],
  ["Large", "a b", "search"],
])("422 for the name %j with %j", async (name, search, field) => {
  const refused = await save(ben, name, search);
  expect(refused.statusCode).toBe(422);
  expect(refused.json().errors).toMatchObject([{ field }]);
});

it("a member has at most thirty, also when they are saved at once", async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => save(ben, `View ${at}`)));
  expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(30);
  expect(answers.filter(({ statusCode }) => statusCode === 422)).toHaveLength(10);
  const [{ name }] = await list(ben);
  expect((await save(ben, name, "status=failed")).statusCode).toBe(200);
  expect(await list(ben)).toHaveLength(30);
});

it("roles that see no payouts have none, and views go with the member", async () => {
  const { account_id, core } = server;
  const email = "dev@example.test";
  const developer = await signInMember(server, { account_id, role: "developer", email });
  expect((await developer.call("GET", PATH)).statusCode).toBe(403);
  expect((await save(developer, "Mine")).statusCode).toBe(403);
  const by = { actor: "command line", reason: "test" } as const;
  const key = { account_id, person_id: ben.person_id };
  await core.database.transaction((tx) => removeMember(tx, key, by, core.clock.now()));
  const left = await core.database.query("select from payout_views where person_id = $1", [
    ben.person_id,
  ]);
  expect(left).toEqual([]);
});
