import {
  type Catalogue,
  describeRequirements,
  type RequirementField,
  type RequirementRow,
} from "../../catalogue/catalogue.ts";
import { page, table } from "./page-text.ts";

/** The fields that the payment details of each currency and rail need. */
export function paymentDetailsPage(catalogue: Catalogue): string {
  const individual = describeRequirements(catalogue, { beneficiary_type: "individual" });
  const business = describeRequirements(catalogue, { beneficiary_type: "business" });
  const shared = { individual: sharedFields(individual), business: sharedFields(business) };
  const sections = individual.flatMap((row, index) => [
    `## ${row.currency} ${row.rails}`,
    aboutRail(row),
    fieldTable(
      without(row.fields, shared.individual),
      without(business[index]!.fields, shared.business),
      row.one_of,
    ),
  ]);
  return page("Payment details", [
    "The fields that each currency and rail requires. `GET /payment_detail_requirements` returns " +
      "the same table as JSON. Patterns apply to the value without spaces and hyphens, and to " +
      "codes in upper case.",
    "## Every currency and rail",
    fieldTable(shared.individual, shared.business, []),
    ...sections,
  ]);
}

/** The fields that all rows have, as in the first row. */
function sharedFields(rows: readonly RequirementRow[]): RequirementField[] {
  const [first, ...others] = rows;
  if (!first) return [];
  return first.fields.filter((field) =>
    others.every((row) => row.fields.some((other) => other.name === field.name)),
  );
}

/** Fields that differ from the shared ones, which have their own section. */
function without(fields: readonly RequirementField[], shared: readonly RequirementField[]) {
  // The examples of currency and rails differ by row.
  const form = ({ example: _, ...rest }: RequirementField) => JSON.stringify(rest);
  const shared_forms = new Set(shared.map(form));
  return fields.filter((field) => !shared_forms.has(form(field)));
}

function aboutRail(row: RequirementRow): string {
  const minimum =
    row.minimum_amount === null
      ? `the equivalent of ${row.minimum_usd_equivalent} usd`
      : `${row.minimum_amount} ${row.currency}`;
  const choices = row.one_of.map((set) => set.map((name) => `\`${name}\``).join(" and "));
  return [
    `Minimum amount: ${minimum}.`,
    ...(row.bank_countries
      ? [`The bank account must be in ${row.bank_countries.join(", ")}.`]
      : []),
    ...(choices.length > 0 ? [`Send ${choices.join(", or ")}.`] : []),
    ...(row.experimental ? ["Experimental: not yet tested with a bank."] : []),
  ].join(" ");
}

function fieldTable(
  individual: readonly RequirementField[],
  business: readonly RequirementField[],
  one_of: RequirementRow["one_of"],
): string {
  const names = [...new Set([...individual, ...business].map((field) => field.name))];
  const need = (fields: readonly RequirementField[], name: string) => {
    const field = fields.find((other) => other.name === name);
    if (!field) return "";
    if (field.required) return "required";
    return one_of.flat().some((other) => other === name) ? "one of" : "optional";
  };
  const rows = names.map((name) => {
    const field = [...individual, ...business].find((other) => other.name === name)!;
    const form = [
      field.pattern && `\`${field.pattern}\``,
      field.check && `checksum ${field.check}`,
    ];
    return [
      `\`${name}\``,
      need(individual, name),
      need(business, name),
      form.filter(Boolean).join(", "),
      String(field.max_length),
      field.description,
      `\`${field.example}\``,
    ];
  });
  const head = [
    "field",
    "individual",
    "business",
    "format",
    "maximum length",
    "meaning",
    "example",
  ];
  return table(head, rows);
}
