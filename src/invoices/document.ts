/**
 * What the parties wrote, in the interface's spelling: stored whole and encrypted, and returned
 * unchanged. Absent fields are absent, never null.
 */
export type InvoiceDocument = {
  version: string;
  invoiceNumber: string;
  creationDate: string;
  invoiceItems: InvoiceItem[];
  buyerInfo: PartyInfo;
  sellerInfo: PartyInfo;
  paymentTerms?: PaymentTerms;
  paymentOptions: PaymentOption[];
  note?: string;
  terms?: string;
  purchaseOrderId?: string;
  tags?: string[];
  recurringRule?: string;
  miscellaneous?: Miscellaneous;
};

type Plain = string | number | boolean;

export type Miscellaneous = Record<string, Plain | { creation: boolean }>;

export type InvoiceItem = {
  name?: string;
  currency: string;
  quantity: number;
  /** Minor units, as are the discount and a fixed tax. */
  unitPrice: string;
  discount?: string;
  tax?: { type: "fixed" | "percentage"; amount: string };
  reference?: string;
  deliveryDate?: string;
  deliveryPeriod?: string;
};

export type Address = {
  streetAddress?: string;
  extendedAddress?: string;
  city?: string;
  postalCode?: string;
  region?: string;
  country?: string;
};

/** The vCard names for the parts of an address; `region` is the same in both. */
export const VCARD_NAMES = {
  streetAddress: "street-address",
  extendedAddress: "extended-address",
  city: "locality",
  postalCode: "postal-code",
  country: "country-name",
} as const satisfies Partial<Record<keyof Address, string>>;

export type PartyInfo = {
  email?: string;
  firstName?: string;
  lastName?: string;
  businessName?: string;
  phone?: string;
  taxRegistration?: string;
  companyRegistration?: string;
  address?: Address;
  miscellaneous?: Record<string, Plain>;
};

export type PaymentTerms = {
  dueDate?: string;
  lateFeesPercent?: number;
  lateFeesFix?: string;
  miscellaneous?: string;
};

export type PaymentOption = {
  type: "wallet" | "bank-account";
  value: { currencies: string[]; paymentInformation: PaymentInformation };
};

/** A wallet has address and chain; a bank account the other fields. */
export type PaymentInformation = {
  paymentAddress?: string;
  chain?: string;
  paymentDetailId?: string;
  accountName?: string;
  bankName?: string;
  iban?: string;
  swiftBic?: string;
  accountNumber?: string;
  routingNumber?: string;
  sortCode?: string;
};

/** A party as one line: the business, else the person, else what is known. */
export function partyName(party: PartyInfo): string {
  const person = [party.firstName, party.lastName].filter(Boolean).join(" ");
  return party.businessName ?? (person || party.email || "");
}
