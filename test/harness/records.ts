import { randomUUID } from "node:crypto";
import type { Answer, TestServer } from "./server.ts";

/** One record of each kind, all belonging together: the ids that paths and bodies may name. */
export type RecordIds = { user_id: string; payment_detail_id: string };

/**
 * Makes them through the API. A new kind of record whose id stands in a path is added here; the
 * tests that walk over all operations then cover its routes by themselves.
 */
export async function createRecords(server: TestServer, key: string): Promise<RecordIds> {
  const post = (path: string, body: unknown) => server.call("POST", path, body, { key });
  const user_id = idOf(await post("/users", newUser()), "user");
  const path = `/users/${user_id}/payment_details`;
  const payment_detail_id = idOf(await post(path, NEW_PAYMENT_DETAIL), "payment_detail");
  return { user_id, payment_detail_id };
}

/** Ids that no record has. */
export function missingRecords(): RecordIds {
  return { user_id: randomUUID(), payment_detail_id: randomUUID() };
}

function newUser() {
  return {
    user: {
      beneficiary_type: "individual",
      email: `${randomUUID()}@example.com`,
      first_name: "Ana",
      last_name: "Sample",
    },
  };
}

const NEW_PAYMENT_DETAIL = {
  payment_detail: {
    account_name: "Maria Sample",
    currency: "eur",
    iban: "DE89370400440532013000",
    bank_name: "Sample Bank",
    beneficiary_type: "individual",
    date_of_birth: "21/04/1988",
    address_line1: "12 Sample Street",
    city: "Lisbon",
    postal_code: "1100-148",
    country: "PT",
  },
};

function idOf(answer: Answer, record: string): string {
  if (answer.status !== 200) throw new Error(`no ${record} was made: ${answer.text}`);
  return answer.body[record].id;
}
