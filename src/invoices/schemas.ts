import Type, { type TProperties } from "typebox";
import { LIST_PARAMETERS } from "../platform/http/list.ts";
import {
  closedObject,
  METADATA,
  NULLABLE_TEXT,
  nullable,
  OPTIONAL_METADATA,
  optional,
  optionalText,
  TIME,
  titledObject,
  UUID,
} from "../platform/schema-parts.ts";
import { VCARD_NAMES } from "./document.ts";
import { CHANGE_TYPES, INVOICE_FORMATS, INVOICE_STATUSES } from "./model.ts";

const text = (description: string) => Type.String({ description });
const optionalObject = (properties: TProperties) => optional(closedObject(properties));
const numberOrText = (description: string) =>
  Type.Union([Type.Number(), Type.String()], {
    description,
    errorMessage: "Send a number or a plain decimal string.",
  });

const ITEMS_MAX = 500;
const OPTIONS_MAX = 20;
const TAGS_MAX = 50;

const ADDRESS = {
  streetAddress: optionalText("Street and number."),
  extendedAddress: optionalText("Second line."),
  city: optionalText("City."),
  postalCode: optionalText("Postal or zip code."),
  region: optionalText("State or region."),
  country: optionalText("ISO 3166-1 alpha-2."),
  ...Object.fromEntries(
    Object.entries(VCARD_NAMES).map(([name, older]) => [
      older,
      optionalText(`The same as ${name}.`),
    ]),
  ),
};

const PARTY = {
  firstName: optionalText("With middle names."),
  lastName: optionalText("Family name."),
  businessName: optionalText("Legal name of a business."),
  phone: optionalText("Telephone number."),
  taxRegistration: optionalText("VAT or tax number."),
  companyRegistration: optionalText("Number in the company register."),
  address: optionalObject(ADDRESS),
  miscellaneous: OPTIONAL_METADATA,
};

const ITEM = {
  name: optionalText("What is billed."),
  currency: text("Denomination, e.g. USD; the same on every item."),
  quantity: numberOrText("Decimals are allowed."),
  unitPrice: text('Minor units before tax, digits only: "9999" is 99.99 USD.'),
  discount: optionalText("Minor units off the line, digits only."),
  tax: optionalObject({
    type: Type.Optional(
      Type.Union([Type.Enum(["fixed", "percentage"]), Type.Null()], {
        description: "fixed when left out.",
        errorMessage: "Send fixed or percentage.",
      }),
    ),
    amount: text("Minor units of a fixed tax, or the percentage, e.g. 20."),
  }),
  reference: optionalText("Your own reference."),
  deliveryDate: optionalText("When it was delivered."),
  deliveryPeriod: optionalText("The period it is for."),
};

const OPTION = {
  type: Type.Enum(["wallet", "bank-account"]),
  value: closedObject({
    currencies: optional(
      Type.Array(Type.String(), { maxItems: 50 }),
      "What it takes, e.g. USDC-matic; needed for a wallet.",
    ),
    paymentInformation: closedObject({
      paymentAddress: optionalText("Address of the wallet."),
      chain: optionalText("Chain of the wallet, e.g. matic."),
      paymentDetailId: optionalText("A payment detail of this account."),
      accountName: optionalText("Holder of the bank account."),
      bankName: optionalText("Name of the bank."),
      iban: optionalText("IBAN."),
      swiftBic: optionalText("BIC."),
      accountNumber: optionalText("Account number."),
      routingNumber: optionalText("ABA routing number."),
      sortCode: optionalText("Sort code."),
    }),
  }),
};

const PAYMENT_OPTIONS = Type.Array(closedObject(OPTION), {
  minItems: 1,
  maxItems: OPTIONS_MAX,
});

export const CreateInvoiceBody = closedObject({
  meta: optionalObject({
    format: optionalText("svc_invoice (default) or svc_salary."),
    version: optionalText("0.0.3 when left out."),
  }),
  creationDate: optionalText("ISO 8601; now when left out."),
  invoiceNumber: text("Unique within the account."),
  invoiceItems: Type.Array(closedObject(ITEM), { minItems: 1, maxItems: ITEMS_MAX }),
  buyerInfo: closedObject({ email: text("Where the buyer is reached."), ...PARTY }),
  sellerInfo: optionalObject({ email: optionalText("Needed for a salary."), ...PARTY }),
  paymentTerms: optionalObject({
    dueDate: optionalText("ISO 8601: the last day, or moment, to pay."),
    lateFeesPercent: optional(Type.Number()),
    lateFeesFix: optionalText("Minor units, digits only."),
    miscellaneous: optionalText("Other terms."),
  }),
  paymentOptions: PAYMENT_OPTIONS,
  note: optionalText("Free text."),
  terms: optionalText("Free text."),
  purchaseOrderId: optionalText("The buyer's order number."),
  tags: optional(Type.Array(Type.String(), { maxItems: TAGS_MAX })),
  recurringRule: optionalText("RFC 5545: DTSTART and RRULE, separated by a newline or a blank."),
  miscellaneous: OPTIONAL_METADATA,
  convert: optional(Type.Boolean(), "True makes it payable at once."),
});

