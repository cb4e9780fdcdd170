import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/platform/durations.ts";
import { verifyDetails } from "../../src/verify/verify-details.ts";
import { runCommand } from "../harness/command-line.ts";
import { eraseUser } from "../harness/erase-user.ts";
import { setKyc } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good, openStory, settle } from "../offramps/story.ts";
import { ivms101Faults } from "./ivms101-schema.ts";

const LEI = "529900T8BM49AURSDO55";
const ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    environment: {
      SLIPROAD_TRAVEL_RULE_ABOVE_USD: "100",
      SLIPROAD_VASP_NAME: "Sample Ramp Ltd",
      SLIPROAD_VASP_LEI: LEI,
      SLIPROAD_VASP_COUNTRY: "PT",
      SLIPROAD_DOCUMENTS: "never",
    },
  });
});
afterAll(() => server.close());

const list = async (query = "") =>
  good(await server.call("GET", `/travel_records?limit=100${query}`)).travel_records;
const show = async (id: string) =>
  good(await server.call("GET", `/travel_records/${id}`)).travel_record;

/** Delivers tokens to a user, and returns the onramp's id. */
async function deliver(user_id: string, destination_amount: number): Promise<string> {
  const onramp = {
    destination_amount,
    crypto_currency: "usdc",
    crypto_rails: "polygon",
    destination_address: ADDRESS,
    fiat_currency: "usd",
    fiat_rails: "ach_push",
  };
  const made = good(await server.call("POST", `/users/${user_id}/onramps`, { onramp })).onramp;
  const deposit = {
    amount: made.deposit_amount,
    currency: "usd",
    deposit_message: made.deposit_instructions.deposit_message,
  };
  good(await server.call("POST", "/sandbox/deposits", { deposit }));
  await settle(server);
  const shown = good(await server.call("GET", `/users/${user_id}/onramps/${made.id}`)).onramp;
  expect(shown.status).toBe("crypto_sent");
  return made.id;
}

async function addPerson(change: Record<string, unknown> = {}): Promise<string> {
  const user = {
    beneficiary_type: "individual",
    email: `${crypto.randomUUID()}@example.com`,
    first_name: "Ana",
    last_name: "Sample",
    address_line1: "1 Sample Street",
    city: "Lisbon",
    postcode: "1000-001",
    country: "PT",
    ...change,
  };
  const { id } = good(await server.call("POST", "/users", { user })).user;
  good(await setKyc(server, id, { status: "approved" }));
  return id;
}

describe("an onramp delivery", () => {
  it("above the amount has a record of who sends to whom, in the standard's form", async () => {
    const user_id = await addPerson();
    const onramp_id = await deliver(user_id, 150);
    const [summary] = await list(`&user_id=${user_id}`);
    expect(summary).toMatchObject({
      user_id,
      kind: "onramp",
      record_id: onramp_id,
      token: "usdc",
      chain: "polygon",
      amount: 150,
      amount_usd: 150,
      status: "complete",
      missing: [],
      transfer_status: "sent",
    });
    expect(JSON.stringify(summary)).not.toContain("Sample");
    const { ivms101, ...rest } = await show(summary.id);
    expect(rest).toEqual(summary);
    expect(rest.tx_id).toMatch(/^0x/);
    expect(ivms101Faults(ivms101)).toEqual([]);
    const person = {
      naturalPerson: {
        name: {
          nameIdentifier: [
            {
              primaryIdentifier: "Sample",
              secondaryIdentifier: "Ana",
              nameIdentifierType: "LEGL",
            },
          ],
        },
        geographicAddress: [
          {
            addressType: "HOME",
            addressLine: ["1 Sample Street"],
            postCode: "1000-001",
            townName: "Lisbon",
            country: "PT",
          },
        ],
        customerIdentification: user_id,
        countryOfResidence: "PT",
      },
    };
    expect(ivms101).toEqual({
      originator: { originatorPersons: [person], accountNumber: [onramp_id] },
      beneficiary: { beneficiaryPersons: [person], accountNumber: [ADDRESS] },
      originatingVASP: {
        originatingVASP: {
          legalPerson: {
            name: {
              nameIdentifier: [
                { legalPersonName: "Sample Ramp Ltd", legalPersonNameIdentifierType: "LEGL" },
              ],
            },
            nationalIdentification: { nationalIdentifier: LEI, nationalIdentifierType: "LEIX" },
            countryOfRegistration: "PT",
          },
        },
      },
    });
  });

  it("of exactly the amount has none, and in the sandbox by hand it has one too", async () => {
    const user_id = await addPerson();
    await deliver(user_id, 100);
    expect(await list(`&user_id=${user_id}`)).toEqual([]);
    const onramp = {
      destination_amount: 101,
      crypto_currency: "usdc",
      crypto_rails: "polygon",
      destination_address: ADDRESS,
      fiat_currency: "usd",
      fiat_rails: "ach_push",
    };
    const made = good(await server.call("POST", `/users/${user_id}/onramps`, { onramp })).onramp;
    const crypto_sent = { onramp: { status: "crypto_sent" } };
    good(await server.call("PATCH", `/sandbox/onramps/${made.id}`, crypto_sent));
    expect(await list(`&user_id=${user_id}`)).toMatchObject([{ record_id: made.id }]);
  });

  it("to a user whose address is not known is marked, not held", async () => {
    const user_id = await addPerson({ address_line1: null });
    const onramp_id = await deliver(user_id, 150);
    const found = await list("&status=incomplete");
    const own = found.find((one: { record_id: string }) => one.record_id === onramp_id);
    expect(own).toMatchObject({ missing: ["address"] });
    const { ivms101 } = await show(own.id);
    expect(ivms101Faults(ivms101)).toEqual([]);
    expect(JSON.stringify(ivms101)).not.toContain("geographicAddress");
  });
});

