import Type, { type TProperties } from "typebox";
import { LIST_PARAMETERS } from "../platform/http/list.ts";
import { VCARD_NAMES } from "./document.ts";
import { CHANGE_TYPES, INVOICE_FORMATS, INVOICE_STATUSES } from "./model.ts";

const closed = { additionalProperties: false };
const text = (description: string) => Type.String({ description });
/** Absent, null and blank mean the same. */
const optional = (description: string) =>
  Type.Optional(Type.Union([Type.String(), Type.Null()], { description }));
const optionalObject = (properties: TProperties) =>
  Type.Optional(Type.Union([Type.Object(properties, closed), Type.Null()]));
const numberOrText = (description: string) =>
  Type.Union([Type.Number(), Type.String()], {
    description,
    errorMessage: "Send a number or a plain decimal string.",
  });
const miscellaneousInput = Type.Optional(
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
    description: "At most 50 keys of at most 40 characters; values of at most 500 characters.",
  }),
);

const ITEMS_MAX = 500;
const OPTIONS_MAX = 20;
const TAGS_MAX = 50;

const ADDRESS = {
  streetAddress: optional("Street and number."),
  extendedAddress: optional("Second line."),
  city: optional("City."),
  postalCode: optional("Postal or zip code."),
  region: optional("State or region."),
  country: optional("ISO 3166-1 alpha-2."),
  ...Object.fromEntries(
    Object.entries(VCARD_NAMES).map(([name, older]) => [older, optional(`The same as ${name}.`)]),
  ),
};

const PARTY = {
  firstName: optional("With middle names."),
  lastName: optional("Family name."),
  businessName: optional("Legal name of a business."),
  phone: optional("Telephone number."),
  taxRegistration: optional("VAT or tax number."),
  companyRegistration: optional("Number in the company register."),
  address: optionalObject(ADDRESS),
  miscellaneous: miscellaneousInput,
};

const ITEM = {
  name: optional("What is billed."),
  currency: text("Denomination, e.g. USD; the same on every item."),
  quantity: numberOrText("Decimals are allowed."),
  unitPrice: text('Minor units before tax, digits only: "9999" is 99.99 USD.'),
  discount: optional("Minor units off the line, digits only."),
  tax: optionalObject({
    type: Type.Optional(
      Type.Union([Type.Enum(["fixed", "percentage"]), Type.Null()], {
        description: "fixed when left out.",
        errorMessage: "Send fixed or percentage.",
      }),
    ),
    amount: text("Minor units of a fixed tax, or the percentage, e.g. 20."),
  }),
  reference: optional("Your own reference."),
  deliveryDate: optional("When it was delivered."),
  deliveryPeriod: optional("The period it is for."),
};

const OPTION = {
  type: Type.Enum(["wallet", "bank-account"]),
  value: Type.Object(
    {
      currencies: Type.Optional(
        Type.Union([Type.Array(Type.String(), { maxItems: 50 }), Type.Null()], {
          description: "What it takes, e.g. USDC-matic; needed for a wallet.",
        }),
      ),
      paymentInformation: Type.Object(
        {
          paymentAddress: optional("Address of the wallet."),
          chain: optional("Chain of the wallet, e.g. matic."),
          paymentDetailId: optional("A payment detail of this account."),
          accountName: optional("Holder of the bank account."),
          bankName: optional("Name of the bank."),
          iban: optional("IBAN."),
          swiftBic: optional("BIC."),
          accountNumber: optional("Account number."),
          routingNumber: optional("ABA routing number."),
          sortCode: optional("Sort code."),
        },
        closed,
      ),
    },
    closed,
  ),
};

const PAYMENT_OPTIONS = Type.Array(Type.Object(OPTION, closed), {
  minItems: 1,
  maxItems: OPTIONS_MAX,
});

export const CreateInvoiceBody = Type.Object(
  {
    meta: optionalObject({
      format: optional("svc_invoice (default) or svc_salary."),
      version: optional("0.0.3 when left out."),
    }),
    creationDate: optional("ISO 8601; now when left out."),
    invoiceNumber: text("Unique within the account."),
    invoiceItems: Type.Array(Type.Object(ITEM, closed), { minItems: 1, maxItems: ITEMS_MAX }),
    buyerInfo: Type.Object({ email: text("Where the buyer is reached."), ...PARTY }, closed),
    sellerInfo: optionalObject({ email: optional("Needed for a salary."), ...PARTY }),
    paymentTerms: optionalObject({
      dueDate: optional("ISO 8601: the last day, or moment, to pay."),
      lateFeesPercent: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
      lateFeesFix: optional("Minor units, digits only."),
      miscellaneous: optional("Other terms."),
    }),
    paymentOptions: PAYMENT_OPTIONS,
    note: optional("Free text."),
    terms: optional("Free text."),
    purchaseOrderId: optional("The buyer's order number."),
    tags: Type.Optional(
      Type.Union([Type.Array(Type.String(), { maxItems: TAGS_MAX }), Type.Null()]),
    ),
    recurringRule: optional("RFC 5545: DTSTART and RRULE, separated by a newline or a blank."),
    miscellaneous: miscellaneousInput,
    convert: Type.Optional(
      Type.Union([Type.Boolean(), Type.Null()], { description: "True makes it payable at once." }),
    ),
  },
  closed,
);

export const ChangeInvoiceBody = Type.Object(
  {
    type: Type.Enum([...CHANGE_TYPES]),
    input: optionalObject({
      note: optional("Why; needed for reject."),
      amount: optional("Minor units, digits only."),
      txLink: optional("URL of the transaction in an explorer."),
      txHash: optional("Of declareSentPayment: the transfer on chain that paid a USD invoice."),
      chain: optional("The chain of txHash, e.g. polygon."),
      signature: optional(
        "Over the invoice's id, by the address that paid: then no confirmation is needed.",
      ),
      paymentOptions: Type.Optional(
        Type.Union([PAYMENT_OPTIONS, Type.Null()], {
          description: "Of changePaymentOptions: what takes the place of the present ones.",
        }),
      ),
    }),
  },
  closed,
);

const given = Type.Optional(Type.String());
const nullable = Type.Union([Type.String(), Type.Null()]);
const strings = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, given])) as Record<string, typeof given>;

const PartyRecord = Type.Object({
  email: given,
  ...strings(["firstName", "lastName", "businessName", "phone"]),
  ...strings(["taxRegistration", "companyRegistration"]),
  address: Type.Optional(Type.Object(strings(Object.keys(ADDRESS)))),
  miscellaneous: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
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
  date: Type.String({ format: "date-time" }),
});

export const InvoiceRecord = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    requestId: Type.Union([Type.String(), Type.Null()], {
      description: "Null until it is payable; a payment that fails gives it a new one.",
    }),
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
    nextOccurrence: Type.Optional(nullable),
    miscellaneous: Type.Record(Type.String(), Type.Unknown()),
    events: Type.Array(
      Type.Object({
        name: Type.String(),
        userId: nullable,
        date: Type.String({ format: "date-time" }),
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
    invoiceLinks: Type.Union([
      Type.Object({ view: Type.String(), pay: Type.String(), signUpAndPay: Type.String() }),
      Type.Null(),
    ]),
    createdAt: Type.String({ format: "date-time" }),
    updatedAt: Type.String({ format: "date-time" }),
  },
  { title: "Invoice" },
);

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

export const InvoiceListQuery = Type.Object(
  {
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
  },
  closed,
);
