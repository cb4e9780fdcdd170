import { checkIdentifier } from "../catalogue/bank-identifiers.ts";
import { CHAINS, type Chain, isToken, TOKENS } from "../catalogue/chains.ts";
import { isCountry } from "../catalogue/countries.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import { readMetadata } from "../catalogue/metadata.ts";
import { lowerAscii, readEmail, upperAscii } from "../catalogue/text.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import { isId } from "../platform/ids.ts";
import {
  type Address,
  type PartyInfo,
  type PaymentInformation,
  type PaymentOption,
  VCARD_NAMES,
} from "./document.ts";
import { compactObject, type Fields, listOf, objectOf } from "./read-fields.ts";

const NAME_MAX = 200;
const EMAIL_MAX = 254;
const SHORT_MAX = 100;
// One @, no spaces, a dot in the domain: only the mail server can check more.

/** Both parties; the billed one, or the employee of a salary, must have an e-mail address. */
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
  const email = given === undefined ? undefined : checkEmail(fields, `${field}.email`, given);
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
    miscellaneous:
      readMetadata(input.miscellaneous, `${field}.miscellaneous`, fields.report) ?? undefined,
  }) as PartyInfo;
}

function checkEmail(fields: Fields, field: string, text: string): string | undefined {
  const email = readEmail(text);
  if (email !== null) return email;
  fields.report(field, "record_invalid", "Send an e-mail address such as ana@example.com.");
  return undefined;
}

function readAddress(fields: Fields, field: string, value: unknown): Address {
  const input = objectOf(value);
  const read = (name: string) => fields.text(`${field}.${name}`, input[name], NAME_MAX);
  const text = (name: keyof typeof VCARD_NAMES, spell = (given: string) => given) => {
    const older_name = VCARD_NAMES[name];
    const [given, older] = [read(name), read(older_name)].map((value) => value && spell(value));
    if (given !== undefined && older !== undefined && given !== older) {
      const message = `Send the same value as in ${name}, or only one of the two fields.`;
      fields.report(`${field}.${older_name}`, "record_invalid", message);
    }
    return given ?? older;
  };
  const country = text("country", upperAscii);
  if (country !== undefined && !isCountry(country)) {
    const message = "Send an ISO 3166-1 alpha-2 code, e.g. PT.";
    const name = read("country") === undefined ? VCARD_NAMES.country : "country";
    fields.report(`${field}.${name}`, "record_invalid", message);
  }
  return compactObject({
    streetAddress: text("streetAddress"),
    extendedAddress: text("extendedAddress"),
    city: text("city"),
    postalCode: text("postalCode"),
    region: read("region"),
    country,
  }) as Address;
}

/** The payment details that the options refer to, each with its field. */
export function detailIds(
  options: readonly PaymentOption[],
  parent = "",
): { field: string; id: string }[] {
  return options.flatMap(({ value }, index) => {
    const id = value.paymentInformation.paymentDetailId;
    const field = `${parent}paymentOptions[${index}].value.paymentInformation.paymentDetailId`;
    return id && isId(id) ? [{ field, id }] : [];
  });
}

/** How the seller can be paid: wallets with their chain, bank accounts with their fields. */
export function checkPaymentOptions(fields: Fields, value: unknown, parent = ""): PaymentOption[] {
  return listOf(value).map((option, index) => {
    const field = `${parent}paymentOptions[${index}]`;
    const { type, value: inner } = objectOf(option);
    const { currencies, paymentInformation } = objectOf(inner);
    const place = `${field}.value.paymentInformation`;
    if (type === "wallet") {
      const coins = readCoins(fields, `${field}.value.currencies`, listOf(currencies));
      const information = readWallet(fields, place, objectOf(paymentInformation), coins);
      const ids = coins.map(({ id }) => id);
      return { type, value: { currencies: ids, paymentInformation: information } };
    }
    const ids = listOf(currencies).map((id, at) =>
      readFiat(fields, `${field}.value.currencies[${at}]`, id),
    );
    const information = readBankAccount(fields, place, objectOf(paymentInformation));
    return { type: "bank-account", value: { currencies: ids, paymentInformation: information } };
  });
}

function readFiat(fields: Fields, field: string, value: unknown): string {
  const code = typeof value === "string" ? upperAscii(value.trim()) : "";
  if (!/^[A-Z]{3}$/.test(code) || minorDigits(lowerAscii(code)) === undefined) {
    fields.report(field, "record_invalid", "Send an ISO 4217 currency code, e.g. USD.");
  }
  return code;
}

type Coin = { field: string; id: string; chain: Chain | null };