it("a refund of tokens above the amount has a record of what is sent", async () => {
  const story = await openStory(server, [{ amount: 500 }]);
  const crypto_deposit = { quote_id: story.quote_id, amount: 300 };
  good(await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
  await settle(server);
  const refund = await story.takeOut(150);
  await story.takeOut(50);
  const found = await list(`&user_id=${story.user_id}`);
  expect(found).toMatchObject([
    { kind: "refund", record_id: refund.id, amount: 150, tx_id: refund.tx_id },
  ]);
  expect(ivms101Faults((await show(found[0].id)).ivms101)).toEqual([]);
  expect(await findFault(server)).toBeNull();
});

it("the command line exports the records of a period, and the audit log says so", async () => {
  const user_id = await addPerson({ city: "Porto" });
  const onramp_id = await deliver(user_id, 300);
  good(await server.call("POST", "/sandbox/clock", { advance_ms: 2 * DAY_MS }));
  const day = (offset: number) =>
    new Date(server.core.clock.now().getTime() + offset * DAY_MS).toISOString();
  const environment = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
  const output = join(server.data_dir, "travel.jsonl");
  const period = ["--from", day(-3), "--to", day(-1), "--reason", "asked for", "--output", output];
  const done = await runCommand(["travel", "export", ...period], environment);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  const lines = (await readFile(output, "utf8")).trim().split("\n");
  const records = lines.map((line) => JSON.parse(line));
  expect(records.map(({ id }) => id)).toEqual((await list()).map(({ id }: { id: string }) => id));
  expect(records.flatMap(({ ivms101 }) => ivms101Faults(ivms101))).toEqual([]);
  expect(records[0]).toMatchObject({ account_id: server.account_id, record_id: onramp_id });
  expect(lines[0]).toContain("Porto");
  const [act] = await server.core.database.query<{ reason: string }>(
    "select reason from audit_entries where action = 'travel.export'",
  );
  expect(act).toEqual({ reason: "asked for" });
});

it("is unreadable once the user is erased, and verify finds a changed one", async () => {
  const user_id = await addPerson();
  await deliver(user_id, 200);
  const [{ id }] = await list(`&user_id=${user_id}`);
  const { database } = server.core;
  const flip =
    "update travel_records set content = set_byte(content, 20, 255 - get_byte(content, 20))";
  await database.query(`${flip} where id = $1`, [id]);
  const check = () => verifyDetails(database, server.core.keyring, server.account_id);
  expect(await check()).toContain(`travel record ${id}`);
  await database.query(`${flip} where id = $1`, [id]);
  expect(await eraseUser(server.core, { account_id: server.account_id, user_id })).toBe(true);
  expect(await show(id)).toMatchObject({ amount: 200, ivms101: null });
  expect([await check(), await findFault(server)]).toEqual([null, null]);
});
