/** A postal address. Since November 2026 banks refuse one without town and country. */
export type PostalAddress = {
  line1: string | null;
  line2: string | null;
  postal_code: string | null;
  town: string;
  state: string | null;
  /** ISO 3166-1 alpha-2. */
  country: string;
};

type Party = { name: string; address: PostalAddress | null };

export type AccountId = { iban: string } | { number: string };

/** A bank, by its BIC or by its number in a national clearing system. */
export type BankId =
  | { bic: string }
  | { clearing_system: string; member_id: string; name: string | null; country: string };

/** One payment of a file. */
export type CreditTransfer = {
  end_to_end_id: string;
  /** A UUID of version 4 that follows a SWIFT payment or a wire on its way; SEPA has none. */
  uetr: string | null;
  /** Minor units. */
  amount: bigint;
  currency: string;
  creditor: Party;
  creditor_account: AccountId;
  /** Null where the account says which bank it is at. */
  creditor_bank: BankId | null;
  intermediary_bank: BankId | null;
  /** ISO's external code, such as SALA or SUPP; any other is the country's or the bank's own. */
  purpose: string | null;
  /** The message to the payee. */
  remittance: string | null;
};

export const SCHEMES = {
  sepa: {
    service_level: "SEPA",
    charge_bearers: ["SLEV"],
    currency: "eur",
    /** 999 999 999.99 */
    amount_max: 99_999_999_999n,
    name_length: 70,
    is_uetr_sent: false,
  },
  swift: {
    service_level: "NURG",
    charge_bearers: ["SHAR", "DEBT", "CRED"],
    currency: null,
    amount_max: null,
    name_length: 140,
    is_uetr_sent: true,
  },
  us_wire: {
    service_level: "URGP",
    charge_bearers: ["SHAR", "DEBT"],
    currency: "usd",
    amount_max: null,
    name_length: 140,
    is_uetr_sent: true,
  },
} as const;

export type Scheme = keyof typeof SCHEMES;
type ChargeBearer = (typeof SCHEMES)[Scheme]["charge_bearers"][number];

/** What is common to all payments of a file: one debited account, one scheme, one day. */
export type PaymentFile = {
  /** Stored before the file is written: banks refuse one that they know. */
  message_id: string;
  created_at: Date;
  scheme: Scheme;
  charge_bearer: ChargeBearer;
  /** YYYY-MM-DD, as the bank's calendar has it. */
  execution_date: string;
  debtor: Party;
  debtor_account: AccountId;
  debtor_bank: BankId;
  /** Whether the bank books one sum for the file; a booking per payment is easier to match. */
  is_batch_booked: boolean;
  /** Streets as fields of their own, or as address lines: banks differ. */
  address_form: "structured" | "hybrid";
};