export const ChangeInvoiceBody = closedObject({
  type: Type.Enum([...CHANGE_TYPES]),
  input: optionalObject({
    note: optionalText("Why; needed for reject."),
    amount: optionalText("Minor units, digits only."),
    txLink: optionalText("URL of the transaction in an explorer."),
    txHash: optionalText("Of declareSentPayment: the transfer on chain that paid a USD invoice."),
    chain: optionalText("The chain of txHash, e.g. polygon."),
    signature: optionalText(
      "Over the invoice's id, by the address that paid: then no confirmation is needed.",
    ),
    paymentOptions: optional(
      PAYMENT_OPTIONS,
      "Of changePaymentOptions: what takes the place of the present ones.",
    ),
  }),
});

const given = Type.Optional(Type.String());
const strings = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, given])) as Record<string, typeof given>;

const PartyRecord = Type.Object({
  email: given,
  ...strings(["firstName", "lastName", "businessName", "phone"]),
  ...strings(["taxRegistration", "companyRegistration"]),
  address: Type.Optional(Type.Object(strings(Object.keys(ADDRESS)))),
  miscellaneous: Type.Optional(METADATA),
});

const ItemRecord = Type.Object({
  name: given,
  currency: Type.String(),
  quantity: Type.Number(),
  unitPrice: Type.String(),
  discount: given,
  tax: Type.Optional(Type.Object({ type: Type.String(), amount: Type.String() })),
  ...strings(["reference", "deliveryDate", "deliveryPeriod"]),
});

const OptionRecord = Type.Object({
  type: Type.String(),
  value: Type.Object({
    currencies: Type.Array(Type.String()),
    paymentInformation: Type.Object(
      strings(Object.keys(OPTION.value.properties.paymentInformation.properties)),
    ),
  }),
});

const TrackedRecord = Type.Object({
  txHash: Type.String(),
  chain: Type.String(),
  logIndex: Type.Integer(),
  currency: Type.String(),
  amount: Type.String({ description: "Millionths of the token." }),
  from: Type.String(),
  to: Type.String(),
  date: TIME,
});

export const InvoiceRecord = titledObject("Invoice", {
  id: UUID,
  requestId: nullable(
    Type.String(),
    "Null until it is payable; a payment that fails gives it a new one.",
  ),
  meta: Type.Object({ format: Type.Enum([...INVOICE_FORMATS]), version: Type.String() }),
  status: Type.Enum([...INVOICE_STATUSES]),
  type: Type.Enum(["live", "test"]),
  role: Type.Enum(["seller", "buyer"], { description: "On which side you stand." }),
  createdBy: Type.String({ description: "The account that made it." }),
  creationDate: Type.String(),
  invoiceNumber: Type.String(),
  invoiceItems: Type.Array(ItemRecord),
  currency: Type.String(),
  total: Type.String({ description: "Minor units, with tax." }),
  totalWithoutTax: Type.String(),
  buyerInfo: PartyRecord,
  sellerInfo: PartyRecord,
  paymentTerms: Type.Optional(
    Type.Object({
      dueDate: given,
      lateFeesPercent: Type.Optional(Type.Number()),
      ...strings(["lateFeesFix", "miscellaneous"]),
    }),
  ),
  paymentOptions: Type.Array(OptionRecord),
  ...strings(["note", "terms", "purchaseOrderId"]),
  tags: Type.Array(Type.String()),
  recurringRule: given,
  nextOccurrence: Type.Optional(NULLABLE_TEXT),
  miscellaneous: METADATA,
  events: Type.Array(
    Type.Object({
      name: Type.String(),
      userId: NULLABLE_TEXT,
      date: TIME,
      note: given,
    }),
    { description: "What happened so far." },
  ),
  paymentMetadata: Type.Object({
    paymentDate: given,
    isManuallyPaid: Type.Optional(Type.Boolean()),
    ...strings(["amount", "txLink", "txHash", "chainName"]),
  }),
  trackedTransactions: Type.Array(TrackedRecord, {
    description: "Transfers on chain that pay it.",
  }),
  invoiceLinks: nullable(
    Type.Object({ view: Type.String(), pay: Type.String(), signUpAndPay: Type.String() }),
  ),
  createdAt: TIME,
  updatedAt: TIME,
});

export const InvoiceListAnswer = Type.Object({
  invoices: Type.Array(InvoiceRecord),
  has_more: Type.Boolean({ description: "Whether there are records after the last one." }),
});

/** Filters accept two more states: overdue, and one that invoices only pass through. */
const LISTED_STATUSES = [...INVOICE_STATUSES, "pending", "overdue"] as const;
const SKIP_MAX = 10_000;
const listed = Type.Enum([...LISTED_STATUSES]);
const statusFilter = Type.Optional(
  Type.Union([listed, Type.Array(listed, { maxItems: LISTED_STATUSES.length })], {
    description: "May be repeated.",
    errorMessage: `Send one of ${LISTED_STATUSES.join(", ")}.`,
  }),
);

export const InvoiceListQuery = closedObject({
  take: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 25, description: "Records on a page." }),
  ),
  skip: Type.Optional(Type.Integer({ minimum: 0, maximum: SKIP_MAX, default: 0 })),
  starting_after: LIST_PARAMETERS.starting_after,
  search: Type.Optional(
    Type.String({
      description: "Whole words of number, names, e-mails, order, tags or transaction hash.",
    }),
  ),
  "status[]": statusFilter,
  status: statusFilter,
  creationDateRange: Type.Optional(
    Type.String({ description: 'JSON: {"from": ISO, "to": ISO}, each optional.' }),
  ),
  updatedSince: Type.Optional(Type.String({ description: "ISO 8601." })),
  variant: Type.Optional(Type.Enum([...INVOICE_FORMATS])),
  filterBy: Type.Optional(Type.Enum(["sent", "received"])),
});