/** Coins, each with its chain if it names one that we know. */
function readCoins(fields: Fields, field: string, values: readonly unknown[]): Coin[] {
  if (values.length === 0) fields.missing(field);
  return values.map((value, at) => {
    const place = `${field}[${at}]`;
    const text = typeof value === "string" ? value.trim() : "";
    const [symbol = "", ...network] = text.split("-").map(lowerAscii);
    const chain = network.length === 0 ? null : (chainOf(network.join("-")) ?? null);
    if (!isToken(symbol) || (network.length > 0 && chain === null)) {
      const coins = TOKENS.map(upperAscii).join(" or ");
      const message = `Send ${coins} with a supported network, e.g. USDC-matic.`;
      fields.report(place, "record_invalid", message);
    }
    return { field: place, id: [upperAscii(symbol), ...network].join("-"), chain };
  });
}

// Other common names of our chains.
const CHAIN_NAMES: Record<string, Chain> = {
  ...Object.fromEntries(CHAINS.map((chain) => [chain, chain])),
  matic: "polygon",
  mainnet: "ethereum",
  "arbitrum-one": "arbitrum",
};

/** The chain with this name or other common name. */
export function chainOf(name: string): Chain | undefined {
  const key = lowerAscii(name);
  return Object.hasOwn(CHAIN_NAMES, key) ? CHAIN_NAMES[key] : undefined;
}

/** The address must be valid on every chain that the wallet or its coins name. */
function readWallet(
  fields: Fields,
  field: string,
  input: Record<string, unknown>,
  coins: readonly Coin[],
): PaymentInformation {
  refuseOthers(fields, field, input, ["paymentAddress", "chain"], "wallet");
  const address = fields.text(`${field}.paymentAddress`, input.paymentAddress, NAME_MAX);
  const name = fields.text(`${field}.chain`, input.chain, SHORT_MAX);
  if (address === undefined) fields.missing(`${field}.paymentAddress`);
  const chain = name === undefined ? undefined : chainOf(name);
  if (name !== undefined && !chain) {
    const message = `Send one of ${Object.keys(CHAIN_NAMES).join(", ")}.`;
    fields.report(`${field}.chain`, "record_invalid", message);
  }
  const other = coins.find((coin) => chain && coin.chain && coin.chain !== chain);
  if (other) {
    const message = `This token is not on ${name}; send the chain of the address.`;
    fields.report(other.field, "record_invalid", message);
  }
  if (name === undefined && coins.some(({ id }) => !id.includes("-"))) {
    const message = "Send the chain of the address, or currencies with a network, e.g. USDC-matic.";
    fields.report(`${field}.chain`, "parameter_missing", message);
  }
  const chains = new Set([chain, ...coins.map((coin) => coin.chain)].flatMap((one) => one ?? []));
  for (const one of address === undefined ? [] : chains) {
    const checked = checkAddress(one, address!);
    if ("reason" in checked) {
      fields.report(`${field}.paymentAddress`, "record_invalid", `${one}: ${checked.reason}`);
    }
  }
  return compactObject({ paymentAddress: address, chain: name }) as PaymentInformation;
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
  const { paymentDetailId, iban, accountNumber } = account;
  if (paymentDetailId !== undefined && !isId(paymentDetailId)) {
    const message = "Send the id of a payment detail.";
    fields.report(`${field}.paymentDetailId`, "record_invalid", message);
  }
  if (paymentDetailId === undefined && iban === undefined && accountNumber === undefined) {
    const message = "Send paymentDetailId, iban or accountNumber.";
    fields.report(`${field}.paymentDetailId`, "parameter_missing", message);
  }
  for (const [name, check] of [["iban", "iban"] as const, ["swiftBic", "bic"] as const]) {
    const text = account[name];
    if (text === undefined) continue;
    const checked = checkIdentifier(check, text);
    if ("value" in checked) account[name] = checked.value;
    else fields.report(`${field}.${name}`, "record_invalid", checked.reason);
  }
  if (paymentDetailId) account.paymentDetailId = lowerAscii(paymentDetailId);
  return account;
}

/** The schema accepts the fields of both kinds; those of the other kind are refused here. */
function refuseOthers(
  fields: Fields,
  field: string,
  input: Record<string, unknown>,
  known: readonly string[],
  type: string,
): void {
  for (const [name, value] of Object.entries(input)) {
    if (known.includes(name) || value === null || value === undefined) continue;
    const message = `A ${type} does not have this field. Known fields: ${known.join(", ")}.`;
    fields.report(`${field}.${name}`, "parameter_unknown", message);
  }
}
