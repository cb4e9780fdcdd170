/** What a column of a file can hold: its name, how people call it, and other headings for it. */
type CellInfo = { label: string; group: "Payout" | "Payee" | "Bank account"; also?: string };

export const CELLS = {
  amount: { label: "Amount", group: "Payout", also: "sum,value,total,betrag,montant,importe" },
  currency: { label: "Currency", group: "Payout", also: "ccy,cur,währung,devise,moneda" },
  reference: {
    label: "Reference",
    group: "Payout",
    also: "memo,message,description,purpose,remittance,invoice,invoicenumber,verwendungszweck",
  },
  document_url: {
    label: "Document URL",
    group: "Payout",
    also: "document,invoiceurl,submittedurl",
  },
  payment_detail_id: { label: "Bank account id", group: "Payout", also: "recipientid,payeeid" },
  account_name: {
    label: "Name",
    group: "Payee",
    also: "payee,beneficiary,beneficiaryname,recipient,recipientname,accountholder,empfänger",
  },
  beneficiary_type: { label: "Person or business", group: "Payee", also: "type,recipienttype" },
  date_of_birth: { label: "Date of birth", group: "Payee", also: "dob,birthdate,birthday" },
  address_line1: { label: "Address", group: "Payee", also: "street,address1,addressline,strasse" },
  address_line2: { label: "Address, line 2", group: "Payee", also: "address2" },
  city: { label: "City", group: "Payee", also: "town,ort,ville,ciudad" },
  state: { label: "State", group: "Payee", also: "province,region" },
  postal_code: { label: "Postal code", group: "Payee", also: "zip,zipcode,postcode,plz" },
  country: { label: "Country", group: "Payee", also: "countrycode,land,pays" },
  phone: { label: "Phone", group: "Payee", also: "telephone,mobile" },
  nationality: { label: "Nationality", group: "Payee" },
  gender: { label: "Gender", group: "Payee" },
  activity: { label: "Activity", group: "Payee" },
  neighbourhood: { label: "Neighbourhood", group: "Payee" },
  document_type: { label: "Document type", group: "Payee" },
  document_number: { label: "Document number", group: "Payee" },
  company_number: { label: "Company number", group: "Payee" },
  iban: { label: "IBAN", group: "Bank account" },
  account_number: {
    label: "Account number",
    group: "Bank account",
    also: "account,accountno,clabe",
  },
  swift_bic: { label: "BIC", group: "Bank account", also: "swift,bic,swiftcode,biccode" },
  routing_number: { label: "Routing number", group: "Bank account", also: "aba,routing" },
  sort_code: { label: "Sort code", group: "Bank account" },
  bank_name: { label: "Bank", group: "Bank account", also: "bank,banque,banco" },
  rails: { label: "Rail", group: "Bank account", also: "rail,method,paymentmethod" },
  rib_number: { label: "RIB", group: "Bank account", also: "rib" },
  bsb_number: { label: "BSB", group: "Bank account", also: "bsb" },
  bank_code: { label: "Bank code", group: "Bank account", also: "blz" },
  branch_code: { label: "Branch code", group: "Bank account", also: "branch" },
  ncc: { label: "NCC", group: "Bank account" },
  ifsc: { label: "IFSC", group: "Bank account" },
  account_type: { label: "Account type", group: "Bank account" },
} as const satisfies Record<string, CellInfo>;

export type CellName = keyof typeof CELLS;
export const CELL_NAMES = Object.keys(CELLS) as CellName[];

const BY_HEADING = new Map(
  CELL_NAMES.flatMap((name) => {
    const { label, also = "" }: CellInfo = CELLS[name];
    return [name, label, ...also.split(",")].map((text) => [plain(text), name] as const);
  }),
);

function plain(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** What a heading most likely stands for. */
export function cellOfHeading(heading: string): CellName | null {
  return (plain(heading) && BY_HEADING.get(plain(heading))) || null;
}

export type Mapping = (CellName | null)[];

const STORED = "sliproad-batch-columns";

/** The mapping that was last used for these headings, or a guess; no column is used twice. */
export function findMapping(headings: readonly string[]): Mapping {
  const known = readStored()[headings.join("\n")];
  if (known?.length === headings.length) return known;
  const used = new Set<CellName>();
  return headings.map((heading) => {
    const name = cellOfHeading(heading);
    if (!name || used.has(name)) return null;
    used.add(name);
    return name;
  });
}

/** Only headings are kept in the browser, nothing of the rows. */
export function keepMapping(headings: readonly string[], mapping: Mapping): void {
  const kept = { ...readStored(), [headings.join("\n")]: mapping };
  localStorage.setItem(STORED, JSON.stringify(Object.fromEntries(Object.entries(kept).slice(-20))));
}

function readStored(): Record<string, Mapping> {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? "{}");
  } catch {
    return {};
  }
}
