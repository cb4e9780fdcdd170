import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApiKey } from "../../src/accounts/create-api-key.ts";
import { KEY_SCOPE_NAMES, type KeyScope, scopeOf } from "../../src/accounts/key-scopes.ts";
import { makeApiKey } from "../../src/accounts/model.ts";
import { UNRESTRICTED } from "../../src/accounts/restrict-key.ts";
import {
  INSIDERS,
  type Insider,
  reachOf,
  scopesOf,
  WAY_OUT_NAMES,
  WAYS_OUT,
  type WayOutName,
} from "../../src/accounts/ways-out.ts";
import {
  addMember,
  addOwedUser,
  type TestMember,
  waitForEnd,
} from "../approvals/proposal-fixture.ts";
import { addApprovedUser, addPaymentDetail, addQuote, txId } from "../harness/ramp.ts";
import { createException } from "../harness/records.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

/** The approval amount is 5 000 usd. */
const SMALL = 100;
const LARGE = 9_000;

let server: TestServer;
let members: TestMember[];
beforeAll(async () => {
  const environment = { SLIPROAD_APPROVAL_ABOVE_USD: "5000", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  members = [await addMember(server, "finance_manager"), await addMember(server, "approver")];
});
afterAll(() => server?.close());

async function addKey(scopes: readonly KeyScope[]): Promise<string> {
  const { database, index_key, clock } = server.core;
  const key = makeApiKey(index_key, "sandbox", server.account_id);
  const restrictions = { ...UNRESTRICTED, scopes: [...scopes] };
  const by = { actor: "command line", reason: "test" } as const;
  const input = { account_id: server.account_id, name: "insider", key, restrictions, ...by };
  await database.transaction(async (tx) => createApiKey(tx, index_key, input, clock.now()));
  return key;
}

/** Sends a request of an operation with the key that the insiders have for it. */
type Send = (operation: string, method: string, path: string, body: unknown) => Promise<Answer>;

const QUOTE = { quote: { deposit_token: "usdc", deposit_token_chain: "polygon" } };
const ADDRESS = `0x${"8".repeat(40)}`;
const EXECUTE = () => ({
  quote: { crypto_transfer: { tx_id: txId(randomUUID()), blockchain: "polygon", network: "amoy" } },
});

/** Plays a way out to its last request; the answer of the first that was refused, or of the last. */
const PLAYS: Record<WayOutName, (send: Send, amount: number) => Promise<Answer>> = {
  pay_new_payee: async (send, amount) => {
    const path = `/users/${await addApprovedUser(server)}`;
    const detail = await send("createPaymentDetail", "POST", `${path}/payment_details`, PAYEE);
    if (detail.status !== 200) return detail;
    const quote = await send("createQuote", "POST", `${path}/quotes`, QUOTE);
    if (quote.status !== 200) return quote;
    const of_quote = `${path}/quotes/${quote.body.quote.id}`;
    const item = {
      payment_detail_id: detail.body.payment_detail.id,
      ...{ destination_amount: amount, destination_currency: "usd" },
    };
    const added = await send("createOfframps", "POST", `${of_quote}/offramps`, {
      offramps: [item],
    });
    if (added.status !== 200) return added;
    return send("executeQuote", "POST", `${of_quote}/execute`, EXECUTE());
  },
  execute_prepared: async (send, amount) => {
    const { of_quote } = await prepare(amount);
    return send("executeQuote", "POST", `${of_quote}/execute`, EXECUTE());
  },
  reroute_payout: async (send, amount) => {
    const { path, of_quote, offramp_id } = await prepare(amount);
    await server.call("POST", `${of_quote}/execute`, EXECUTE());
    for (const member of amount > SMALL ? members : []) await member.confirm(await pendingId());
    await server.call("PATCH", `/sandbox/offramps/${offramp_id}`, {
      offramp: { status: "bounced" },
    });
    await waitFor(async () => {
      const shown = await server.call("GET", `${path}/offramps/${offramp_id}`);
      return shown.body.offramp.status === "bounced" ? true : undefined;
    });
    const detail = await send("createPaymentDetail", "POST", `${path}/payment_details`, PAYEE);
    if (detail.status !== 200) return detail;
    const offramp = { payment_detail_id: detail.body.payment_detail.id };
    return send("rerouteOfframp", "POST", `${path}/offramps/${offramp_id}/reroute`, { offramp });
  },
  refund_balance: async (send, amount) => {
    const { user_id } = await addOwedUser(server, amount);
    const refund_address = { chain: "polygon", address: ADDRESS };
    const path = `/users/${user_id}`;
    const address = await send("createRefundAddress", "POST", `${path}/refund_addresses`, {
      refund_address,
    });
    if (address.status !== 200) return address;
    const refund = { token: "usdc", chain: "polygon", amount, address: ADDRESS };
    return send("createRefund", "POST", `${path}/refunds`, { refund });
  },
  deliver_onramp: async (send, amount) => {
    const user_id = await addApprovedUser(server);
    return send("createOnramp", "POST", `/users/${user_id}/onramps`, onrampOf(amount));
  },
  redirect_invoice: async (send) => {
    const created = await server.call("POST", "/invoices", INVOICE());
    expect(created.status, created.text).toBe(200);
    const input = { paymentOptions: [bankOption("000987654321")] };
    const change = { type: "changePaymentOptions", input };
    return send("changeInvoice", "POST", `/invoices/${created.body.id}/changes`, change);
  },
  match_deposit: async (send, amount) => {
    const user_id = await addApprovedUser(server);
    const onramp = await send(
      "createOnramp",
      "POST",
      `/users/${user_id}/onramps`,
      onrampOf(amount),
    );
    if (onramp.status !== 200) return onramp;
    const { id, deposit_amount } = onramp.body.onramp;
    const deposit_id = await receive(deposit_amount);
    const match = { deposit: { onramp_id: id } };
    return send("matchDeposit", "POST", `/deposits/${deposit_id}/match`, match);
  },
  return_deposit: async (send, amount) => {
    const deposit_id = await receive(amount);
    return send("returnDeposit", "POST", `/deposits/${deposit_id}/return`, {});
  },
  resolve_exception: async (send) => {
    const id = await createException(server);
    const body = { resolution: "dismiss", reason: "nothing moved" };
    return send("resolveBankException", "POST", `/bank_exceptions/${id}/resolve`, body);
  },
};
/** Ways whose large amount takes another set-up; `approvals/kinds.test.ts` plays them. */
const SMALL_ONLY: readonly WayOutName[] = ["resolve_exception", "reroute_payout"];

const PAYEE = {
  payment_detail: {
    ...{ account_name: "Maria Invented", bank_name: "Invented Bank", currency: "usd" },
    ...{ beneficiary_type: "individual", date_of_birth: "21/04/1988", country: "PT" },
    ...{ address_line1: "12 Invented Street", city: "Lisbon", postal_code: "1100-148" },
    ...{ routing_number: "021000021", account_number: "000123456789" },
  },
};

function bankOption(accountNumber: string) {
  const paymentInformation = { accountNumber, routingNumber: "021000021" };
  return { type: "bank-account", value: { currencies: ["USD"], paymentInformation } };
}

const INVOICE = () => ({
  ...{ invoiceNumber: randomUUID(), convert: true, buyerInfo: { email: "buyer@example.test" } },
  invoiceItems: [{ name: "Work", currency: "USD", quantity: 1, unitPrice: "40000" }],
  paymentTerms: { dueDate: "2030-01-31" },
  paymentOptions: [bankOption("000123456789")],
});

function onrampOf(destination_amount: number) {
  return {
    onramp: {
      ...{ destination_amount, crypto_currency: "usdc", crypto_rails: "polygon" },
      ...{ destination_address: ADDRESS, fiat_currency: "usd", fiat_rails: "ach_push" },
    },
  };
}

async function prepare(amount: number) {
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "usd");
  const path = `/users/${user_id}`;
  const of_quote = `${path}/quotes/${await addQuote(server, user_id)}`;
  const item = { payment_detail_id, destination_amount: amount, destination_currency: "usd" };
  const added = await server.call("POST", `${of_quote}/offramps`, { offramps: [item] });
  return { path, of_quote, offramp_id: added.body.offramps[0].id as string };
}

