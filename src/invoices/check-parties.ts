import { checkBic, checkIban } from "../catalogue/bank-identifiers.ts";
import { CHAINS, type Chain } from "../catalogue/chains.ts";
import { isCountry } from "../catalogue/countries.ts";
import { lowerAscii, upperAscii } from "../catalogue/text.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import { isId } from "../platform/ids.ts";
import type { Address, PartyInfo, PaymentInformation, PaymentOption } from "./document.ts";
import { compactObject, type Fields, listOf, objectOf } from "./read-fields.ts";

const NAME_MAX = 200;
const EMAIL_MAX = 254;
const SHORT_MAX = 100;
// One @, no spaces, a dot in the domain: more only the mail server can tell.
const EMAIL = /^[^\s@"<>(),;:\\]+@[^\s@"<>(),;:\\]+\.[^\s@"<>(),;:\\.]{2,}$/;
const CURRENCY_ID = /^[A-Z0-9]{2,12}(-[a-z0-9]+)*$/;

/** Both sides; the one that is billed, or of a salary paid, cannot do without an address. */
export function checkParties(
  fields: Fields,
  input: Record<string, unknown>,
  is_salary: boolean,
): { buyer: PartyInfo; seller: PartyInfo } {
  const buyer = readParty(fields, "buyerInfo", input.buyerInfo, true);
  const seller = readParty(fields, "sellerInfo", input.sellerInfo, is_salary);
  if (buyer.email && buyer.email === seller.email) {
    const field = is_salary ? "sellerInfo.email" : "buyerInfo.email";
    fields.report(field, "record_invalid", "Buyer and seller must be different.");
  }
  return { buyer, seller };
}

function readParty(
  fields: Fields,
  field: string,
  value: unknown,
  is_email_needed: boolean,
): PartyInfo {
  const input = objectOf(value);
  const text = (name: string, limit: number) => fields.text(`${field}.${name}`, input[name], limit);
  const given = text("email", EMAIL_MAX);
  const email = given === undefined ? undefined : readEmail(fields, `${field}.email`, given);
  if (is_email_needed && given === undefined) fields.missing(`${field}.email`);
  const address = readAddress(fields, `${field}.address`, input.address);
  return compactObject({
    email,
    firstName: text("firstName", NAME_MAX),
    lastName: text("lastName", NAME_MAX),
    businessName: text("businessName", NAME_MAX),
    phone: text("phone", SHORT_MAX),
    taxRegistration: text("taxRegistration", SHORT_MAX),
    companyRegistration: text("companyRegistration", SHORT_MAX),
    address: Object.keys(address).length > 0 ? address : undefined,
  }) as PartyInfo;
}

/** The spelling under which an address is kept and found: e-mails differ in nothing but case. */
export function readEmail(fields: Fields, field: string, text: string): string | undefined {
  if (EMAIL.test(text)) return lowerAscii(text.normalize("NFC"));
  fields.report(field, "record_invalid", "Send an e-mail address such as ana@example.com.");
  return undefined;
}

function readAddress(fields: Fields, field: string, value: unknown): Address {
  const input = objectOf(value);
  const text = (name: string) => fields.text(`${field}.${name}`, input[name], NAME_MAX);
  const given = text("country");
  const country = given === undefined ? undefined : upperAscii(given);
  if (country !== undefined && !isCountry(country)) {
    const message = "Send an ISO 3166-1 alpha-2 code, e.g. PT.";
    fields.report(`${field}.country`, "record_invalid", message);
  }
  return compactObject({
    streetAddress: text("streetAddress"),
    extendedAddress: text("extendedAddress"),
    city: text("city"),
    postalCode: text("postalCode"),
    region: text("region"),
    country,
  }) as Address;
}

/** How the seller can be paid: wallets with their chain, bank accounts with what banks ask for. */
export function checkPaymentOptions(fields: Fields, value: unknown): PaymentOption[] {
  return listOf(value).map((option, index) => {
    const field = `paymentOptions[${index}]`;
    const { type, value: inner } = objectOf(option);
    const { currencies, paymentInformation } = objectOf(inner);
    const ids = listOf(currencies).map((id, at) =>
      readCurrencyId(fields, `${field}.value.currencies[${at}]`, id),
    );
    const place = `${field}.value.paymentInformation`;
    const is_wallet = type === "wallet";
    if (is_wallet && ids.length === 0) fields.missing(`${field}.value.currencies`);
    const information = is_wallet
      ? readWallet(fields, place, objectOf(paymentInformation))
      : readBankAccount(fields, place, objectOf(paymentInformation));
    return {
      type: is_wallet ? "wallet" : "bank-account",
      value: { currencies: ids, paymentInformation: information },
    };
  });
}

function readCurrencyId(fields: Fields, field: string, value: unknown): string {
  const text = typeof value === "string" ? value.trim() : "";
  const [symbol = "", ...network] = text.split("-");
  const id = [upperAscii(symbol), ...network.map(lowerAscii)].join("-");
  if (!CURRENCY_ID.test(id)) {
    fields.report(field, "record_invalid", "Send a currency such as USD or USDC-matic.");
  }
  return id;
}

// What others call the chains that we know by another name.
const CHAIN_NAMES: Record<string, Chain> = {
  ...Object.fromEntries(CHAINS.map((chain) => [chain, chain])),
  matic: "polygon",
  mainnet: "ethereum",
  "arbitrum-one": "arbitrum",
};

/** The chain of this name, or of a name that others give it. */
export function chainOf(name: string): Chain | undefined {
  const key = lowerAscii(name);
  return Object.hasOwn(CHAIN_NAMES, key) ? CHAIN_NAMES[key] : undefined;
}

function readWallet(
  fields: Fields,
  field: string,
  input: Record<string, unknown>,
): PaymentInformation {
  refuseOthers(fields, field, input, ["paymentAddress", "chain"], "wallet");
  const address = fields.text(`${field}.paymentAddress`, input.paymentAddress, NAME_MAX);
  const chain = fields.text(`${field}.chain`, input.chain, SHORT_MAX);
  if (address === undefined) fields.missing(`${field}.paymentAddress`);
  const known = chain === undefined ? undefined : chainOf(chain);
  const checked = known && address !== undefined ? checkAddress(known, address) : undefined;
  if (checked && "reason" in checked) {
    fields.report(`${field}.paymentAddress`, "record_invalid", checked.reason);
  }
  return compactObject({ paymentAddress: address, chain }) as PaymentInformation;
}

const BANK_FIELDS = [
  "paymentDetailId",
  "accountName",
  "bankName",
  "iban",
  "swiftBic",
  "accountNumber",
  "routingNumber",
  "sortCode",
] as const;

function readBankAccount(
  fields: Fields,
  field: string,
  input: Record<string, unknown>,
): PaymentInformation {
  refuseOthers(fields, field, input, BANK_FIELDS, "bank-account");
  const account: PaymentInformation = {};
  for (const name of BANK_FIELDS) {
    const text = fields.text(`${field}.${name}`, input[name], NAME_MAX);
    if (text !== undefined) account[name] = text;
  }
  const { paymentDetailId, iban, accountNumber, swiftBic } = account;
  if (paymentDetailId !== undefined && !isId(paymentDetailId)) {
    const message = "Send the id of a payment detail.";
    fields.report(`${field}.paymentDetailId`, "record_invalid", message);
  }
  if (paymentDetailId === undefined && iban === undefined && accountNumber === undefined) {
    const message = "Send paymentDetailId, iban or accountNumber.";
    fields.report(`${field}.paymentDetailId`, "parameter_missing", message);
  }
  const checks = [
    ["iban", iban, checkIban],
    ["swiftBic", swiftBic, checkBic],
  ] as const;
  for (const [name, text, check] of checks) {
    const checked = text === undefined ? null : check(text);
    if (checked?.ok) account[name] = checked.value;
    else if (checked) fields.report(`${field}.${name}`, "record_invalid", checked.reason);
  }
  if (paymentDetailId) account.paymentDetailId = lowerAscii(paymentDetailId);
  return account;
}

/** The schema knows the fields of both kinds; those of the other kind have no meaning here. */
function refuseOthers(
  fields: Fields,
  field: string,
  input: Record<string, unknown>,
  known: readonly string[],
  type: string,
): void {
  for (const [name, value] of Object.entries(input)) {
    if (known.includes(name) || value === null || value === undefined) continue;
    const message = `A ${type} has no such field. Known here: ${known.join(", ")}.`;
    fields.report(`${field}.${name}`, "parameter_unknown", message);
  }
}
