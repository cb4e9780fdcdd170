import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { good, settle } from "../offramps/story.ts";
import { showProposal } from "./proposal-fixture.ts";

let server: TestServer;
let user_id: string;

beforeAll(async () => {
  const environment = { SLIPROAD_APPROVAL_ABOVE_USD: "1000", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  user_id = await addApprovedUser(server);
});
afterAll(() => server.close());

type Destination = { detail_id: string; currency: string; rails?: string; owner?: string };

/** Adds one payout to a new quote and executes it. */
async function pay(destination: Destination, amount: number) {
  const { detail_id, currency, rails, owner = user_id } = destination;
  const quote_id = await addQuote(server, owner);
  const { offramps } = good(
    await server.call("POST", `/users/${owner}/quotes/${quote_id}/offramps`, {
      offramps: [
        {
          ...{ payment_detail_id: detail_id, destination_amount: amount },
          ...{ destination_currency: currency, ...(rails ? { rails } : {}) },
          supporting_document_attributes: { submitted_url: "https://files.test/invoice.pdf" },
        },
      ],
    }),
  );
  const { approval } = good(await execute(server, owner, quote_id));
  return { offramp_id: offramps[0].id as string, proposal_id: approval?.proposal_id as string };
}

async function payBefore(destination: Destination, amount: number) {
  const { offramp_id } = await pay(destination, amount);
  await settle(server);
  await waitFor(async () => {
    const path = `/users/${user_id}/offramps/${offramp_id}`;
    return good(await server.call("GET", path)).offramp.status === "fiat_sent";
  });
}

/** Whether the page and the list of a proposal say that its one payee was never paid before. */
async function isShownAsNew(destination: Destination, amount: number): Promise<boolean> {
  const { proposal_id } = await pay(destination, amount);
  const { details } = await showProposal(server, proposal_id);
  const { payouts } = good(await server.call("GET", `/proposals/${proposal_id}/payouts`));
  const shown = (label: string): string =>
    details.find((detail: { label: string }) => detail.label === label).value;
  const { is_new_payee } = payouts[0];
  expect(shown("Payees never paid before").startsWith(is_new_payee ? "1 of 1" : "0 of 1")).toBe(
    true,
  );
  expect(shown("To").includes("never paid before")).toBe(is_new_payee);
  return is_new_payee;
}

const NUMBER = "0531835737";
const KNOWN = "DE16370400440531835737";
const OTHER_BANK = "DE72500105170531835737";

describe("a proposal says of a payee that it was never paid before", () => {
  it("unless a payout has reached the same account at the same bank", async () => {
    const currency = "eur";
    const iban = (value: string) => addPaymentDetail(server, user_id, "eur", { iban: value });
    const known = await iban(KNOWN);
    await payBefore({ detail_id: known, currency }, 100);
    expect(await isShownAsNew({ detail_id: known, currency }, 2000)).toBe(false);
    expect(await isShownAsNew({ detail_id: await iban(KNOWN), currency }, 2000)).toBe(false);
    expect(OTHER_BANK.slice(-10)).toBe(NUMBER);
    expect(await isShownAsNew({ detail_id: await iban(OTHER_BANK), currency }, 2000)).toBe(true);
  });

  it("whoever of the account paid it", async () => {
    const iban = "DE75512108001245126199";
    const detail_id = await addPaymentDetail(server, user_id, "eur", { iban });
    await payBefore({ detail_id, currency: "eur" }, 100);
    const owner = await addApprovedUser(server);
    const theirs = await addPaymentDetail(server, owner, "eur", { iban });
    expect(await isShownAsNew({ detail_id: theirs, currency: "eur", owner }, 2000)).toBe(false);
  });

  it("when only the code or the BIC of the bank differs", async () => {
    const routed = (more: Record<string, string>) =>
      addPaymentDetail(server, user_id, "usd", { account_number: "87654321", ...more });
    const currency = "usd";
    await payBefore({ detail_id: await routed({}), currency }, 100);
    expect(await isShownAsNew({ detail_id: await routed({}), currency }, 2000)).toBe(false);
    expect(await isShownAsNew({ detail_id: await routed({ rails: "wire" }), currency }, 2000)).toBe(
      false,
    );
    const elsewhere = await routed({ routing_number: "026009593" });
    expect(await isShownAsNew({ detail_id: elsewhere, currency }, 2000)).toBe(true);
    const swift = { rails: "swift", swift_bic: "DEUTDEFF" };
    const abroad = await addPaymentDetail(server, user_id, "usd_swift", {
      ...{ account_number: "87654321", ...swift },
    });
    expect(await isShownAsNew({ detail_id: abroad, currency, rails: "swift" }, 2000)).toBe(true);
  });

  it("when another rail pays the same record at another bank", async () => {
    // The local rail pays by the routing number, SWIFT by the BIC.
    const detail_id = await addPaymentDetail(server, user_id, "usd", {
      ...{ account_number: "55667788", swift_bic: "BOFAUS3N" },
    });
    await payBefore({ detail_id, currency: "usd" }, 100);
    expect(await isShownAsNew({ detail_id, currency: "usd" }, 2000)).toBe(false);
    expect(await isShownAsNew({ detail_id, currency: "usd", rails: "swift" }, 2000)).toBe(true);
  });
});