async function receive(amount: number): Promise<string> {
  const deposit = { amount, currency: "usd", deposit_message: `no code ${randomUUID()}` };
  return (await server.call("POST", "/sandbox/deposits", { deposit })).body.deposit.id;
}

async function pendingId(): Promise<string> {
  const { proposals } = (await server.call("GET", "/proposals?status=pending&limit=1")).body;
  return proposals[0].id;
}

const sendWith =
  (keys: (operation: string) => string): Send =>
  (operation, method, path, body) =>
    server.call(method, path, body, { key: keys(operation) });

describe("a way out", () => {
  it.each(WAY_OUT_NAMES)("%s takes the scopes that the table says, and no other", async (way) => {
    const keys = new Map<KeyScope, string>();
    for (const scope of scopesOf(way)) keys.set(scope, await addKey([scope]));
    const answer = await PLAYS[way](
      sendWith((operation) => keys.get(scopeOf(operation)!)!),
      SMALL,
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.proposal).toBeUndefined();
  });

  const WITHOUT = WAY_OUT_NAMES.flatMap((way) =>
    scopesOf(way).map((scope) => [way, scope] as const),
  );
  it.each(WITHOUT)(
    "%s is closed without the scope %s, whatever else the key may do",
    async (way, scope) => {
      const key = await addKey(KEY_SCOPE_NAMES.filter((other) => other !== scope));
      const answer = await PLAYS[way](
        sendWith(() => key),
        SMALL,
      );
      expect(answer.body.error_code, answer.text).toBe("insufficient_scope");
    },
  );

  const LARGE_WAYS = WAY_OUT_NAMES.filter(
    (way) => WAYS_OUT[way].above === "two_members" && !SMALL_ONLY.includes(way),
  );
  it.each(LARGE_WAYS)(
    "%s of more than the approval amount takes two members, not one",
    async (way) => {
      const answer = await PLAYS[way](
        sendWith(() => server.key),
        LARGE,
      );
      expect(answer.status, answer.text).toBe(200);
      const id = answer.body.proposal?.id ?? (await pendingId());
      const statusOf = async () =>
        (await server.call("GET", `/proposals/${id}`)).body.proposal.status;
      await members[0]!.confirm(id);
      await members[0]!.confirm(id);
      expect(await statusOf()).toBe("pending");
      await members[1]!.confirm(id);
      expect((await waitForEnd(server, id)).status).toBe("done");
    },
  );
});

