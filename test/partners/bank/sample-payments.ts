import { ControlSum } from "../../../src/partners/bank/iso20022/amount-text.ts";
import type {
  CreditTransfer,
  PaymentFile,
} from "../../../src/partners/bank/iso20022/credit-transfer.ts";
import { writePayments } from "../../../src/partners/bank/iso20022/write-payments.ts";

export const SEPA_FILE: PaymentFile = {
  message_id: "SR20261116-000001",
  created_at: new Date("2026-11-16T09:30:15.250Z"),
  scheme: "sepa",
  charge_bearer: "SLEV",
  execution_date: "2026-11-17",
  debtor: { name: "Sample Ramp UAB", address: null },
  debtor_account: { iban: "LT069999900000012345" },
  debtor_bank: { bic: "SLIPLT21XXX" },
  is_batch_booked: false,
  address_form: "structured",
};

export const SWIFT_FILE: PaymentFile = { ...SEPA_FILE, scheme: "swift", charge_bearer: "SHAR" };

export const WIRE_FILE: PaymentFile = {
  ...SEPA_FILE,
  scheme: "us_wire",
  charge_bearer: "DEBT",
  debtor_account: { number: "9900012345" },
};

const SEPA_TRANSFER: CreditTransfer = {
  end_to_end_id: "0190a5e6000070008000000000000001001",
  uetr: null,
  amount: 12_345n,
  currency: "eur",
  creditor: { name: "Maria Sample", address: null },
  creditor_account: { iban: "DE89370400440532013000" },
  creditor_bank: null,
  intermediary_bank: null,
  purpose: null,
  remittance: "Invoice 17",
};

const SWIFT_TRANSFER: CreditTransfer = {
  ...SEPA_TRANSFER,
  uetr: "7a562c67-ca16-48ba-b074-65581be6f001",
  currency: "inr",
  creditor: {
    name: "Sample Trading Private Limited",
    address: {
      line1: "12 Sample Street",
      line2: "Flat 3",
      postal_code: "400001",
      town: "Mumbai",
      state: "MH",
      country: "IN",
    },
  },
  creditor_account: { number: "000123456789" },
  creditor_bank: {
    clearing_system: "INFSC",
    member_id: "HDFC0000001",
    name: "Sample Bank",
    country: "IN",
  },
  intermediary_bank: { bic: "DEUTDEFF" },
  purpose: "SUPP",
};

export function sepaTransfer(change: Partial<CreditTransfer> = {}): CreditTransfer {
  return { ...SEPA_TRANSFER, ...change };
}

export function swiftTransfer(change: Partial<CreditTransfer> = {}): CreditTransfer {
  return { ...SWIFT_TRANSFER, ...change };
}

export function wireTransfer(): CreditTransfer {
  const creditor_bank = {
    ...{ clearing_system: "USABA", member_id: "021000021" },
    ...{ name: "Sample Bank", country: "US" },
  };
  return swiftTransfer({ currency: "usd", creditor_bank, intermediary_bank: null });
}

/** The nth end-to-end id, in the form of ours. */
export function sampleId(number: number): string {
  return `0190a5e600007000${number.toString(16).padStart(16, "0")}001`;
}

export function totalsOf(transfers: readonly CreditTransfer[]) {
  const sum = new ControlSum();
  for (const { amount, currency } of transfers) sum.add(amount, currency);
  return { count: sum.count, control_sum: String(sum) };
}

export async function writeWhole(file: PaymentFile, transfers: readonly CreditTransfer[]) {
  const pieces = writePayments(file, totalsOf(transfers), transfers);
  return (await collect(pieces)).join("");
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
