import { randomUUID } from "node:crypto";
import type { Sliproad } from "../../sdk/src/index.ts";

/** Names in several scripts and lengths; none is a real customer's. */
const PAYERS = [
  { first_name: "Ana", last_name: "Sample" },
  { first_name: "Jörg", last_name: "Muster-Beispiel" },
  { first_name: "山田", last_name: "太郎" },
] as const;
const PAYEES = [
  ["Maria Sample", "Sample Bank"],
  ["Example Widgets and Very Long Company Names Limited", "Bank of Examples"],
  ["Иван Пример", "Sample Bank"],
  ["محمد مثال", "Example Savings Bank"],
  ["Zoë Beispiel", "Musterbank"],
] as const;
/** German, with their check digits. */
const IBANS = [
  "DE89370400440532013000",
  "DE02120300000000202051",
  "DE02500105170137075030",
  "DE02100500000054540402",
  "DE02300209000106531065",
] as const;
/** Null: as the program itself goes on. */
const STATES = [
  ...["fiat_sent", "fiat_sent", "bounced", "failed", "sending_fiat"],
  ...["ongoing_checks", "fiat_sent", null],
] as const;
const FIRST_AMOUNT = 820;
const AMOUNT_STEP = 137.35;

export type SampleBusiness = {
  user_ids: string[];
  payment_detail_ids: string[];
  offramp_ids: string[];
};

/** A small business in every state, for what people look at: payers, payees, payouts, deposits. */
export async function createSampleBusiness(sliproad: Sliproad): Promise<SampleBusiness> {
  const user_ids: string[] = [];
  const payment_detail_ids: string[] = [];
  const offramp_ids: string[] = [];
  for (const [at, name] of PAYERS.entries()) {
    const email = `payer-${at}-${randomUUID()}@example.com`;
    const user = await sliproad.users.create({ beneficiary_type: "individual", email, ...name });
    user_ids.push(user.id);
    await sliproad.sandbox.setKycStatus(user.id, "approved");
    const own = await createPayees(sliproad, user.id);
    payment_detail_ids.push(...own);
    offramp_ids.push(...(await createPayouts(sliproad, user.id, own, at)));
  }
  await createIncoming(sliproad, user_ids[0]!);
  return { user_ids, payment_detail_ids, offramp_ids };
}

async function createPayees(sliproad: Sliproad, user_id: string): Promise<string[]> {
  const ids: string[] = [];
  for (const [at, [account_name, bank_name]] of PAYEES.entries()) {
    const detail = await sliproad.paymentDetails.create(user_id, {
      ...{ account_name, bank_name, currency: "eur", iban: IBANS[at]!, country: "DE" },
      ...{ beneficiary_type: "business", address_line1: "12 Sample Street", city: "Berlin" },
      postal_code: "10115",
    });
    ids.push(detail.id);
  }
  return ids;
}

async function createPayouts(
  sliproad: Sliproad,
  user_id: string,
  details: readonly string[],
  payer: number,
): Promise<string[]> {
  const { quote } = await sliproad.quotes.create(user_id, {
    deposit_token: "usdc",
    deposit_token_chain: "polygon",
  });
  const offramps = await sliproad.offramps.create(
    user_id,
    quote.id,
    STATES.map((_, at) => ({
      payment_detail_id: details[at % details.length]!,
      destination_amount: (FIRST_AMOUNT + AMOUNT_STEP * (at + payer)).toFixed(2),
      destination_currency: "eur",
      reference: `Invoice 2026-${payer + 1}${String(at).padStart(2, "0")}`,
    })),
  );
  for (const [at, status] of STATES.entries()) {
    if (status) await sliproad.sandbox.setOfframpStatus(offramps[at]!.id, status);
  }
  return offramps.map(({ id }) => id);
}

/** An onramp that waits, one that is paid, and deposits that fit none. */
async function createIncoming(sliproad: Sliproad, user_id: string): Promise<void> {
  for (const destination_amount of [500, 1250]) {
    await sliproad.onramps.create(user_id, {
      ...{ destination_amount, crypto_currency: "usdc", crypto_rails: "polygon" },
      destination_address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
      ...{ fiat_currency: "usd", fiat_rails: "ach_push" },
    });
  }
  await sliproad.sandbox.createDeposit({
    amount: 77.5,
    currency: "eur",
    deposit_message: "thanks",
  });
  await sliproad.sandbox.createDeposit({ amount: 1310, currency: "usd", deposit_message: "rent" });
}