it("whoever only prepares payouts cannot replace the payee of what others execute", async () => {
  const { of_quote, offramp_id } = await prepare(SMALL);
  const key = await addKey(KEY_SCOPE_NAMES.filter((scope) => scope !== "payouts:execute"));
  const path = `${of_quote}/offramps/${offramp_id}`;
  const removed = await server.call("DELETE", path, undefined, { key });
  expect(removed.body.error_code, removed.text).toBe("insufficient_scope");
  // Many payees have one account, and credit a payment by its reference.
  const other = { offramp: { reference: "another customer" } };
  const changed = await server.call("PATCH", path, other, { key });
  expect(changed.body.error_code, changed.text).toBe("insufficient_scope");
  const shown = await server.call("GET", of_quote);
  expect(shown.body.offramps.map(({ id }: { id: string }) => id)).toEqual([offramp_id]);
});

it("an application with client credentials takes the scope invoices as well", async () => {
  const app = { name: "Books", flow: "client_credentials" };
  const [without, with_it] = [await addKey(["admin"]), await addKey(["admin", "invoices"])];
  const create = (key: string) => server.call("POST", "/apps", { app }, { key });
  expect((await create(without)).body.error_code).toBe("insufficient_scope");
  const created = await create(with_it);
  expect(created.status, created.text).toBe(200);
  const rotate = `/apps/${created.body.app.id}/rotate_client_secret`;
  const answer = await server.call("POST", rotate, {}, { key: without });
  expect(answer.body.error_code).toBe("insufficient_scope");
});

describe("insiders", () => {
  const pairs: Insider[][] = INSIDERS.flatMap((one) => INSIDERS.map((other) => [one, other]));

  const SENDING = ["role:admin", "role:finance_manager"];
  const VOTING = [...SENDING, "role:approver"];

  it("move nothing by a role, unless it may send payments", () => {
    const others = INSIDERS.filter((who) => who.startsWith("role:") && !SENDING.includes(who));
    for (const pair of others.flatMap((one) => others.map((other) => [one, other]))) {
      for (const way of WAY_OUT_NAMES) expect(reachOf(pair, way), `${pair} ${way}`).toBe("nothing");
    }
    for (const who of SENDING as Insider[]) {
      expect(reachOf([who], "execute_prepared")).toBe("up_to_approval_amount");
    }
  });

  it("move more than the approval amount of what others paid in only as two voters", () => {
    const strong = pairs.filter((pair) =>
      WAY_OUT_NAMES.some(
        (way) => WAYS_OUT[way].above === "two_members" && reachOf(pair, way) === "any_amount",
      ),
    );
    expect(strong.length).toBeGreaterThan(0);
    for (const pair of strong) {
      expect(
        pair.every((who) => VOTING.includes(who)),
        String(pair),
      ).toBe(true);
      expect(
        pair.some((who) => SENDING.includes(who)),
        String(pair),
      ).toBe(true);
    }
  });

  it("are at least two voters and the keys for any amount", () => {
    const three: Insider[] = ["role:admin", "role:approver", "key:refunds"];
    expect(reachOf(three, "refund_balance")).toBe("any_amount");
    expect(reachOf(["role:accountant", ...three.slice(1)], "refund_balance")).toBe(
      "up_to_approval_amount",
    );
  });
});
